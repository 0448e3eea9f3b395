/** Plain text: paragraphs separated by empty lines. */
import { Blocks } from './blocks.ts'
import type { Parsed } from './parsed.ts'

export function readTxt(text: string): Parsed {
  const blocks = new Blocks()
  for (const paragraph of text.split(/\r?\n[^\S\n]*\r?\n/)) blocks.text(paragraph)
  return { title: null, blocks: blocks.list, html: null }
}
