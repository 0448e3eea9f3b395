/** Groups the lines of a PDF into headings and paragraphs: a PDF stores only the positions of glyphs. */
import type { Block } from '../documents/types.ts'
import { Blocks } from './blocks.ts'

export interface PdfLine {
  text: string
  /** Font size in points. */
  size: number
  /** Start of the baseline, in points from the left and from the bottom. */
  x: number
  y: number
  page: number
}

const HEADING_SIZE = 1.15
const LONGEST_HEADING = 150
const HEADING_LEVELS = 3
/** Distance between baselines, in font sizes: 1.2 to 1.5 within a paragraph, more between paragraphs. */
const PARAGRAPH_GAP = 1.75
/** Indent of a paragraph in font sizes. A larger one is another column, or a centred line. */
const LEAST_INDENT = 0.9
const MOST_INDENT = 6
/** Lines at the top and bottom of a page that may be a running head. */
const EDGE_LINES = 2
const RUNNING_PAGES = 3

export function blocksOfLines(all: readonly PdfLine[], pages: number): Block[] {
  const lines = withoutRunningHeads(all, pages)
  const body = bodySize(lines)
  const sizes = [...new Set(lines.filter(line => isHeading(line, body)).map(line => line.size))].sort((a, b) => b - a)
  const blocks = new Blocks()
  let paragraph: string[] = []
  let before: PdfLine | null = null
  const flush = () => {
    blocks.text(paragraph.join(''))
    paragraph = []
  }
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!
    if (isHeading(line, body)) {
      flush()
      const parts: string[] = []
      append(parts, line.text)
      while (continues(lines[i]!, lines[i + 1]) && lines[i + 1]!.size === line.size) append(parts, lines[++i]!.text)
      blocks.heading(Math.min(HEADING_LEVELS, sizes.indexOf(line.size) + 1), parts.join(''))
      before = null
      continue
    }
    if (before && !continues(before, line)) flush()
    append(paragraph, line.text)
    before = line
  }
  flush()
  return blocks.list
}

const ITEM = /^(?:[-–•*▪◦]|\d{1,3}[.)])\s/

/** Joins a word that is hyphenated at a line end. A line that starts like a list item stays a separate line. */
function append(paragraph: string[], line: string): void {
  const last = paragraph.at(-1)
  if (last === undefined) paragraph.push(line)
  else if (/\p{Ll}-$/u.test(last.slice(-2)) && /^\p{Ll}/u.test(line)) {
    paragraph[paragraph.length - 1] = last.slice(0, -1)
    paragraph.push(line)
  } else paragraph.push(ITEM.test(line) ? '\n' : ' ', line)
}

const isHeading = (line: PdfLine, body: number) =>
  line.size >= body * HEADING_SIZE && line.text.length <= LONGEST_HEADING && /\p{L}/u.test(line.text)

/**
 * True when the next line belongs to the same paragraph: close below, or on the next page in the middle of a sentence.
 */
function continues(line: PdfLine, next: PdfLine | undefined): boolean {
  if (!next) return false
  if (next.page !== line.page) return !/[.!?:…]["»”)]?$/.test(line.text) && /^\p{Ll}/u.test(next.text)
  const gap = line.y - next.y
  // Documents with indents instead of gaps, as is common in Russian. Text that hangs below a list marker belongs to the
  // item.
  const indent = (next.x - line.x) / line.size
  if (indent >= LEAST_INDENT && indent <= MOST_INDENT && !ITEM.test(line.text)) return false
  // A line further up is in another column.
  return gap < 0 ? /^\p{Ll}/u.test(next.text) : gap <= Math.max(line.size, next.size) * PARAGRAPH_GAP
}

/** Returns the font size of most characters. */
function bodySize(lines: readonly PdfLine[]): number {
  const characters = new Map<number, number>()
  for (const line of lines) characters.set(line.size, (characters.get(line.size) ?? 0) + line.text.length)
  let body = 0
  let most = -1
  for (const [size, count] of characters) if (count > most) [body, most] = [size, count]
  return body
}

/** Removes lines that repeat at the edge of at least half of the pages, ignoring their numbers. */
function withoutRunningHeads(lines: readonly PdfLine[], pages: number): PdfLine[] {
  if (pages < RUNNING_PAGES) return [...lines]
  const edges = new Set<PdfLine>()
  let from = 0
  for (let i = 1; i <= lines.length; i++) {
    if (i < lines.length && lines[i]!.page === lines[from]!.page) continue
    const page = lines.slice(from, i)
    // A page of one or two lines would be all edge; keep its text.
    if (page.length > EDGE_LINES)
      for (const line of [...page.slice(0, EDGE_LINES), ...page.slice(-EDGE_LINES)]) edges.add(line)
    from = i
  }
  const shape = (line: PdfLine) => line.text.replace(/\d+/g, '#')
  const times = new Map<string, number>()
  for (const line of edges) times.set(shape(line), (times.get(shape(line)) ?? 0) + 1)
  const least = Math.max(RUNNING_PAGES, pages / 2)
  return lines.filter(line => !edges.has(line) || times.get(shape(line))! < least)
}
