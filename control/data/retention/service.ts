/** Retention of personal call data, and the sweep that enforces it. */

import type { Tx } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { errorFields } from '../../platform/log.ts'
import { deleteRecordings, forgetPhones, forgetRecordings, forgetWords } from '../erasure/calls.ts'
import type { RetentionPatch } from './schema.ts'
import {
  deleteDeliveries,
  type Kind,
  kinds,
  lockDue,
  lockNextCalls,
  type PassedCall,
  type RetentionRow,
  selectDays,
  updateDue,
  updatePassed,
  upsertDays,
} from './sql.ts'

type Ports = Pick<Deps, 'sql' | 'clock' | 'blobs' | 'log'>

const DAY_MS = 24 * 3600 * 1000
/** Milliseconds until a retry when the blob store is unreachable. */
const AGAIN_MS = 3600 * 1000
const CALLS_AT_ONCE = 200
const DELIVERIES_AT_ONCE = 1000

export async function getRetention(deps: Pick<Deps, 'sql'>, ownerId: string) {
  const rows = await selectDays(deps.sql, ownerId)
  const daysOf = (kind: Kind) => rows.find(row => row.kind === kind)?.days ?? null
  return {
    recordings_days: daysOf('recordings'),
    transcripts_days: daysOf('transcripts'),
    phones_days: daysOf('phones'),
  }
}

/** Omitted fields stay. The next sweep applies the change. */
export async function patchRetention(deps: Pick<Deps, 'sql' | 'clock'>, ownerId: string, patch: RetentionPatch) {
  await deps.sql.begin(async tx => {
    for (const kind of kinds) {
      const days = patch[`${kind}_days`]
      if (days !== undefined) await upsertDays(tx, ownerId, kind, days, wallDate(deps))
    }
  })
  return getRetention(deps, ownerId)
}

/** Runs until nothing is due. Several processes may sweep at once: each locks rows that the others do not have. */
export async function sweepRetention(deps: Ports): Promise<void> {
  while (await sweepSome(deps)) {
    // the next batch
  }
}

/** Returns false when nothing is due. A batch is one transaction: if the process dies, the batch runs again. */
async function sweepSome(deps: Ports): Promise<boolean> {
  let row: RetentionRow | undefined
  try {
    await deps.sql.begin(async tx => {
      row = await lockDue(tx, wallDate(deps))
      if (row) await sweepBatch(deps, tx, row)
    })
  } catch (error) {
    if (!row) throw error
    const { owner_id, kind } = row
    deps.log.error({ error: errorFields(error), owner_id, kind }, 'retention sweep failed; it will be retried')
    await updateDue(deps.sql, row, new Date(deps.clock.wall() + AGAIN_MS))
  }
  return row !== undefined
}

async function sweepBatch(deps: Ports, tx: Tx, row: RetentionRow): Promise<void> {
  const before = new Date(deps.clock.wall() - row.days * DAY_MS)
  const found = await lockNextCalls(tx, row, before, CALLS_AT_ONCE)
  // Stops before a call in progress: its data is complete only when it ends.
  const live = found.findIndex(call => call.ended_at === null)
  const calls = live < 0 ? found : found.slice(0, live)
  if (calls.length > 0) await forget(deps, tx, row, calls)
  const sent = row.kind === 'recordings' ? 0 : await deleteDeliveries(tx, row.owner_id, before, DELIVERIES_AT_ONCE)
  if (calls.length > 0) await updatePassed(tx, row, calls.at(-1)!)
  const more = calls.length === CALLS_AT_ONCE || sent === DELIVERIES_AT_ONCE
  if (!more) await updateDue(tx, row, new Date(deps.clock.wall() + DAY_MS))
}

async function forget(deps: Ports, tx: Tx, { owner_id, kind }: RetentionRow, calls: readonly PassedCall[]) {
  const ids = calls.map(call => call.id)
  if (kind === 'transcripts') return forgetWords(tx, owner_id, ids)
  if (kind === 'phones') return forgetPhones(tx, owner_id, ids)
  // Delete the file before the reference: nothing would ever find a file that no row refers to.
  await deleteRecordings(deps, calls)
  return forgetRecordings(tx, owner_id, ids)
}
