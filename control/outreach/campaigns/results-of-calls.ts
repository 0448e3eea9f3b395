/** Applies the events of a call to its campaign contact, in the transaction that stores them. */

import type { Tx } from '../../platform/db/connect.ts'
import type { CallEndedHandler } from '../../telephony/call-setup/ended.ts'
import type { CallRow } from '../../telephony/call-setup/sql.ts'
import { afterAttempt } from './attempt.ts'
import { addSpend, bumpCampaign, lockAttempt, updateOutcome, updateTalking } from './pacer-sql.ts'
import { wakePacers } from './wake.ts'

/** Records that the call was answered. */
export async function noteAnswered(tx: Tx, call: CallRow): Promise<void> {
  const attempt = await lockAttempt(tx, call)
  if (attempt?.status !== 'dialing') return
  await updateTalking(tx, call.owner_id, attempt.id)
  await bumpCampaign(tx, attempt.campaign_id, { dialing: -1, in_progress: 1 })
}

export const noteEnded: CallEndedHandler = async (deps, tx, call) => {
  const { owner_id, campaign_id } = call
  if (campaign_id === null) return {}
  const attempt = await lockAttempt(tx, call)
  return {
    async settled({ record, cost }) {
      if (cost > 0n) await addSpend(tx, owner_id, campaign_id, cost)
      if (attempt === null) return
      const { id, campaign, status, attempts } = attempt
      const outcome = afterAttempt({ contact: { attempts }, campaign }, record, deps.clock.wall())
      await updateOutcome(tx, owner_id, id, outcome)
      const change = { [status]: -1, [outcome.status]: 1, ...(outcome.goal_reached ? { goal_reached: 1 } : {}) }
      await bumpCampaign(tx, attempt.campaign_id, change)
    },
    /** A slot is free. */
    committed: () => wakePacers(deps),
  }
}
