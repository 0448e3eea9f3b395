/** Monitors the installation as a whole: how long work waits, and whether the money is consistent. */
import { readBusAges } from '../../media/bus/stream-ages.ts'
import { countDrifted, selectQueues } from '../platform/db/state-sql.ts'
import type { Deps } from '../platform/deps.ts'
import { JOB_NAMES } from '../platform/jobs/job-names.ts'
import { STREAMS, type StateMeters } from './state-meters.ts'

/** Milliseconds between two reads of the state, and of the ledger. */
export const STATE_MS = 15_000
export const LEDGER_MS = 10 * 60_000

export async function watchWork(deps: Deps, meters: StateMeters): Promise<void> {
  const [jobs, ages] = await Promise.all([selectQueues(deps.sql), readBusAges(deps.redis, deps.config.redis_prefix)])
  for (const queue of JOB_NAMES) {
    const found = jobs.find(({ name }) => name === queue)
    meters.waiting.set({ queue }, found?.waiting ?? 0)
    meters.oldestJob.set({ queue }, found?.oldest_s ?? 0)
  }
  for (const stream of STREAMS) meters.oldestEntry.set({ stream }, ages[stream].oldestMs / 1000)
  meters.dead.set(ages.dead)
  meters.readAt.set(deps.clock.wall() / 1000)
}

export async function watchLedger(deps: Deps, meters: StateMeters): Promise<void> {
  meters.drifted.set(await countDrifted(deps.sql))
}
