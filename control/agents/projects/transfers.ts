/** To whom an agent may give a call: only these, and none that we would not dial ourselves. */
import { BROWSER } from '../../../media/contract/plan.ts'
import { invalidField } from '../../platform/http/problem.ts'
import { type BlockedReason, blockedReason, type DialingLimits, EMERGENCY_EVERYWHERE } from '../../platform/phone.ts'
import type { ProjectSettings } from './schema.ts'

type Transfer = ProjectSettings['transfers'][number]

/** With the plus, an international prefix, or nothing. */
const NUMBER = /^(?:\+|00|011)?([1-9]\d{6,14})$/

/** What a SIP address dials at the carrier, without the separators and escapes that a switch takes away (RFC 3261 §19.1.6). */
function dialledBy(address: string): string {
  const user = /^sips?:([^@;]*)/i.exec(address)?.[1] ?? ''
  const bare = user.replace(/%([2-7][0-9A-F])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return bare.replace(/[-.()\s]/g, '')
}

/** Why nobody is given to that number; null when they may be. */
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
    if (code !== null) throw invalidField(`/transfers/${i}/to`, code, 'nobody is transferred to such numbers')
    if (to !== BROWSER || announce === null) continue
    throw invalidField(
      `/transfers/${i}/announce`,
      'no_announcement',
      'who takes over in a browser hears the call itself',
    )
  }
}
