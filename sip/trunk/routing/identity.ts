/** Caller and callee headers of an outbound call. Pure. */
import type { CallPlan, TrunkHost, TrunkPlan } from '../../../media/contract/plan.ts'
import { formatHost } from '../../text/grammar.ts'
import { escapeUser, proxyUri, trunkUri } from './address.ts'
import { outgoingNumber } from './numbers.ts'

export type Parties = Pick<CallPlan, 'from' | 'to'> & {
  /** Our number that the call originally reached before it was forwarded. */
  divertedFrom?: string | undefined
}

/** The user part of our address of record and of our Contact. */
export const accountUser = (trunk: TrunkPlan): string | null => trunk.from_user ?? trunk.username

/** The domain of our address of record. */
export const accountDomain = (trunk: TrunkPlan): string => formatHost(trunk.from_domain ?? trunk.host)

/** The server replaces `localhost` with our own address. */
function ourDomain(trunk: TrunkPlan): string {
  return trunk.from_domain === null && trunk.username === null ? 'localhost' : accountDomain(trunk)
}

export function contactUri(user: string, { transport }: TrunkHost): string {
  return `sip:${escapeUser(user)}@localhost${transport === 'udp' ? '' : `;transport=${transport}`}`
}

/** True for a SIP address in place of a number: the trunk's host routes it. */
export const isAddress = (to: string): boolean => /^sips?:/i.test(to)

export function requestUri(trunk: TrunkPlan, host: TrunkHost, to: string): string {
  return isAddress(to) ? to : trunkUri(host, outgoingNumber(to, trunk))
}

/** The next hop when it differs from the Request-URI: a foreign address is still routed through the trunk. */
export function nextHop(
  trunk: TrunkPlan,
  { host, at }: { host: TrunkHost; at: TrunkHost | null },
  to: string,
): string | null {
  if (at !== null) return trunkUri(at, null)
  return proxyUri(trunk) ?? (isAddress(to) ? trunkUri(host, null) : null)
}

/** From, To, Contact, and as the trunk requires P-Asserted-Identity, Privacy (RFC 3325) and Diversion (RFC 5806). */
export function callHeaders(trunk: TrunkPlan, host: TrunkHost, parties: Parties): Record<string, string> {
  const { from, to, divertedFrom } = parties
  const number = from === '' ? null : outgoingNumber(from, trunk)
  const user = trunk.from_user ?? number ?? trunk.username ?? 'anonymous'
  const domain = ourDomain(trunk)
  const address = (name: string): string => `<sip:${escapeUser(name)}@${domain}>`
  const hidden = trunk.privacy === 'id'
  return {
    From: hidden ? '"Anonymous" <sip:anonymous@anonymous.invalid>' : address(user),
    To: `<${isAddress(to) ? to : trunkUri({ ...host, transport: 'udp' }, outgoingNumber(to, trunk))}>`,
    Contact: `<${contactUri(accountUser(trunk) ?? (hidden ? 'anonymous' : user), host)}>`,
    ...(trunk.pai === 'always' && number !== null ? { 'P-Asserted-Identity': address(number) } : {}),
    ...(hidden ? { Privacy: 'id' } : {}),
    ...(divertedFrom === undefined
      ? {}
      : { Diversion: `<${accountUri(trunk, outgoingNumber(divertedFrom, trunk))}>;reason=deflection` }),
  }
}

/** The URI of a user of the carrier, in the carrier's form. */
export const accountUri = (trunk: TrunkPlan, user: string): string => `sip:${escapeUser(user)}@${accountDomain(trunk)}`
