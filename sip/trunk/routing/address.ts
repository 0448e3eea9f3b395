/** SIP addresses of trunks and numbers. Pure. */
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import { formatHostPort, parseParams } from '../../text/grammar.ts'
import { parseNameAddr, parseUri } from '../../text/uri.ts'

type Where = Pick<TrunkPlan, 'host' | 'port' | 'transport'>

/** UDP is expressed by omission: some carriers mishandle an explicit `transport=udp`. */
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

/** `outbound_proxy` may be a host, a host with port, or a URI. Returns null when the trunk has none. */
export function proxyUri(trunk: Pick<TrunkPlan, 'outbound_proxy' | 'transport'>): string | null {
  const text = trunk.outbound_proxy?.trim()
  if (!text) return null
  const uri = /^sips?:/i.test(text) ? text : `sip:${text}${text.includes(';') ? '' : transportParam(trunk.transport)}`
  return parseUri(uri) === null ? null : uri
}

/** The host of the outbound proxy; null when the trunk has none. */
export function proxyHost(trunk: Pick<TrunkPlan, 'outbound_proxy' | 'transport'>): string | null {
  const proxy = parseUri(proxyUri(trunk) ?? '')
  return proxy?.scheme === 'sip' || proxy?.scheme === 'sips' ? proxy.host : null
}

/** The host of a name-addr in lower case; empty when there is none. */
export function hostIn(text: string | undefined): string {
  const uri = parseUri(parseNameAddr(text ?? '')?.uri ?? '')
  return uri?.scheme === 'sip' || uri?.scheme === 'sips' ? uri.host.toLowerCase() : ''
}

/**
 * The user part of a URI or name-addr without its parameters; null when absent. A number local to a global prefix
 * (`phone-context`, RFC 3966 §5.1.5) is returned with the prefix.
 */
export function userOf(text: string | undefined): string | null {
  if (text === undefined) return null
  // Without brackets a semicolon may be inside the user part, as in a Request-URI with `;npdi`.
  const spec = text.includes('<') ? (parseNameAddr(text)?.uri ?? text) : text
  const uri = parseUri(spec)
  if (uri === null || uri.scheme === 'other') return null
  const [bare, ...params] = (uri.scheme === 'tel' ? uri.number : (uri.user ?? '')).split(';')
  if (bare === undefined || bare === '') return null
  const within = uri.scheme === 'tel' ? uri.params : parseParams(params.join(';'))
  const context = within?.get('phone-context') ?? uri.params.get('phone-context') ?? ''
  const number = decoded(bare)
  return /^\+[\d.()-]+$/.test(context) && /^\d[\d.()-]*$/.test(number) ? `${context}${number}` : number
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
