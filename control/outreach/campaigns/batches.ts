/**
 * What concerns every contact of a campaign is done in many short transactions: of one that takes seconds the ends of its
 * calls would wait, and all the others for their connections to the database. Whatever happens in between leaves a campaign
 * that is as it says.
 */

import type { Tx } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { cancelPending, holdStatus, requeueContacts, selectHalfStopped } from './sql.ts'
import type { CampaignStatus } from './types.ts'

/** Contacts in one transaction; some 100 ms. */
export const BATCH = 1000

type Ports = Pick<Deps, 'sql' | 'clock'>

/** Until nothing is left, or the campaign has another status. */
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

/** Of a stopped campaign: whoever has not been dialled. */
export const cancelRest = (deps: Pick<Ports, 'sql'>, ownerId: string, id: string): Promise<void> =>
  inBatches(deps, { ownerId, id, status: 'stopped' }, tx => cancelPending(tx, ownerId, id, BATCH))

/** Of a paused campaign: whoever is to be dialled again. */
export const requeueRest = (deps: Ports, ownerId: string, id: string): Promise<void> => {
  const at = wallDate(deps)
  return inBatches(deps, { ownerId, id, status: 'paused' }, tx => requeueContacts(tx, ownerId, id, at, BATCH))
}

/** The process that stopped them has died, or else it would have finished by then. */
const STOP_MS = 60_000

/** One step of each: who paces the others does it. */
export async function finishStops(deps: Ports): Promise<void> {
  for (const { owner_id, id } of await selectHalfStopped(deps.sql, new Date(deps.clock.wall() - STOP_MS))) {
    await deps.sql.begin(async tx => {
      if (await holdStatus(tx, owner_id, id, 'stopped')) await cancelPending(tx, owner_id, id, BATCH)
    })
  }
}
