/**
 * Splits pages into chunks that can be understood alone: whole sentences under one heading, each about a paragraph of
 * speech. Pure and deterministic. Sizes are estimates of the model's tokens, so no tokeniser is needed.
 */
import { cleanText } from '../../platform/db/text.ts'
import type { Block, Chunk, ExtractedPage } from '../documents/types.ts'
import { splitSentences } from './sentences.ts'

/** A chunk is closed when the next sentence would exceed this. */
const MOST_TOKENS = 260
/** Smaller sections are joined with their neighbours under the heading above. */
const TINY_TOKENS = 40
/** A longer last sentence is not repeated in the next chunk. */
const OVERLAP_TOKENS = 50
const HEADING_LETTERS = 300
const BETWEEN = ' › '

/**
 * Estimates tokens of XLM-RoBERTa: measured on prose, 4.4 letters per token in English and 4.1 in Russian; 1.3 in
 * scripts without spaces.
 */
export function estimateTokens(text: string): number {
  let dense = 0
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) >= 0x2e80) dense++
  return Math.ceil((text.length - dense) / 4.1 + dense / 1.3)
}

interface Section {
  path: string[]
  /** A paragraph is split only when it is too long for a chunk. */
  paragraphs: string[]
}

export function chunkPages(pages: readonly ExtractedPage[]): Chunk[] {
  const chunks: Omit<Chunk, 'ordinal'>[] = []
  for (const page of pages) {
    for (const { path, paragraphs } of joinTiny(sectionsOf(page))) {
      const heading = path.join(BETWEEN).slice(0, HEADING_LETTERS).toWellFormed()
      for (const text of pack(paragraphs)) chunks.push({ heading, text, url: page.url })
    }
  }
  return chunks.map((chunk, ordinal) => ({ ordinal, ...chunk }))
}

function sectionsOf(page: ExtractedPage): Section[] {
  const title = tidy(page.title ?? '')
  const sections: Section[] = []
  let open: { level: number; text: string }[] = []
  let section: Section | null = null
  for (const block of page.blocks) {
    if (block.heading > 0) {
      const text = tidy(block.text)
      if (!text) continue
      open = [...open.filter(({ level }) => level < block.heading), { level: block.heading, text }]
      section = null
      continue
    }
    const paragraph = paragraphOf(block)
    if (!paragraph) continue
    if (!section) {
      const path = open.map(({ text }) => text)
      section = { path: title && path[0] !== title ? [title, ...path] : path, paragraphs: [] }
      sections.push(section)
    }
    section.paragraphs.push(paragraph)
  }
  // A page that has only headings still says what it is about.
  if (sections.length === 0 && open.length > 0) {
    return [{ path: title ? [title] : [], paragraphs: [open.map(({ text }) => text).join('\n')] }]
  }
  return sections
}

const tidy = (text: string) => cleanText(text).replace(/\s+/gu, ' ').trim()
const paragraphOf = (block: Block) =>
  cleanText(block.text)
    .replace(/[^\S\n]+/gu, ' ')
    .replace(/ ?\n\s*/gu, '\n')
    .trim()

/** Joins consecutive small sections with the same parent; their own headings become lines of the text. */
function joinTiny(sections: readonly Section[]): Section[] {
  const joined: Section[] = []
  let gathered: Section[] = []
  const size = (list: readonly Section[]) =>
    list.reduce((sum, { paragraphs }) => sum + paragraphs.reduce((all, one) => all + estimateTokens(one), 0), 0)
  const parent = ({ path }: Section) => path.slice(0, -1).join(BETWEEN)
  const flush = () => {
    if (gathered.length <= 1) joined.push(...gathered)
    else {
      const paragraphs = gathered.map(({ path, paragraphs }) => [path.at(-1), ...paragraphs].join('\n'))
      joined.push({ path: gathered[0]!.path.slice(0, -1), paragraphs })
    }
    gathered = []
  }
  for (const section of sections) {
    const fits =
      section.path.length > 0 &&
      size([section]) < TINY_TOKENS &&
      gathered.every(one => parent(one) === parent(section)) &&
      size([...gathered, section]) < 3 * TINY_TOKENS
    if (!fits) flush()
    gathered.push(section)
    if (size([section]) >= TINY_TOKENS || section.path.length === 0) flush()
  }
  flush()
  return joined
}

