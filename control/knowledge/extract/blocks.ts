/** Text in the form in which all kinds of documents are stored. */
import { type Block, KnowledgeError } from '../documents/types.ts'

/** A very long novel has 3 million. The limit bounds the index and what a worker returns to control. */
export const MOST_CHARACTERS = 20_000_000

/** Text that needs no cleaning, as in most table cells: a million cells take 4 s with the full procedure. */
const CLEAN = /^[!-~А-яЁё]+(?: [!-~А-яЁё]+)*$/

/**
 * Cleans one or more lines of text: trims it and removes what Postgres rejects (NUL, unpaired surrogates) and invisible
 * characters.
 */
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
      // Collapse spaces first: a pattern that tried them before every line end would take quadratic time.
      .replace(/[^\S\n]+/g, ' ')
      .replace(/ ?\n ?/g, '\n')
      .replace(/\n{3,}/g, '\n\n')
      .trim()
  )
}

/** Cleans text and joins its lines into one. */
export const cleanLine = (text: string): string => cleanText(text).replace(/\n+/g, ' ')

/** Collects blocks in document order; empty ones are dropped. */
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

/** True when a document has searchable text. */
export const hasText = (blocks: readonly Block[]): boolean => blocks.some(block => /[\p{L}\p{N}]/u.test(block.text))
