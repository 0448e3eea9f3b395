/**
 * Changes to every contact of a campaign run in many short transactions: during one that takes seconds, ends of its
 * calls would wait, and other requests would lack database connections. The campaign is consistent between any two of
 * them.
 */

import type { Tx } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { cancelPending, holdStatus, requeueContacts, selectHalfStopped } from './sql.ts'
import type { CampaignStatus } from './types.ts'

/** Contacts in one transaction; about 100 ms. */
export const BATCH = 1000

type Ports = Pick<Deps, 'sql' | 'clock'>

/** Runs until nothing is left, or the campaign has another status. */
async function inBatches(
  { sql }: Pick<Ports, 'sql'>,
  { ownerId, id, status }: { ownerId: string; id: string; status: CampaignStatus },
  work: (tx: Tx) => Promise<number>,
): Promise<void> {
  let done = BATCH
  while (done === BATCH) {
    done = await sql.begin(async tx => ((await holdStatus(tx, ownerId, id, status)) ? work(tx) : 0))
  }
}

/** Cancels the contacts of a stopped campaign that were not dialled. */
export const cancelRest = (deps: Pick<Ports, 'sql'>, ownerId: string, id: string): Promise<void> =>
  inBatches(deps, { ownerId, id, status: 'stopped' }, tx => cancelPending(tx, ownerId, id, BATCH))

/** Requeues the contacts of a paused campaign. */
export const requeueRest = (deps: Ports, ownerId: string, id: string): Promise<void> => {
  const at = wallDate(deps)
  return inBatches(deps, { ownerId, id, status: 'paused' }, tx => requeueContacts(tx, ownerId, id, at, BATCH))
}

/** Age after which the stopping process must have died; otherwise it would have finished. */
const STOP_MS = 60_000

/** Runs one batch of each campaign; the pacing process calls it. */
export async function finishStops(deps: Ports): Promise<void> {
  for (const { owner_id, id } of await selectHalfStopped(deps.sql, new Date(deps.clock.wall() - STOP_MS))) {
    await deps.sql.begin(async tx => {
      if (await holdStatus(tx, owner_id, id, 'stopped')) await cancelPending(tx, owner_id, id, BATCH)
    })
  }
}
