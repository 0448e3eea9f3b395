/** How a search ends: its status, and its money in the same transaction. */

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

/** Under the job's lock. What it obtained is charged, and the rest of what was set aside is given back. */
export async function endJob(deps: Pick<Deps, 'clock'>, tx: Tx, job: JobRow, end: End): Promise<void> {
  const at = wallDate(deps)
  await updateJob(tx, job.owner_id, job.id, { ...end, ended_at: at })
  await settleJobHold(tx, job.owner_id, { id: job.id, cost: costOfJob(job) }, at)
}

/** In the transaction that closes an account. A run under way notices that it has lost its right to write. */
export async function endSearchesOf(deps: Pick<Deps, 'clock'>, tx: Tx, ownerId: string): Promise<void> {
  for (const id of await selectActiveIds(tx, ownerId)) {
    const job = await lockJob(tx, ownerId, id)
    if (job && job.ended_at === null) await endJob(deps, tx, job, CANCELED)
  }
}
