/**
 * A page of a company's site as lead search reads it: every line with its position on the page, and structured data.
 */

/** `top` and `bottom`: header and footer of the site, where a company's own number usually is. */
export type PageRegion = 'top' | 'main' | 'bottom'

export interface SiteLine {
  text: string
  /** `hint`: text of an attribute such as `alt` or `title`, or the page's description. */
  as: 'text' | 'heading' | 'hint'
  place: PageRegion
}

export interface SiteLink {
  /**
   * Absolute, or `tel:`, `mailto:` and the like as written; `cfemail:` and the hex of an address that Cloudflare hides.
   */
  href: string
  text: string
  /** Index into `lines` of the line that contains the link. */
  line: number
  place: PageRegion
}

export interface SitePage {
  title: string | null
  /** Value of `<html lang>`. */
  language: string | null
  /** True when the page has a viewport for mobile phones. */
  viewport: boolean
  lines: SiteLine[]
  links: SiteLink[]
  /** Pages that are shown in place of this one: frames, and the target of `meta refresh`. */
  frames: string[]
  /** Addresses of scripts and of third-party frames. */
  embeds: string[]
  /** JSON-LD as written, and microdata as JSON in the same form. */
  data: string[]
  /** Other JSON in script elements. */
  json: string[]
}
