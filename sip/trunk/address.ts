/** SIP addresses of trunks and numbers. Pure. */
import type { TrunkPlan } from '../../media/contract/plan.ts'
import { formatHostPort } from '../text/grammar.ts'
import { parseNameAddr, parseUri } from '../text/uri.ts'

type Where = Pick<TrunkPlan, 'host' | 'port' | 'transport'>

/** UDP is said by saying nothing: some carriers mistake an explicit `transport=udp`. */
function transportParam(transport: TrunkPlan['transport']): string {
  return transport === 'udp' ? '' : `;transport=${transport}`
}

export function trunkUri(trunk: Where, user: string | null): string {
  return `sip:${user === null ? '' : `${escapeUser(user)}@`}${formatHostPort(trunk)}${transportParam(trunk.transport)}`
}

/** Characters outside `user` of RFC 3261 §25.1 are escaped; a `+` and visual separators stay. */
export function escapeUser(user: string): string {
  return encodeURIComponent(user).replace(/%2B/gi, '+').replace(/%3B/gi, ';').replace(/%3D/gi, '=').replace(/%26/g, '&')
}

/** `outbound_proxy` may be a host, a host with port, or a whole URI. Null when the trunk has none. */
export function proxyUri(trunk: Pick<TrunkPlan, 'outbound_proxy' | 'transport'>): string | null {
  const text = trunk.outbound_proxy?.trim()
  if (!text) return null
  const uri = /^sips?:/i.test(text) ? text : `sip:${text}${text.includes(';') ? '' : transportParam(trunk.transport)}`
  return parseUri(uri) === null ? null : uri
}

/** The user part of a URI or name-addr, without its parameters; null when there is none. */
export function userOf(text: string | undefined): string | null {
  if (text === undefined) return null
  const spec = parseNameAddr(text)?.uri ?? text
  const uri = parseUri(spec)
  if (uri === null || uri.scheme === 'other') return null
  const user = uri.scheme === 'tel' ? uri.number : uri.user
  const bare = user?.split(';')[0]
  return bare === undefined || bare === '' ? null : decoded(bare)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const digitsOf = (number: string): string => number.replace(/^00/, '').replace(/\D/g, '')

/** Which of the trunk's E.164 numbers a dialed string means, however the carrier writes it; null when none. */
export function ownNumber(dialed: string | null, numbers: readonly string[]): string | null {
  const digits = digitsOf(dialed ?? '')
  return digits === '' ? null : (numbers.find(number => digitsOf(number) === digits) ?? null)
}

/** `+` and digits where it is a number, else as it came (`anonymous`, a softphone's name). */
export function plainNumber(text: string | null): string {
  if (text === null) return 'anonymous'
  const compact = text.replace(/[\s().-]/g, '')
  return /^00\d{7,}$/.test(compact) ? `+${compact.slice(2)}` : compact
}
