/** Checks transfer destinations. An agent may transfer only to listed ones, and to none that we would not dial. */
import { BROWSER } from '../../../media/contract/plan.ts'
import { invalidField } from '../../platform/http/problem.ts'
import { type BlockedReason, blockedReason, type DialingLimits, EMERGENCY_EVERYWHERE } from '../../platform/phone.ts'
import type { ProjectSettings } from './schema.ts'

type Transfer = ProjectSettings['transfers'][number]

/** A number with a plus, an international prefix or neither. */
const NUMBER = /^(?:\+|00|011)?([1-9]\d{6,14})$/

/**
 * Returns the number that the carrier dials for a SIP address, without separators and escapes, which a switch removes
 * (RFC 3261 §19.1.6).
 */
function dialledBy(address: string): string {
  const user = /^sips?:([^@;]*)/i.exec(address)?.[1] ?? ''
  const bare = user.replace(/%([2-7][0-9A-F])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return bare.replace(/[-.()\s]/g, '')
}

/** Returns why transfers to the address are blocked, or null when they are allowed. */
export function transferBlocked(to: string, rules: DialingLimits): BlockedReason | null {
  if (to.startsWith('+')) return blockedReason(to, rules)
  const dialled = dialledBy(to)
  if (EMERGENCY_EVERYWHERE.includes(dialled)) return 'emergency'
  const digits = NUMBER.exec(dialled)?.[1]
  return digits === undefined ? null : blockedReason(`+${digits}`, rules)
}

export function checkTransfers(transfers: readonly Transfer[], rules: DialingLimits): void {
  for (const [i, { to, announce }] of transfers.entries()) {
    const code = transferBlocked(to, rules)
    if (code !== null) throw invalidField(`/transfers/${i}/to`, code, 'transfers to this destination are blocked')
    if (to !== BROWSER || announce === null) continue
    throw invalidField(
      `/transfers/${i}/announce`,
      'no_announcement',
      'must be null for `browser`: an operator who takes over in a browser hears the call itself',
    )
  }
}
