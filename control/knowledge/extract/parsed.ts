import type { SitePage } from '../documents/site-page.ts'
import type { Block, ExtractedLinks } from '../documents/types.ts'

/** Result of a reader of one document kind. */
export interface Parsed {
  title: string | null
  blocks: Block[]
  html: ExtractedLinks | null
  site?: SitePage
}
