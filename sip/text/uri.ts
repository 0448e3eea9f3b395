import { formatHostPort, formatParams, type HostPort, type Params, parseHostPort, parseParams } from './grammar.ts'

/** SIP and SIPS URIs (RFC 3261 §19.1), tel URIs (RFC 3966) and, as opaque text, any other scheme (RFC 4475 §3.3.2). */
export interface SipUri {
  scheme: 'sip' | 'sips'
  user: string | null
  password: string | null
  host: string
  port: number | null
  params: Params
  headers: string | null
}
export interface TelUri {
  scheme: 'tel'
  number: string
  params: Params
}
export interface OtherUri {
  scheme: 'other'
  name: string
  text: string
}
export type Uri = SipUri | TelUri | OtherUri

const SCHEME = /^([A-Za-z][A-Za-z0-9+\-.]*):/
const FORBIDDEN = /[\s<>"]/

/** Returns null when `text` is not a valid URI. */
export function parseUri(text: string): Uri | null {
  if (FORBIDDEN.test(text)) return null
  const scheme = SCHEME.exec(text)
  if (scheme === null) return null
  const rest = text.slice(scheme[0].length)
  const name = scheme[1]!.toLowerCase()
  switch (name) {
    case 'sip':
    case 'sips':
      return parseSip(name, rest)
    case 'tel':
      return parseTel(rest)
    default:
      return rest === '' ? null : { scheme: 'other', name, text }
  }
}

function parseSip(scheme: 'sip' | 'sips', rest: string): SipUri | null {
  const at = rest.lastIndexOf('@', firstOf(rest, '?'))
  const userinfo = at < 0 ? null : rest.slice(0, at)
  const tail = rest.slice(at + 1)
  const question = tail.indexOf('?')
  const beforeHeaders = question < 0 ? tail : tail.slice(0, question)
  const semicolon = beforeHeaders.indexOf(';')
  const where = parseHostPort(semicolon < 0 ? beforeHeaders : beforeHeaders.slice(0, semicolon))
  const params = semicolon < 0 ? new Map<string, string | null>() : parseParams(beforeHeaders.slice(semicolon))
  if (where === null || params === null || userinfo === '' || userinfo?.includes('@')) return null
  const colon = userinfo?.indexOf(':') ?? -1
  return {
    scheme,
    user: userinfo === null ? null : colon < 0 ? userinfo : userinfo.slice(0, colon),
    password: userinfo === null || colon < 0 ? null : userinfo.slice(colon + 1),
    host: where.host,
    port: where.port ?? null,
    params,
    headers: question < 0 ? null : tail.slice(question + 1),
  }
}

function firstOf(text: string, stop: string): number {
  // '?' is legal in the user part (RFC 3261 §25.1 user-unreserved), so only one after the '@' counts.
  const at = text.indexOf('@')
  const found = text.indexOf(stop, Math.max(at, 0))
  return found < 0 ? text.length : found
}

function parseTel(rest: string): TelUri | null {
  const semicolon = rest.indexOf(';')
  const number = semicolon < 0 ? rest : rest.slice(0, semicolon)
  const params = semicolon < 0 ? new Map<string, string | null>() : parseParams(rest.slice(semicolon))
  if (params === null || !/^\+?[0-9A-Fa-f*#\-.()]+$/.test(number)) return null
  return { scheme: 'tel', number, params }
}

export function formatUri(uri: Uri): string {
  switch (uri.scheme) {
    case 'tel':
      return `tel:${uri.number}${formatParams(uri.params)}`
    case 'other':
      return uri.text
    default: {
      const user = uri.user === null ? '' : `${uri.user}${uri.password === null ? '' : `:${uri.password}`}@`
      const where: HostPort = uri.port === null ? { host: uri.host } : { host: uri.host, port: uri.port }
      const headers = uri.headers === null ? '' : `?${uri.headers}`
      return `${uri.scheme}:${user}${formatHostPort(where)}${formatParams(uri.params)}${headers}`
    }
  }
}

/** The value of From, To, Contact, Route and similar headers (RFC 3261 §20.10). `uri` is kept as text. */
export interface NameAddr {
  display: string | null
  uri: string
  params: Params
}

/** Returns null when malformed. Without angle brackets, parameters belong to the header, not to the URI (§20.10). */
export function parseNameAddr(text: string): NameAddr | null {
  const trimmed = text.trim()
  const open = openBracket(trimmed)
  if (open < 0) return parseAddrSpec(trimmed)
  const close = trimmed.indexOf('>', open)
  if (close < 0) return null
  const display = trimmed.slice(0, open).trim()
  const uri = trimmed.slice(open + 1, close).trim()
  const rest = trimmed.slice(close + 1).trim()
  if (rest !== '' && !rest.startsWith(';')) return null
  const params = parseParams(rest)
  if (params === null || parseUri(uri) === null) return null
  if (display.startsWith('"') && !/^"(?:[^"\\]|\\.)*"$/.test(display)) return null
  return { display: display === '' ? null : display, uri, params }
}

function openBracket(text: string): number {
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    if (quoted && text[i] === '\\') i++
    else if (text[i] === '"') quoted = !quoted
    else if (!quoted && text[i] === '<') return i
  }
  return -1
}

function parseAddrSpec(text: string): NameAddr | null {
  const semicolon = text.indexOf(';')
  const uri = (semicolon < 0 ? text : text.slice(0, semicolon)).trim()
  const params = parseParams(semicolon < 0 ? '' : text.slice(semicolon))
  return params === null || parseUri(uri) === null ? null : { display: null, uri, params }
}

export function formatNameAddr(addr: NameAddr): string {
  return `${addr.display === null ? '' : `${addr.display} `}<${addr.uri}>${formatParams(addr.params)}`
}

export function tagOf(addr: NameAddr): string | null {
  return addr.params.get('tag') ?? null
}
