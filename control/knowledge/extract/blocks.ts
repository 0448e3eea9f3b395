/** Text as it is kept: what all kinds of documents end in. */
import { type Block, KnowledgeError } from '../documents/types.ts'

/** A very long novel has 3 million. Besides its index, this bounds what a worker gives back to control. */
export const MOST_CHARACTERS = 20_000_000

/** Most cells of a table: a million of them take 4 s by the long way. */
const CLEAN = /^[!-~А-яЁё]+(?: [!-~А-яЁё]+)*$/

/** One line or several, trimmed; nothing that Postgres refuses (NUL, half a surrogate pair) or that nobody sees. */
export function cleanText(text: string): string {
  if (text === '' || CLEAN.test(text)) return text
  return (
    text
      .toWellFormed()
      .normalize('NFC')
      .replace(/\r\n?|[\u2028\u2029\f\v\u0085]/g, '\n')
      .replace(/[\p{Cc}\u00ad\u200b\u2060\ufeff\ufffe\uffff]/gu, found =>
        found === '\n' || found === '\t' ? found : '',
      )
      // Spaces are collapsed first: a pattern that tried them before every line end would take quadratic time.
      .replace(/[^\S\n]+/g, ' ')
      .replace(/ ?\n ?/g, '\n')
      .replace(/\n{3,}/g, '\n\n')
      .trim()
  )
}

/** The same in one line. */
export const cleanLine = (text: string): string => cleanText(text).replace(/\n+/g, ' ')

/** Gathers blocks in the order of the document; empty ones are left out. */
export class Blocks {
  readonly list: Block[] = []
  characters = 0

  heading(level: number, text: string): void {
    this.#add(Math.min(6, Math.max(1, level)), cleanLine(text))
  }

  text(text: string): void {
    this.#add(0, cleanText(text))
  }

  #add(heading: number, text: string): void {
    if (text === '') return
    this.characters += text.length
    if (this.characters > MOST_CHARACTERS)
      throw new KnowledgeError(
        'too_large',
        `The document has more than ${MOST_CHARACTERS / 1_000_000} million characters of text.`,
      )
    this.list.push({ heading, text })
  }
}

/** Of a document: text that can be found, and not headings alone. */
export const hasText = (blocks: readonly Block[]): boolean => blocks.some(block => /[\p{L}\p{N}]/u.test(block.text))
