/** A page of a company's site as it is read for whom to call: every line where it stands, and what is written for machines. */

/** `top` and `bottom`: the frame that all pages of a site share, where a company's own number is. */
export type Place = 'top' | 'main' | 'bottom'

export interface SiteLine {
  text: string
  /** `hint`: of an attribute, as `alt` and `title`, or of the page's description. */
  as: 'text' | 'heading' | 'hint'
  place: Place
}

export interface SiteLink {
  /** Absolute, or `tel:`, `mailto:` and the like as written; `cfemail:` and the hex of an address that Cloudflare hides. */
  href: string
  text: string
  /** Of `lines`, where it stands. */
  line: number
  place: Place
}

export interface SitePage {
  title: string | null
  /** Of `<html lang>`. */
  language: string | null
  /** It is made for telephones too. */
  viewport: boolean
  lines: SiteLine[]
  links: SiteLink[]
  /** Pages shown in its place: frames, and where `meta refresh` leads. */
  frames: string[]
  /** Addresses of scripts and of frames of others. */
  embeds: string[]
  /** JSON-LD as written, and microdata as JSON in the same form. */
  data: string[]
  /** Other JSON that scripts are given. */
  json: string[]
}
