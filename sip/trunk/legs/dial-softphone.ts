/** Calls to a softphone: all of its registered contacts ring at once, and the first answer wins (RFC 3261 §16.7). */

import { type CallPlan, TrunkPlan } from '../../../media/contract/plan.ts'
import type { SoftphoneContact } from '../../../media/contract/softphones.ts'
import type { DialFailure, DialOptions, DialResult } from '../../../media/ports/dialer.ts'
import type { Softphones } from '../../../media/ports/trunks.ts'
import { liveContacts } from '../registrar/contacts.ts'
import { outcomeOf } from '../requests/outcome.ts'
import { CANCELED, failure, type TrunkContext } from './attempt.ts'
import { dial } from './dial.ts'

/** Dials a softphone. Without contacts, or when Redis cannot list them, the result is no answer. Never rejects. */
export async function dialSoftphone(
  context: TrunkContext,
  softphones: Softphones,
  options: DialOptions,
): Promise<DialResult> {
  const id = options.plan.softphone_id
  if (id === null) return failure(outcomeOf(480, true), null)
  let contacts: SoftphoneContact[]
  try {
    contacts = liveContacts(await softphones.state(id), context.clock.wall())
  } catch (error) {
    context.log.warn({ err: error }, 'reading softphone contacts failed')
    contacts = []
  }
  if (options.signal.aborted) return failure(CANCELED, null)
  if (contacts.length === 0) return failure(outcomeOf(480, true), null)
  return ring(context, contacts, options)
}

function ring(context: TrunkContext, contacts: SoftphoneContact[], options: DialOptions): Promise<DialResult> {
  const losers = contacts.map(() => new AbortController())
  const onAbort = (): void => {
    for (const loser of losers) loser.abort()
  }
  options.signal.addEventListener('abort', onAbort, { once: true })
  let rung = false
  const onRinging = (): void => {
    if (!rung) options.onRinging()
    rung = true
  }
  const failures: DialFailure[] = []
  const outcome = new Promise<DialResult>(resolve => {
    let won = false
    const settle = async (contact: SoftphoneContact, index: number): Promise<void> => {
      const plan = { ...options.plan, to: contact.uri }
      const result = await dial(context, lineTo(contact, options.plan), {
        ...options,
        plan,
        onRinging,
        signal: losers[index]!.signal,
      })
      if (!result.ok) {
        failures.push(result.failure)
        // §16.7 step 5: a 6xx from one contact declines for all.
        if ((result.failure.sipCode ?? 0) >= 600) for (const loser of losers) loser.abort()
        if (failures.length === contacts.length) resolve({ ok: false, failure: best(failures) })
        return
      }
      if (won) return result.leg.hangup('canceled_by_api')
      won = true
      for (const [other, loser] of losers.entries()) if (other !== index) loser.abort()
      resolve(result)
    }
    for (const [index, contact] of contacts.entries()) void settle(contact, index)
  })
  return outcome.finally(() => options.signal.removeEventListener('abort', onAbort))
}

const ORDER: readonly DialFailure['status'][] = ['busy', 'no_answer', 'failed', 'canceled']

/** Picks the failure to report: an action of a person counts more than a contact that is unreachable. */
function best(failures: readonly DialFailure[]): DialFailure {
  return [...failures].sort((one, other) => ORDER.indexOf(one.status) - ORDER.indexOf(other.status))[0]!
}

/** A trunk plan for one contact. Calls go to the address its REGISTER came from, whatever its Contact says. */
function lineTo({ host, port, transport }: SoftphoneContact, plan: CallPlan): TrunkPlan {
  return TrunkPlan.parse({
    id: plan.softphone_id,
    owner_id: plan.owner_id,
    name: 'softphone',
    mode: 'ip',
    host,
    port,
    transport,
    username: null,
    password: null,
    realm: null,
    outbound_proxy: null,
    allowed_ips: [],
    numbers: [],
    // SDES keys are only as secret as the signalling, and an INVITE without them fits into a datagram.
    codecs: ['opus', 'G722', 'PCMU', 'PCMA'],
    srtp: transport === 'tls' ? 'optional' : 'off',
    max_calls: null,
    from_user: plan.from,
  })
}
