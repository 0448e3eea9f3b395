/** Reads a trace into requests with their answers, addresses and offers, for the diagnosis. Pure. */
import { isIP } from 'node:net'
import type { EndedReason, MediaStats } from '../../../media/contract/messages.ts'
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import type { TracedMessage } from '../../../media/contract/sip-trace.ts'
import { isLoopback } from '../../server/transport.ts'
import { parseHostPort } from '../../text/grammar.ts'
import { headerOf, listOf, type SipMessage } from '../../text/message.ts'
import { parseMessage } from '../../text/parse.ts'
import { type MediaSection, parseSdp, type Sdp } from '../../text/sdp.ts'
import { parseNameAddr, parseUri } from '../../text/uri.ts'

export type Case = {
  readonly messages: readonly TracedMessage[]
  readonly trunk: Pick<TrunkPlan, 'username' | 'password' | 'realm' | 'numbers' | 'number_format' | 'codecs'> | null
  readonly media: MediaStats | null
  /** Null when there was no call, as for a trunk check. */
  readonly reason: EndedReason | null
}

export type Read = { readonly index: number; readonly seen: TracedMessage; readonly message: SipMessage }
/** A request with its answers, in order. */
export type Exchange = {
  readonly request: Read
  readonly method: string
  readonly callId: string
  readonly answers: readonly Read[]
}
export type Facts = { readonly all: readonly Read[]; readonly exchanges: readonly Exchange[] }

export const header = (read: Read, name: string): string => headerOf(read.message, name) ?? ''
export const statusOf = ({ message }: Read): number => (message.kind === 'response' ? message.status : 0)
export const finalOf = ({ answers }: Exchange): Read | null => answers.find(answer => statusOf(answer) >= 200) ?? null
export const methodOf = ({ message }: Read): string => (message.kind === 'request' ? message.method : '')

export function readFacts(messages: readonly TracedMessage[]): Facts {
  const all = messages.flatMap((seen, index): Read[] => {
    const parsed = parseMessage(Buffer.from(seen.text), { lax: true, bodyIsRest: true })
    return parsed.ok ? [{ index, seen, message: parsed.message }] : []
  })
  const exchanges = all
    .filter(({ message }) => message.kind === 'request' && message.method !== 'ACK')
    .map(request => exchangeOf(request, all))
  return { all, exchanges }
}

function exchangeOf(request: Read, all: readonly Read[]): Exchange {
  const [callId, cseq] = [header(request, 'Call-ID'), header(request, 'CSeq')]
  const answers = all.filter(
    one =>
      one.index > request.index &&
      one.message.kind === 'response' &&
      one.seen.sent !== request.seen.sent &&
      header(one, 'Call-ID') === callId &&
      header(one, 'CSeq') === cseq,
  )
  return { request, method: methodOf(request), callId, answers }
}

/** Everything that a response says about its reason, in one line. */
export function saidBy(read: Read): string {
  const { message } = read
  const phrase = message.kind === 'response' ? message.reason : ''
  return [phrase, ...listOf(message, 'Warning'), ...listOf(message, 'Reason'), ...errorInfo(message)].join(' ')
}

const errorInfo = (message: SipMessage): string[] => listOf(message, 'Error-Info').concat(listOf(message, 'X-Reason'))

/** The ITU-T Q.850 cause (RFC 3326); null when there is none. */
export function q850Of({ message }: Read): number | null {
  const cause = /Q\.850[^,]*?;\s*cause\s*=\s*(\d{1,3})/i.exec(listOf(message, 'Reason').join())?.[1]
  return cause === undefined ? null : Number(cause)
}

export const sdpOf = ({ message }: Read): Sdp | null =>
  message.body.length === 0 ? null : parseSdp(String(message.body))
export const audioOf = (sdp: Sdp | null): MediaSection | null => sdp?.media.find(({ kind }) => kind === 'audio') ?? null
export const isSecure = (media: MediaSection | null): boolean => /SAVPF?$/.test(media?.protocol ?? '')

/** Names of the offered codecs: `PCMU, PCMA, opus`. */
export function codecsIn(media: MediaSection | null): string {
  const known: Readonly<Record<string, string>> = { 0: 'PCMU', 3: 'GSM', 4: 'G723', 8: 'PCMA', 9: 'G722', 18: 'G729' }
  const names = (media?.formats ?? []).map(format => {
    const map = media?.attributes.find(([name, value]) => name === 'rtpmap' && value?.startsWith(`${format} `))?.[1]
    return map?.split(/[ /]/)[1] ?? known[format] ?? format
  })
  return names.filter(name => name.toLowerCase() !== 'telephone-event').join(', ')
}

export const hostOfEnd = (end: string): string => parseHostPort(end)?.host ?? ''

export function hostOfUri(text: string): string {
  const uri = parseUri(parseNameAddr(text)?.uri ?? text)
  return uri?.scheme === 'sip' || uri?.scheme === 'sips' ? uri.host : ''
}

/** Addresses that are valid only locally: RFC 1918, RFC 6598, RFC 3927, RFC 4193, RFC 4291. */
export function isPrivate(address: string): boolean {
  return (
    /^(?:10\.|192\.168\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.)/.test(
      address,
    ) || /^f(?:[cd]|e[89ab])[0-9a-f]*:/i.test(address)
  )
}
export const isPublic = (address: string): boolean => isIP(address) !== 0 && !isPrivate(address) && !isLoopback(address)

/** Seconds that the far end's clock is ahead of ours; null when the message has no Date (RFC 3261 §20.17). */
export function skewSeconds(read: Read): number | null {
  const makeDiagnosis = Date.parse(header(read, 'Date'))
  return read.seen.sent || Number.isNaN(makeDiagnosis) ? null : Math.round((makeDiagnosis - read.seen.at) / 1000)
}
