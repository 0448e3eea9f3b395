/** Page addresses: which belong to a site, and which two are the same page. Pure functions. */

/** Maximum length. Longer addresses are machine-made, and the limit keeps pattern matching cheap. */
const MAX_CHARS = 1500
const MAX_SEGMENTS = 16
const MAX_PARAMETERS = 8

const TRACKING =
  /^(?:utm_.*|gclid|gclsrc|gbraid|wbraid|dclid|fbclid|yclid|ysclid|ymclid|_openstat|msclkid|mc_[ce]id|_ga|_gl|igshid|rb_clickid)$/i
const SESSION = /^(?:phpsessid|jsessionid|aspsessionid.*|cfid|cftoken|sess(?:ion)?_?id|oscsid|zenid)$/i
/** Parameters with other meanings too. They count as a session only with a value that looks generated. */
const MAYBE_SESSION = /^(?:sid|s|session|sess)=[\w-]{16,}$/i
const INDEX_FILE = /\/(?:index|default)\.(?:html?|php|aspx?|shtml|jsp)$/i
/** File types that the extractor cannot use, recognised without a request. */
const OTHER_FILE =
  /\.(?:jpe?g|png|gif|webp|svg|ico|bmp|tiff?|avif|css|js|mjs|json|xml|rss|atom|zip|rar|7z|t?gz|bz2|xz|tar|exe|msi|dmg|apk|iso|mp[34]|m4[av]|avi|mov|wmv|webm|mkv|ogg|wav|flac|woff2?|ttf|eot|docx?|xlsx?|pptx?|odt|ods|rtf|epub|ics|vcf)$/i

/** Null when the text is not a page address: another scheme, credentials in it, or too long. */
export function parseAddress(text: string, base?: URL): URL | null {
  if (text.length > MAX_CHARS || !URL.canParse(text, base?.href)) return null
  const url = new URL(text, base)
  if ((url.protocol !== 'http:' && url.protocol !== 'https:') || url.username || url.password) return null
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.replace(/\.+$/, '')
  url.hash = ''
  return url.href.length > MAX_CHARS ? null : url
}

/**
 * Removes parameters that identify the reader and not the page. The rest stays as the site wrote it, in any encoding.
 */
export function cleanAddress(url: URL): URL {
  const clean = new URL(url)
  clean.pathname = url.pathname.replace(/;jsessionid=[^/;]*/gi, '')
  const kept = parametersOf(url).filter(part => {
    const name = part.split('=', 1)[0]!
    return !TRACKING.test(name) && !SESSION.test(name) && !MAYBE_SESSION.test(part)
  })
  clean.search = kept.length ? `?${kept.join('&')}` : ''
  clean.hash = ''
  return clean
}

const parametersOf = (url: URL): string[] => url.search.slice(1).split('&').filter(Boolean)
const hostOf = (url: URL): string => url.hostname.replace(/^www\./, '')
const isDefaultPort = (url: URL): boolean => url.port === ''

/**
 * Addresses with the same key are the same page: the scheme, `www.`, a trailing slash, an index file and the order of
 * parameters do not matter.
 */
export function pageKey(url: URL): string {
  const clean = cleanAddress(url)
  const path = clean.pathname
    .replace(/%[0-9a-f]{2}/gi, plainest)
    .replace(INDEX_FILE, '/')
    .replace(/\/+$/, '')
  return `${hostOf(clean)}:${clean.port}${path}?${parametersOf(clean).sort().join('&')}`
}

/**
 * RFC 3986 §6.2.2: an escape of an unreserved character equals the character, and the case of other escapes does not
 * matter.
 */
function plainest(escaped: string): string {
  const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16))
  return /[\w.~-]/.test(character) ? character : escaped.toUpperCase()
}

/** Pages that a program generates from numbers have the same shape: days of a calendar, items of a shop. */
export function pageShape(url: URL): string {
  let path = url.pathname
  try {
    path = decodeURIComponent(path)
  } catch {
    // The path is not UTF-8; keep it as it is.
  }
  const names = parametersOf(url).map(part => part.split('=', 1)[0]!)
  return `${path.replace(/\d+/g, '0')}?${names.sort().join('&')}`
}

/** True for the same port and the same host, ignoring `www.`. A move from http to https is allowed, not back. */
export function isSameSite(site: URL, url: URL): boolean {
  if (hostOf(site) !== hostOf(url) || site.port !== url.port) return false
  return site.protocol === url.protocol || (site.protocol === 'http:' && isDefaultPort(site))
}

/**
 * Returns the page that a link on the site leads to, cleaned and with https if the site uses it; or why it is not a
 * page to read.
 */
export function pageOfSite(site: URL, link: string): URL | 'off_site' | 'not_a_page' {
  const url = parseAddress(link)
  if (!url) return 'not_a_page'
  if (site.protocol === 'https:' && url.protocol === 'http:' && isDefaultPort(url)) url.protocol = 'https:'
  if (!isSameSite(site, url)) return 'off_site'
  return OTHER_FILE.test(url.pathname) || isTrap(url) ? 'not_a_page' : cleanAddress(url)
}

/** Detects relative links that grow without end, such as `/a/b/a/b/a/b`. */
function isTrap(url: URL): boolean {
  const segments = url.pathname.split('/').filter(Boolean)
  if (segments.length > MAX_SEGMENTS || parametersOf(url).length > MAX_PARAMETERS) return true
  return segments.some(one => segments.filter(other => other === one).length > 2)
}

/**
 * Returns the target of a redirect; null when the response is not a redirect. `unreadable`: the target is not a page
 * address.
 */
export function redirectOf(
  { status, headers }: { status: number; headers: Record<string, string> },
  from: URL,
): URL | 'unreadable' | null {
  const location = headers['location']
  if (!location || ![301, 302, 303, 307, 308].includes(status)) return null
  return parseAddress(asUtf8(location), from) ?? 'unreadable'
}

/** Header bytes are read as latin-1, but servers also send raw UTF-8 in `Location`. */
function asUtf8(header: string): string {
  const bytes = Buffer.from(header, 'latin1')
  const text = bytes.toString('utf8')
  return text.includes('\uFFFD') ? header : text
}
