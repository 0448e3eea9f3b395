/**
 * Grammar of RFC 3261 §25 shared by header and URI parsing. Pure. Strings hold one byte per character (latin1), so that
 * bytes pass through unchanged in any encoding.
 */

export type Params = ReadonlyMap<string, string | null>

const TOKEN = /^[A-Za-z0-9\-.!%*_+`'~]+$/

export function isToken(text: string): boolean {
  return TOKEN.test(text)
}

/** Index of the first of `stops` outside quoted strings and angle brackets, or -1 (RFC 3261 §25.1, quoted-string). */
export function findOutside(text: string, stops: string, from = 0, minded = '"<'): number {
  let quoted = false
  let angled = false
  for (let i = from; i < text.length; i++) {
    const c = text[i]!
    if (quoted) {
      if (c === '\\') i++
      else if (c === '"') quoted = false
    } else if (c === '"' && minded.includes('"') && !angled) quoted = true
    else if (angled) angled = c !== '>'
    else if (stops.includes(c)) return i
    else if (c === '<' && minded.includes('<')) angled = true
  }
  return -1
}

/** Splits on `separator` outside quotes and angle brackets; parts are trimmed, empty ones dropped. */
export function splitOutside(text: string, separator: string): string[] {
  const parts: string[] = []
  let from = 0
  for (;;) {
    const at = findOutside(text, separator, from)
    const part = text.slice(from, at < 0 ? undefined : at).trim()
    if (part !== '') parts.push(part)
    if (at < 0) return parts
    from = at + 1
  }
}

/**
 * Parses `;name=value;flag` (leading semicolon optional). Names are lower-cased, quoted values keep their quotes.
 * Returns null when malformed.
 */
export function parseParams(text: string): Params | null {
  const params = new Map<string, string | null>()
  for (const part of splitOutside(text, ';')) {
    const eq = part.indexOf('=')
    const name = (eq < 0 ? part : part.slice(0, eq)).trim().toLowerCase()
    if (name === '' || /[\s<>"]/.test(name)) return null
    if (!params.has(name)) params.set(name, eq < 0 ? null : part.slice(eq + 1).trim())
  }
  return params
}

export function formatParams(params: Params): string {
  let text = ''
  for (const [name, value] of params) text += value === null ? `;${name}` : `;${name}=${value}`
  return text
}

export interface HostPort {
  host: string
  port?: number
}

const IPV6_REFERENCE = /^\[[0-9A-Fa-f:.]+(%[A-Za-z0-9]+)?\]/
const HOST_NAME = /^[A-Za-z0-9_](?:[A-Za-z0-9\-_.]*[A-Za-z0-9_.])?$/

/**
 * Parses `host[:port]`, where an IPv6 address is bracketed (RFC 3261 §25.1, RFC 5118 §4). The brackets are not part of
 * `host`.
 */
export function parseHostPort(text: string): HostPort | null {
  const trimmed = text.trim()
  const bracketed = IPV6_REFERENCE.exec(trimmed)
  const colon = bracketed ? bracketed[0].length : trimmed.indexOf(':')
  const host = colon < 0 ? trimmed : trimmed.slice(0, colon).trim()
  const rest = colon < 0 ? '' : trimmed.slice(colon).trim()
  if (bracketed === null && !HOST_NAME.test(host)) return null
  const bare = bracketed ? host.slice(1, -1) : host
  if (rest === '') return { host: bare }
  const port = /^:\s*(\d{1,5})$/.exec(rest)
  if (port === null || Number(port[1]) > 65535) return null
  return { host: bare, port: Number(port[1]) }
}

export function formatHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

export function formatHostPort({ host, port }: { host: string; port?: number | null }): string {
  return port === undefined || port === null ? formatHost(host) : `${formatHost(host)}:${port}`
}
