import type { Block, ExtractedLinks } from '../types.ts'

/** What a reader makes of a document. */
export interface Parsed {
  title: string | null
  blocks: Block[]
  html: ExtractedLinks | null
}
