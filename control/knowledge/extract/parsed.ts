import type { Block, ExtractedLinks } from '../types.ts'
import type { SitePage } from './site-page.ts'

/** What a reader makes of a document. */
export interface Parsed {
  title: string | null
  blocks: Block[]
  html: ExtractedLinks | null
  site?: SitePage
}
