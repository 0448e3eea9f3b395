/** Addresses of pages: which belong to a site, and which two are one page. Pure. */

/** Longer ones are made by machines for machines; what matches patterns against them stays cheap. */
const MAX_CHARS = 1500
const MAX_SEGMENTS = 16
const MAX_PARAMETERS = 8

const TRACKING =
  /^(?:utm_.*|gclid|gclsrc|gbraid|wbraid|dclid|fbclid|yclid|ysclid|ymclid|_openstat|msclkid|mc_[ce]id|_ga|_gl|igshid|rb_clickid)$/i
const SESSION = /^(?:phpsessid|jsessionid|aspsessionid.*|cfid|cftoken|sess(?:ion)?_?id|oscsid|zenid)$/i
/** Names that mean other things too: told by a value that no person made. */
const MAYBE_SESSION = /^(?:sid|s|session|sess)=[\w-]{16,}$/i
const INDEX_FILE = /\/(?:index|default)\.(?:html?|php|aspx?|shtml|jsp)$/i
/** Told without a request: what the extractor has no use for. */
const OTHER_FILE =
  /\.(?:jpe?g|png|gif|webp|svg|ico|bmp|tiff?|avif|css|js|mjs|json|xml|rss|atom|zip|rar|7z|t?gz|bz2|xz|tar|exe|msi|dmg|apk|iso|mp[34]|m4[av]|avi|mov|wmv|webm|mkv|ogg|wav|flac|woff2?|ttf|eot|docx?|xlsx?|pptx?|odt|ods|rtf|epub|ics|vcf)$/i

/** Null for what is no address of a page: another scheme, a name and password in it, or far too long. */
export function parseAddress(text: string, base?: URL): URL | null {
  if (text.length > MAX_CHARS || !URL.canParse(text, base?.href)) return null
  const url = new URL(text, base)
  if ((url.protocol !== 'http:' && url.protocol !== 'https:') || url.username || url.password) return null
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.replace(/\.+$/, '')
  url.hash = ''
  return url.href.length > MAX_CHARS ? null : url
}

/** Without what says who reads rather than what is read. The rest stays as the site wrote it, whatever its encoding. */
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

/** Two addresses of one key are one page: scheme, `www.`, a trailing slash, an index file and the order of parameters aside. */
export function pageKey(url: URL): string {
  const clean = cleanAddress(url)
  const path = clean.pathname
    .replace(/%[0-9a-f]{2}/gi, plainest)
    .replace(INDEX_FILE, '/')
    .replace(/\/+$/, '')
  return `${hostOf(clean)}:${clean.port}${path}?${parametersOf(clean).sort().join('&')}`
}

/** RFC 3986 §6.2.2: escapes of unreserved characters mean the characters, and the case of the others is nothing. */
function plainest(escaped: string): string {
  const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16))
  return /[\w.~-]/.test(character) ? character : escaped.toUpperCase()
}

/** Pages that one program makes of numbers have one shape: a calendar's days, a shop's items. */
export function pageShape(url: URL): string {
  let path = url.pathname
  try {
    path = decodeURIComponent(path)
  } catch {
    // Not UTF-8: as it is.
  }
  const names = parametersOf(url).map(part => part.split('=', 1)[0]!)
  return `${path.replace(/\d+/g, '0')}?${names.sort().join('&')}`
}

/** The same host, `www.` aside, and the same port; from http to https one may go, not back. */
export function isSameSite(site: URL, url: URL): boolean {
  if (hostOf(site) !== hostOf(url) || site.port !== url.port) return false
  return site.protocol === url.protocol || (site.protocol === 'http:' && isDefaultPort(site))
}

/** A link as a page to read of that site: cleaned, by https where the site is; or why it is none. */
export function pageOfSite(site: URL, link: string): URL | 'off_site' | 'not_a_page' {
  const url = parseAddress(link)
  if (!url) return 'not_a_page'
  if (site.protocol === 'https:' && url.protocol === 'http:' && isDefaultPort(url)) url.protocol = 'https:'
  if (!isSameSite(site, url)) return 'off_site'
  return OTHER_FILE.test(url.pathname) || isTrap(url) ? 'not_a_page' : cleanAddress(url)
}

/** Relative links that grow without end, as `/a/b/a/b/a/b`. */
function isTrap(url: URL): boolean {
  const segments = url.pathname.split('/').filter(Boolean)
  if (segments.length > MAX_SEGMENTS || parametersOf(url).length > MAX_PARAMETERS) return true
  return segments.some(one => segments.filter(other => other === one).length > 2)
}

/** Where a redirect leads; null when the answer is none. `unreadable`: to no address of a page. */
export function redirectOf(
  { status, headers }: { status: number; headers: Record<string, string> },
  from: URL,
): URL | 'unreadable' | null {
  const location = headers['location']
  if (!location || ![301, 302, 303, 307, 308].includes(status)) return null
  return parseAddress(asUtf8(location), from) ?? 'unreadable'
}

/** Headers are read byte by byte (latin-1); servers put raw UTF-8 into this one all the same. */
function asUtf8(header: string): string {
  const bytes = Buffer.from(header, 'latin1')
  const text = bytes.toString('utf8')
  return text.includes('\uFFFD') ? header : text
}