/**
 * Fills chunks in text order and splits as little as possible: paragraphs, then sentences, then words, then letters.
 */
function pack(paragraphs: readonly string[]): string[] {
  const chunks: string[] = []
  let parts: string[] = []
  let size = 0
  let fresh = false
  const close = () => {
    if (fresh) chunks.push(parts.join('\n'))
    parts = []
    size = 0
    fresh = false
  }
  for (const paragraph of paragraphs) {
    const tokens = estimateTokens(paragraph)
    if (tokens <= MOST_TOKENS) {
      if (size + tokens > MOST_TOKENS) {
        const last = fresh ? overlapOf(parts) : null
        close()
        if (last !== null && estimateTokens(last) + tokens <= MOST_TOKENS) {
          parts.push(last)
          size = estimateTokens(last)
        }
      }
      parts.push(paragraph)
      size += tokens
      fresh = true
    } else {
      close()
      chunks.push(...packSentences(paragraph))
    }
  }
  close()
  return chunks
}

/** Rows of a table can be understood alone, so they are not repeated. */
function overlapOf(parts: readonly string[]): string | null {
  const paragraph = parts.at(-1)!
  if (/^[^.\n]{1,80}: [^;\n]+;/u.test(paragraph)) return null
  const last = splitSentences(paragraph).at(-1)
  return last !== undefined && estimateTokens(last) <= OVERLAP_TOKENS ? last : null
}

function packSentences(paragraph: string): string[] {
  const chunks: string[] = []
  let parts: string[] = []
  let size = 0
  for (const sentence of splitSentences(paragraph).flatMap(cutLong)) {
    const tokens = estimateTokens(sentence)
    if (size + tokens > MOST_TOKENS && parts.length > 0) {
      chunks.push(parts.join(' '))
      const last = parts.at(-1)!
      const again = parts.length > 1 && estimateTokens(last) <= OVERLAP_TOKENS
      const fits = again && estimateTokens(last) + tokens <= MOST_TOKENS
      parts = fits ? [last] : []
      size = fits ? estimateTokens(last) : 0
    }
    parts.push(sentence)
    size += tokens
  }
  if (parts.length > 0) chunks.push(parts.join(' '))
  return chunks
}

/** Splits at words; splits a word that is too long itself. */
function cutLong(sentence: string): string[] {
  if (estimateTokens(sentence) <= MOST_TOKENS) return [sentence]
  const pieces: string[] = []
  let open = ''
  let size = 0
  for (const word of sentence.split(/\s+/u).flatMap(cutWord)) {
    const tokens = estimateTokens(word) + 1
    if (size + tokens > MOST_TOKENS && open) {
      pieces.push(open)
      open = ''
      size = 0
    }
    open = open ? `${open} ${word}` : word
    size += tokens
  }
  if (open) pieces.push(open)
  return pieces
}

function cutWord(word: string): string[] {
  if (estimateTokens(word) < MOST_TOKENS) return [word]
  // Pieces are nearly as large as a chunk and equal in size; otherwise they would be joined with spaces that the word
  // does not have.
  const most = /[\u2e80-\uffff]/.test(word) ? MOST_TOKENS : 4 * MOST_TOKENS
  const count = Math.ceil(word.length / most)
  // Never between the halves of a surrogate pair.
  const edge = (i: number) => {
    const at = Math.floor((i * word.length) / count)
    return isLow(word.charCodeAt(at)) ? at + 1 : at
  }
  return Array.from({ length: count }, (_, i) => word.slice(edge(i), edge(i + 1)))
}

const isLow = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff
