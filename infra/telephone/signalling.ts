/** SIP messages of the telephone (RFC 3261). Pure, except for random tags and branches. */
import { randomBytes } from 'node:crypto'
import {
  type Header,
  headerOf,
  listOf,
  type SipMessage,
  type SipRequest,
  type SipResponse,
} from '../../sip/text/message.ts'
import { parseNameAddr } from '../../sip/text/uri.ts'
import { parseCSeq } from '../../sip/text/validate.ts'

/** State of one call that later requests need (§12). */
export interface Dialog {
  callId: string
  /** Our From in requests, with our tag. */
  local: string
  /** Our To in requests; with the far end's tag once it has answered. */
  remote: string
  /** Request URI: the far end's Contact. */
  target: string
  routes: string[]
  /** Number of our last request. */
  cseq: number
}

export const newTag = () => randomBytes(6).toString('hex')

/** The dialog of a call from `own`, our SIP URI, to `uri`. */
export const dialogTo = (own: string, uri: string): Dialog => ({
  callId: randomBytes(12).toString('hex'),
  local: `<${own}>;tag=${newTag()}`,
  remote: `<${uri}>`,
  target: uri,
  routes: [],
  cseq: 1,
})

/** The dialog of a received call, which `tag` identifies on our side. */
export const dialogFrom = (invite: SipRequest, tag: string): Dialog => ({
  callId: callIdOf(invite),
  local: withTag(headerOf(invite, 'To') ?? '', tag),
  remote: headerOf(invite, 'From') ?? '',
  target: contactOf(invite) ?? invite.uri,
  routes: listOf(invite, 'Record-Route'),
  cseq: 0,
})

/** Completes the dialog of a placed call with the final response to its INVITE (§12.1.2). */
export const answeredDialog = (dialog: Dialog, response: SipResponse): Dialog => ({
  ...dialog,
  remote: headerOf(response, 'To') ?? dialog.remote,
  target: contactOf(response) ?? dialog.target,
  routes: listOf(response, 'Record-Route').reverse(),
})

/** A request of the dialog. `own`: our host and port. `contact`: our SIP URI. */
export function requestIn(
  { callId, local, remote, target, routes, cseq }: Dialog,
  method: string,
  { own, contact }: { own: string; contact: string },
  sdp = '',
): SipRequest {
  const headers: Header[] = [
    ['Via', `SIP/2.0/UDP ${own};branch=z9hG4bK${randomBytes(8).toString('hex')};rport`],
    ['Max-Forwards', '70'],
    ['From', local],
    ['To', remote],
    ['Call-ID', callId],
    ['CSeq', `${cseq} ${method}`],
    ['Contact', `<${contact}>`],
    ...routes.map((route): Header => ['Route', route]),
    ...typeOf(sdp),
  ]
  return { kind: 'request', method, uri: target, headers, body: Buffer.from(sdp, 'latin1') }
}

/** The ACK of a refused INVITE, which belongs to the INVITE's transaction (§17.1.1.3). */
export function ackOfRefusal(invite: SipRequest, refusal: SipResponse): SipRequest {
  const cseq = parseCSeq(headerOf(invite, 'CSeq') ?? '')?.seq
  const changed: Record<string, string> = { To: headerOf(refusal, 'To') ?? '', CSeq: `${cseq} ACK` }
  const headers = invite.headers
    .filter(([name]) => name !== 'Content-Type')
    .map(([name, value]): Header => [name, changed[name] ?? value])
  return { ...invite, method: 'ACK', headers, body: Buffer.alloc(0) }
}

const COPIED = ['Via', 'From', 'Call-ID', 'CSeq', 'Record-Route']

/** A response (§8.2.6). `tag` is added to To, unless the request already has one. */
export function responseTo(
  request: SipRequest,
  [status, reason]: readonly [number, string],
  tag: string,
  extra: readonly Header[] = [],
  sdp = '',
): SipResponse {
  const headers: Header[] = [
    ...request.headers.filter(([name]) => COPIED.includes(name)),
    ['To', withTag(headerOf(request, 'To') ?? '', tag)],
    ...extra,
    ...typeOf(sdp),
  ]
  return { kind: 'response', status, reason, headers, body: Buffer.from(sdp, 'latin1') }
}

export const callIdOf = (message: SipMessage) => headerOf(message, 'Call-ID') ?? ''
export const methodOf = (message: SipMessage) => parseCSeq(headerOf(message, 'CSeq') ?? '')?.method

const withTag = (to: string, tag: string) => (/;\s*tag=/.test(to) ? to : `${to};tag=${tag}`)
const contactOf = (message: SipMessage) => parseNameAddr(headerOf(message, 'Contact') ?? '')?.uri ?? null
const typeOf = (sdp: string): Header[] => (sdp === '' ? [] : [['Content-Type', 'application/sdp']])
