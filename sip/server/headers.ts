/**
 * Header policy: which headers the application sets, which the server sets, and which are filled in. Pure except for
 * random ids.
 */
import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { formatHostPort } from '../text/grammar.ts'
import { type Header, headerOf, listOf, type SipRequest, type SipResponse } from '../text/message.ts'
import { formatNameAddr, parseNameAddr, tagOf } from '../text/uri.ts'
import { formatVia, parseCSeq, parseVia } from '../text/validate.ts'
import type { Flow, HostPortOf, Protocol } from './transport.ts'

/** An application's message that cannot be sent. `message` is returned to the application with NOK. */
export class PolicyError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'PolicyError'
  }
}

const ALWAYS_OURS = new Set(['Via', 'Route', 'Record-Route', 'RSeq', 'Content-Length', 'Max-Forwards'])
const MANAGED = new Set([...ALWAYS_OURS, 'From', 'To', 'Call-ID', 'CSeq', 'Contact'])
const LOCALHOST = /(sips?:(?:[^@<>\s;]*@))localhost(?::\d+)?(?![\w.-])/gi
const WITH_CONTACT = new Set(['INVITE', 'SUBSCRIBE'])

export const newTag = (): string => randomBytes(6).toString('base64url').replace(/[-_]/g, 'x')
export const newBranch = (): string => `z9hG4bK${randomBytes(10).toString('hex')}`

/** Our address as the peer sees it. */
export interface Self {
  local: HostPortOf
  protocol: Protocol
}

export function selfOf(flow: Flow): Self {
  return { local: flow.local, protocol: flow.protocol }
}

const overStream = (self: Self): string => (self.protocol === 'udp' ? '' : `;transport=${self.protocol}`)

/** `secure` makes a SIPS URI (RFC 3261 §12.1.1), whose scheme implies TLS. */
export function contactOf(self: Self, secure = false): string {
  if (secure) return `<sips:${formatHostPort(self.local)}>`
  return `<sip:${formatHostPort(self.local)}${overStream(self)}>`
}

/**
 * Replaces `user@localhost`, the application's placeholder for our address (From, To, Contact and P-Asserted-Identity
 * only).
 */
export function localise(value: string, self: Self): string {
  return value.replace(LOCALHOST, `$1${formatHostPort(self.local)}`)
}

export function withTag(value: string, tag: string): string {
  const addr = parseNameAddr(value)
  if (addr === null) return `${value};tag=${tag}`
  return tagOf(addr) === null ? formatNameAddr({ ...addr, params: new Map([...addr.params, ['tag', tag]]) }) : value
}

export function withoutTag(value: string): string {
  const addr = parseNameAddr(value)
  return addr === null
    ? value
    : formatNameAddr({ ...addr, params: new Map([...addr.params].filter(([n]) => n !== 'tag')) })
}

export function tagIn(message: { headers: readonly Header[] }, name: 'From' | 'To'): string | null {
  const addr = parseNameAddr(headerOf(message, name) ?? '')
  return addr === null ? null : tagOf(addr)
}

/**
 * Headers that the application may add: every one that the server does not manage, with `@localhost` rewritten where
 * allowed.
 */
export function appHeaders(message: SipRequest | SipResponse, self: Self): Header[] {
  const kept = message.headers
    .filter(([name]) => !MANAGED.has(name))
    .map(([name, value]): Header => [name, name === 'P-Asserted-Identity' ? localise(value, self) : value])
  return typed(kept, message.body)
}

/** Headers that the application adds to a request that is only forwarded. */
export function appExtras(message: SipRequest): Header[] {
  return message.headers.filter(([name]) => !MANAGED.has(name))
}

function typed(headers: Header[], body: Buffer): Header[] {
  if (body.length === 0 || headers.some(([name]) => name === 'Content-Type')) return headers
  if (!body.toString('latin1', 0, 3).startsWith('v=0')) throw new PolicyError('missing content-type')
  return [...headers, ['Content-Type', 'application/sdp']]
}

/** Contact for the wire: the application's with its addr-spec bracketed, otherwise ours where the method needs one. */
function contactHeader(app: SipRequest | SipResponse, self: Self, needed: boolean, secure: boolean): Header[] {
  const given = headerOf(app, 'Contact')
  if (given === null) return needed ? [['Contact', contactOf(self, secure)]] : []
  const localised = localise(given, self)
  const single = listOf(app, 'Contact').length === 1 ? parseNameAddr(localised) : null
  if (single === null) return [['Contact', localised]]
  const uri = localised === given ? single.uri : reachable(single.uri, self, secure)
  return [['Contact', formatNameAddr({ ...single, uri })]]
}

/** Adds the transport to a Contact of ours, so that the peer can reach us by the transport it knows. */
function reachable(uri: string, self: Self, secure: boolean): string {
  if (secure) return uri.replace(/^sip:/i, 'sips:')
  return /;transport=|^sips:/i.test(uri) ? uri : `${uri}${overStream(self)}`
}

const isSecure = (uri: string): boolean => /^sips:/i.test(uri)

/** Like appHeaders, for a request inside a dialog: an application's Contact is kept, but none is invented. */
export function appDialogHeaders(app: SipRequest, self: Self, secure: boolean): Header[] {
  return [...contactHeader(app, self, false, secure), ...appHeaders(app, self)]
}

