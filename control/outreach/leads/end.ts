/** Ends a search: sets its status and settles its money in the same transaction. */

import { settleJobHold } from '../../billing/money.ts'
import type { Tx } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { costOfJob } from './present.ts'
import { type JobRow, lockJob, selectActiveIds, updateJob } from './sql.ts'

export type End =
  | { status: 'completed'; end_reason: 'target_reached' | 'exhausted' | 'time_limit' }
  | { status: 'canceled'; end_reason: 'canceled' }
  | { status: 'failed'; end_reason: 'failed'; error_code: string; error_message: string }

export const CANCELED: End = { status: 'canceled', end_reason: 'canceled' }

/** Call under the job's lock. Charges the leads obtained and releases the rest of the hold. */
export async function endJob(deps: Pick<Deps, 'clock'>, tx: Tx, job: JobRow, end: End): Promise<void> {
  const at = wallDate(deps)
  await updateJob(tx, job.owner_id, job.id, { ...end, ended_at: at })
  await settleJobHold(tx, job.owner_id, { id: job.id, cost: costOfJob(job) }, at)
}

/** Runs in the transaction that closes an account. A current run notices that it has lost its claim. */
export async function endSearchesOf(deps: Pick<Deps, 'clock'>, tx: Tx, ownerId: string): Promise<void> {
  for (const id of await selectActiveIds(tx, ownerId)) {
    const job = await lockJob(tx, ownerId, id)
    if (job && job.ended_at === null) await endJob(deps, tx, job, CANCELED)
  }
}
