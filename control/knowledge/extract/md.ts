/** Converts Markdown (CommonMark with GitHub's tables) to text under its headings; formatting is dropped. */
import { Blocks, cleanLine } from './blocks.ts'
import type { Parsed } from './parsed.ts'
import { describeRow, headersOf } from './table.ts'

const FENCE = /^ {0,3}(`{3,}|~{3,})/
const ATX = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/
const RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/
const TABLE_RULE = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/
/** Characters. Patterns with lookback are not applied to longer lines, where they could take quadratic time. */
const LONGEST_LINE = 20_000
/** Number of lines. */
const LONGEST_COMMENT = 200
const ADDRESS = /<((?:[a-z]{2,10}:\/\/|mailto:|tel:)[^\s<>]{1,2000}|[^\s<>@]{1,64}@[^\s<>@]{1,255})>/gi
/** Does not match `a <b and c>`: attributes nearly always have values. */
const TAG =
  /<\/?[a-z][a-z0-9-]{0,60}(?:\s{1,20}(?:[a-z_:][\w.:-]{0,60}\s{0,5}=\s{0,5}(?:"[^"<>]{0,300}"|'[^'<>]{0,300}'|[^\s"'=<>]{1,300})|open|hidden)){0,20}\s{0,20}\/?>/gi

export function readMd(text: string): Parsed {
  const { title, body } = dropFrontMatter(text.replaceAll('\r\n', '\n'))
  const blocks = new Blocks()
  const lines = body.split('\n')
  const ends = commentEnds(lines)
  let paragraph: string[] = []
  const flush = () => {
    blocks.text(paragraph.join('\n'))
    paragraph = []
  }
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!
    const fence = FENCE.exec(line)?.[1]
    const heading = line.length <= LONGEST_LINE ? ATX.exec(line) : null
    const comment = opensComment(line) ? ends[i]! : null
    if (fence) {
      flush()
      const end = endOfFence(lines, i + 1, fence)
      blocks.text(lines.slice(i + 1, end).join('\n'))
      i = end
    } else if (heading) {
      flush()
      blocks.heading(heading[1]!.length, inline((heading[2] ?? '').replace(/[ \t]#+[ \t]*$/, '')))
    } else if (paragraph.length > 0 && /^ {0,3}(?:=+|-+)[ \t]*$/.test(line)) {
      const level = line.includes('=') ? 1 : 2
      const words = paragraph.join(' ')
      paragraph = []
      blocks.heading(level, words)
    } else if (comment !== null) {
      const last = lines[comment]!
      lines[comment] = line.slice(0, line.lastIndexOf('<!--')) + last.slice(last.indexOf('-->') + 3)
      i = comment - 1
    } else if (isTable(lines, i)) {
      flush()
      i = readTable(lines, i, blocks)
    } else if (line.trim() === '' || RULE.test(line)) flush()
    else paragraph.push(inline(line))
  }
  flush()
  return { title, blocks: blocks.list, html: null }
}

/** Removes YAML between two lines of dashes; only its title is useful for search. */
function dropFrontMatter(text: string): { title: string | null; body: string } {
  const found = /^---[ \t]*\n([\s\S]{0,20000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)/.exec(text)
  if (!found) return { title: null, body: text }
  const title = /^title:[ \t]*(["']?)(.+?)\1[ \t]*$/m.exec(found[1]!)?.[2]
  return { title: title ? cleanLine(title) : null, body: text.slice(found[0].length) }
}

function endOfFence(lines: readonly string[], from: number, fence: string): number {
  for (let i = from; i < lines.length; i++) {
    const closing = FENCE.exec(lines[i]!)?.[1]
    if (closing?.startsWith(fence) && /^[\s`~]*$/.test(lines[i]!)) return i
  }
  return lines.length
}

/** Maps each line to the next one in which a comment ends. Computed once, because each line may open a comment. */
function commentEnds(lines: readonly string[]): (number | null)[] {
  const ends = new Array<number | null>(lines.length).fill(null)
  let next: number | null = null
  for (let i = lines.length - 1; i >= 0; i--) {
    ends[i] = next !== null && next - i <= LONGEST_COMMENT ? next : null
    if (lines[i]!.includes('-->')) next = i
  }
  return ends
}

function opensComment(line: string): boolean {
  const from = line.lastIndexOf('<!--')
  return from >= 0 && !line.includes('-->', from)
}

const isTable = (lines: readonly string[], at: number) =>
  lines[at]!.includes('|') &&
  lines[at + 1] !== undefined &&
  lines[at + 1]!.includes('-') &&
  TABLE_RULE.test(lines[at + 1]!)

/** Returns the index of the table's last line. */
function readTable(lines: readonly string[], at: number, blocks: Blocks): number {
  const headers = headersOf(cellsOf(lines[at]!)) ?? cellsOf(lines[at]!)
  let i = at + 2
  for (; i < lines.length && lines[i]!.includes('|') && lines[i]!.trim() !== ''; i++)
    blocks.text(describeRow(headers, cellsOf(lines[i]!)))
  return i - 1
}

const cellsOf = (line: string) =>
  line
    .trim()
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map(cell => inline(cell.replaceAll('\\|', '|').trim()))

/** Removes inline markup; a link keeps its text. All repetitions are bounded, because a line may be hostile. */
function inline(line: string): string {
  if (line.length > LONGEST_LINE) return line
  return (
    line
      .replace(/<!--.{0,2000}?-->/g, '')
      .replace(/!\[([^\][]{0,300})\]\([^()]{0,600}\)/g, '$1')
      .replace(/\[([^\][]{1,300})\](?:\([^()]{0,600}\)|\[[^\][]{0,100}\])/g, '$1')
      .replace(/^\s{0,3}(?:>\s?)+/, '')
      .replace(/^(\s{0,20})[*+]\s/, '$1- ')
      .replace(ADDRESS, '$1')
      .replace(TAG, '')
      // Not between numbers: 90*200*20 is a size.
      .replace(/(?<!\d)(\*{1,3}|_{2,3}|~~|`{1,2})(?=\S)([^*_~`]{1,500}?)\1/g, '$2')
      .replace(/\\([!-/:-@[-`{-~])/g, '$1')
  )
}