/** Builds a request outside any dialog (RFC 3261 §8.1.1) without its Via. */
export function newRequest(app: SipRequest, self: Self): SipRequest {
  const contact = contactHeader(app, self, WITH_CONTACT.has(app.method), isSecure(app.uri))
  const from = headerOf(app, 'From') ?? contact[0]?.[1] ?? contactOf(self)
  const seq = parseCSeq(headerOf(app, 'CSeq') ?? '')?.seq ?? randomInt(1, 2 ** 27)
  const headers: Header[] = [
    ['Max-Forwards', headerOf(app, 'Max-Forwards') ?? '70'],
    ['From', withTag(bracketed(localise(bareContact(from), self)), newTag())],
    ['To', bracketed(localise(headerOf(app, 'To') ?? `<${app.uri}>`, self))],
    ['Call-ID', headerOf(app, 'Call-ID') ?? randomUUID()],
    ['CSeq', `${seq} ${app.method}`],
    ...contact,
    ...appHeaders(app, self),
  ]
  return { ...app, headers }
}

/** From is made of Contact when the application gives none; parameters such as expires or transport stay behind. */
function bareContact(value: string): string {
  const addr = parseNameAddr(value)
  if (addr === null || addr.params.size === 0) return value
  return formatNameAddr({
    ...addr,
    params: new Map([...addr.params].filter(([name]) => name !== 'expires' && name !== 'q')),
  })
}

function bracketed(value: string): string {
  const addr = parseNameAddr(value)
  if (addr === null) throw new PolicyError('malformed address header')
  return formatNameAddr(addr)
}

export function withVia(request: SipRequest, self: Self, branch: string = newBranch()): SipRequest {
  const via = formatVia({
    ...self.local,
    transport: self.protocol.toUpperCase(),
    params: new Map([
      ['rport', null],
      ['branch', branch],
    ]),
  })
  return { ...request, headers: [['Via', via], ...request.headers] }
}

/** RFC 3261 §9.1: a CANCEL has the INVITE's topmost Via, Request-URI, Call-ID, To, From, Route and CSeq number. */
export function cancelOf(invite: SipRequest, extra: readonly Header[]): SipRequest {
  const copied = new Set(['Max-Forwards', 'From', 'To', 'Call-ID', 'Route'])
  const seq = parseCSeq(headerOf(invite, 'CSeq') ?? '')?.seq ?? 1
  return {
    ...invite,
    method: 'CANCEL',
    body: Buffer.alloc(0),
    headers: [
      ['Via', listOf(invite, 'Via')[0] ?? ''],
      ...invite.headers.filter(([name]) => copied.has(name)),
      ['CSeq', `${seq} CANCEL`],
      ...extra.filter(([name]) => name !== 'Content-Type'),
    ],
  }
}

/** RFC 3261 §18.2.1 and RFC 3581: records the real source address in the topmost Via, and rport in every case (NAT). */
export function stampVia(request: SipRequest, remote: HostPortOf): SipRequest {
  const vias = listOf(request, 'Via')
  const top = parseVia(vias[0] ?? '')
  if (top === null) return request
  const params = new Map(top.params)
  if (top.host !== remote.host || params.has('rport')) params.set('received', remote.host)
  params.set('rport', String(remote.port))
  const stamped: Header[] = [formatVia({ ...top, params }), ...vias.slice(1)].map(value => ['Via', value])
  return { ...request, headers: [...stamped, ...request.headers.filter(([name]) => name !== 'Via')] }
}

const ECHOED = new Set(['Via', 'From', 'Call-ID', 'CSeq'])

/** Builds a response of the server itself (§8.2.6). */
export function plainResponse(
  request: SipRequest,
  status: number,
  reason: string,
  toTag: string | null,
  extra: readonly Header[] = [],
): SipResponse {
  // A malformed request may have no To and is answered nevertheless.
  const to = headerOf(request, 'To')
  return {
    kind: 'response',
    status,
    reason,
    headers: [
      ...request.headers.filter(([name]) => ECHOED.has(name)),
      ...(to === null ? [] : [['To', toTag === null ? to : withTag(to, toTag)] as const]),
      ...extra,
    ],
    body: Buffer.alloc(0),
  }
}

const CONTACT_METHODS = new Set(['INVITE', 'SUBSCRIBE', 'UPDATE', 'REFER', 'NOTIFY'])

/**
 * Completes the application's response (§8.2.6, §12.1.1: Record-Route and Contact in responses that create a dialog).
 */
export function fullResponse(app: SipResponse, request: SipRequest, toTag: string, self: Self): SipResponse {
  const { status, reason } = app
  const dialogForming = status > 100 && status < 300 && (request.method === 'INVITE' || request.method === 'SUBSCRIBE')
  const needed = status > 100 && status < 300 && CONTACT_METHODS.has(request.method)
  const headers: Header[] = [
    ...(dialogForming ? request.headers.filter(([name]) => name === 'Record-Route') : []),
    ...contactHeader(app, self, needed, isSecure(request.uri)),
    ...appHeaders(app, self),
  ]
  return { ...plainResponse(request, status, reason, status === 100 ? null : toTag, headers), body: app.body }
}
