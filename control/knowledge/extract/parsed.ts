import type { SitePage } from '../documents/site-page.ts'
import type { Block, ExtractedLinks } from '../documents/types.ts'

/** What a reader makes of a document. */
export interface Parsed {
  title: string | null
  blocks: Block[]
  html: ExtractedLinks | null
  site?: SitePage
}
