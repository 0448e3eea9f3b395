import { splitOutside } from './grammar.ts'

/** A header field under its canonical long name, unfolded. Strings are latin1: one character, one byte. */
export type Header = readonly [name: string, value: string]

export interface SipRequest {
  kind: 'request'
  method: string
  uri: string
  headers: readonly Header[]
  body: Buffer
}
export interface SipResponse {
  kind: 'response'
  status: number
  reason: string
  headers: readonly Header[]
  body: Buffer
}
export type SipMessage = SipRequest | SipResponse

export type ParseErrorCode =
  | 'empty'
  | 'too_large'
  | 'truncated'
  | 'bad_start_line'
  | 'bad_version'
  | 'bad_uri'
  | 'bad_header'
  | 'bad_content_length'
  | 'missing_header'
  | 'duplicate_header'
  | 'bad_via'
  | 'bad_cseq'
  | 'cseq_mismatch'
  | 'bad_address'

/** The error in a message. `request` is set when enough was parsed to answer it with `status` (RFC 3261 §21.4.1). */
export class SipParseError extends Error {
  readonly code: ParseErrorCode
  readonly status: number
  readonly request: SipRequest | null
  constructor(code: ParseErrorCode, detail: string, request: SipRequest | null = null) {
    super(`${code}: ${detail}`)
    this.name = 'SipParseError'
    this.code = code
    this.status = code === 'bad_version' ? 505 : 400
    this.request = request
  }
}

const COMPACT: Readonly<Record<string, string>> = {
  a: 'Accept-Contact',
  b: 'Referred-By',
  c: 'Content-Type',
  d: 'Request-Disposition',
  e: 'Content-Encoding',
  f: 'From',
  i: 'Call-ID',
  j: 'Reject-Contact',
  k: 'Supported',
  l: 'Content-Length',
  m: 'Contact',
  o: 'Event',
  r: 'Refer-To',
  s: 'Subject',
  t: 'To',
  u: 'Allow-Events',
  v: 'Via',
  x: 'Session-Expires',
  y: 'Identity',
}

const LONG = new Map(
  [
    ...['Accept', 'Allow', 'Authorization', 'CSeq', 'Date', 'Expires', 'Max-Forwards', 'MIME-Version', 'Min-Expires'],
    ...['Min-SE', 'P-Asserted-Identity', 'P-Preferred-Identity', 'Privacy', 'Proxy-Authenticate'],
    ...['Proxy-Authorization', 'Proxy-Require', 'RAck', 'Reason', 'Record-Route', 'Require', 'Retry-After', 'Route'],
    ...['RSeq', 'Server', 'Subscription-State', 'Timestamp', 'Unsupported', 'User-Agent', 'Warning'],
    ...['WWW-Authenticate', 'Path', 'Service-Route', 'Remote-Party-ID', 'Diversion', 'History-Info'],
    ...Object.values(COMPACT),
  ].map(name => [name.toLowerCase(), name] as const),
)

/** The long form in the usual spelling; an unknown name is returned unchanged. */
export function canonicalName(name: string): string {
  const lower = name.toLowerCase()
  return LONG.get(lower) ?? (lower.length === 1 ? COMPACT[lower] : undefined) ?? name
}

/** Serialises a message for the wire. Content-Length is always computed here and comes last. */
export function serialise(message: SipMessage): Buffer {
  const first =
    message.kind === 'request'
      ? `${message.method} ${message.uri} SIP/2.0`
      : `SIP/2.0 ${message.status} ${message.reason}`
  let head = `${first}\r\n`
  for (const [name, value] of message.headers) if (name !== 'Content-Length') head += `${name}: ${value}\r\n`
  head += `Content-Length: ${message.body.length}\r\n\r\n`
  return Buffer.concat([Buffer.from(head, 'latin1'), message.body])
}

interface WithHeaders {
  headers: readonly Header[]
}

/** The first value of the header, by canonical name; null when absent. */
export function headerOf(message: WithHeaders, name: string): string | null {
  return message.headers.find(([known]) => known === name)?.[1] ?? null
}

/** Every value of a header that may repeat or hold a comma-separated list (RFC 3261 §7.3.1), in order. */
export function listOf(message: WithHeaders, name: string): string[] {
  return message.headers.filter(([known]) => known === name).flatMap(([, value]) => splitOutside(value, ','))
}
