import { formatHost, formatParams, type HostPort, type Params, parseHostPort, parseParams } from './grammar.ts'
import { headerOf, listOf, type SipMessage, SipParseError } from './message.ts'
import { parseNameAddr, parseUri } from './uri.ts'

/** One Via value (RFC 3261 §20.42). */
export type Via = HostPort & { transport: string; params: Params }

export function parseVia(text: string): Via | null {
  const parts = /^SIP\s*\/\s*2\.0\s*\/\s*([A-Za-z0-9\-.!%*_+`'~]+)\s+([^;]+)(;.*)?$/i.exec(text.trim())
  if (parts === null) return null
  const where = parseHostPort(parts[2]!)
  const params = parseParams(parts[3] ?? '')
  return where === null || params === null ? null : { ...where, transport: parts[1]!.toUpperCase(), params }
}

export function formatVia(via: Via): string {
  const host = formatHost(via.host)
  const port = via.port === undefined ? '' : `:${via.port}`
  return `SIP/2.0/${via.transport} ${host}${port}${formatParams(via.params)}`
}

export interface CSeq {
  seq: number
  method: string
}

/** RFC 3261 §8.1.1.5: a number below 2**31, and a method. */
export function parseCSeq(text: string): CSeq | null {
  const parts = /^(\d{1,10})\s+([^\s]+)$/.exec(text.trim())
  if (parts === null || Number(parts[1]) >= 2 ** 31) return null
  return { seq: Number(parts[1]), method: parts[2]! }
}

const SINGLE = ['From', 'To', 'Call-ID', 'CSeq', 'Max-Forwards', 'Content-Type'] as const
const MANDATORY = ['Via', 'From', 'To', 'Call-ID', 'CSeq'] as const

const DOUBLED = /[;,]\s*[;,]/

/** Checks the fields every message must have (RFC 3261 §8.1.1, §20). Throws only SipParseError. */
export function validate(message: SipMessage): void {
  const request = message.kind === 'request' ? message : null
  const fail = (code: ConstructorParameters<typeof SipParseError>[0], detail: string): never => {
    throw new SipParseError(code, detail, request)
  }
  const uri = request === null ? null : parseUri(request.uri)
  if (request !== null && uri === null) fail('bad_uri', 'request-URI')
  // RFC 3261 §19.1.1, table 1: a Request-URI must not contain headers.
  if ((uri?.scheme === 'sip' || uri?.scheme === 'sips') && uri.headers !== null)
    fail('bad_uri', 'headers in request-URI')
  for (const name of MANDATORY) if (!headerOf(message, name)) fail('missing_header', name)
  for (const name of SINGLE) {
    if (message.headers.filter(([known]) => known === name).length > 1) fail('duplicate_header', name)
  }
  const vias = listOf(message, 'Via')
  if (vias.length === 0 || parseVia(vias[0]!) === null) fail('bad_via', 'topmost Via')
  if (DOUBLED.test(headerOf(message, 'Via') ?? '')) fail('bad_via', 'empty list element')
  const cseq = parseCSeq(headerOf(message, 'CSeq') ?? '')
  if (cseq === null) {
    fail('bad_cseq', 'CSeq')
    return
  }
  if (request !== null && cseq.method !== request.method) fail('cseq_mismatch', 'CSeq method is not the request method')
  for (const name of ['From', 'To']) {
    if (parseNameAddr(headerOf(message, name) ?? '') === null) fail('bad_address', name)
  }
  // §20.10: a URI with a question mark must be in brackets.
  for (const value of listOf(message, 'Contact')) {
    if (!value.includes('<') && value.includes('?')) fail('bad_address', 'Contact')
  }
  const hops = headerOf(message, 'Max-Forwards')
  if (hops !== null && !/^\d{1,9}$/.test(hops)) fail('bad_header', 'Max-Forwards')
}
