/** Applies the events of a call to its campaign contact, in the transaction that stores them. */

import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/connect.ts'
import type { CallRow } from '../../telephony/call-setup/sql.ts'
import { afterAttempt, type Ended } from './attempt.ts'
import { type AttemptRow, addSpend, bumpCampaign, lockAttempt, updateOutcome, updateTalking } from './pacer-sql.ts'
import { wakePacers } from './wake.ts'

/** Records that the call was answered. */
export async function noteAnswered(tx: Tx, call: CallRow): Promise<void> {
  const attempt = await lockAttempt(tx, call)
  if (attempt?.status !== 'dialing') return
  await updateTalking(tx, call.owner_id, attempt.id)
  await bumpCampaign(tx, attempt.campaign_id, { dialing: -1, in_progress: 1 })
}

/** Call after the call's own row and counters are written; `attempt` was locked before them. */
export async function noteEnded(
  deps: Pick<Deps, 'clock'>,
  tx: Tx,
  attempt: AttemptRow | null,
  { owner_id, campaign_id }: CallRow,
  ended: Ended & { cost: bigint },
): Promise<void> {
  if (campaign_id === null) return
  if (ended.cost > 0n) await addSpend(tx, owner_id, campaign_id, ended.cost)
  if (attempt === null) return
  const { id, campaign, status, attempts } = attempt
  const outcome = afterAttempt({ contact: { attempts }, campaign }, ended, deps.clock.wall())
  await updateOutcome(tx, owner_id, id, outcome)
  const change = { [status]: -1, [outcome.status]: 1, ...(outcome.goal_reached ? { goal_reached: 1 } : {}) }
  await bumpCampaign(tx, attempt.campaign_id, change)
}

/** Call after the commit: a call slot is free. */
export function placeFreed(deps: Deps, campaignId: string | null): void {
  if (campaignId !== null) wakePacers(deps)
}
