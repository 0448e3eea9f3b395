/**
 * Sitemaps (sitemaps.org 0.9): XML, an index of sitemaps, or lines of text. Read by string search, so that no entity is
 * ever expanded.
 */
import { createGunzip } from 'node:zlib'

export interface Sitemap {
  /** True when the locations are sitemaps, false when they are pages. */
  isIndex: boolean
  locations: string[]
}

export const MAX_SITEMAP_BYTES = 5 * 1024 * 1024
export const MAX_LOCATIONS = 2000
const MAX_LOCATION_CHARS = 4096

/** Returns the text of a body, gzipped or not; at most the first 5 MB after decompression. */
export async function sitemapText(body: Buffer): Promise<string> {
  const isGzip = body[0] === 0x1f && body[1] === 0x8b
  const bytes = isGzip ? await unpackHead(body) : body.subarray(0, MAX_SITEMAP_BYTES)
  return bytes.toString('utf8').replace(/^\uFEFF/, '')
}

async function unpackHead(body: Buffer): Promise<Buffer> {
  const gunzip = createGunzip()
  gunzip.end(body)
  const parts: Buffer[] = []
  let size = 0
  try {
    for await (const part of gunzip as AsyncIterable<Buffer>) {
      parts.push(part)
      size += part.length
      if (size >= MAX_SITEMAP_BYTES) break
    }
  } catch {
    // The body is damaged, or was cut off by the download limit: use what was decompressed.
  }
  return Buffer.concat(parts).subarray(0, MAX_SITEMAP_BYTES)
}

export function readSitemap(text: string): Sitemap {
  if (!text.includes('<')) {
    const lines = text.split(/\r?\n/, MAX_LOCATIONS).map(line => line.trim())
    return { isIndex: false, locations: lines.filter(line => /^https?:/i.test(line)) }
  }
  const locations: string[] = []
  for (let from = 0; locations.length < MAX_LOCATIONS; ) {
    const open = text.indexOf('<loc>', from)
    const close = open < 0 ? -1 : text.indexOf('</loc>', open)
    if (close < 0) break
    const location = close - open < MAX_LOCATION_CHARS ? readLocation(text.slice(open + 5, close)) : null
    if (location) locations.push(location)
    from = close + 6
  }
  return { isIndex: text.includes('<sitemapindex'), locations }
}

const PREDEFINED: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** Null for text with an entity that XML does not define: it would have to be resolved in the document. */
function readLocation(raw: string): string | null {
  const cdata = /^\s*<!\[CDATA\[(.*)\]\]>\s*$/s.exec(raw)
  if (cdata) return cdata[1]!.trim()
  let known = true
  const text = raw.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));/gi, (_, hex, decimal, name) => {
    const code = hex ? Number.parseInt(hex, 16) : Number(decimal ?? Number.NaN)
    const character = name ? PREDEFINED[name] : code <= 0x10ffff ? String.fromCodePoint(code) : undefined
    if (character === undefined) known = false
    return character ?? ''
  })
  return known ? text.trim() || null : null
}
