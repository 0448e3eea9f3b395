/** What control shows of the installation as a whole; state.ts reads it. */
import type { Metrics } from '../../media/shared/metrics.ts'
import { JOB_NAMES } from '../platform/jobs/job-names.ts'

export const STREAMS = ['commands', 'events', 'asks'] as const

export type StateMeters = ReturnType<typeof createStateMeters>

/** The same in each control process, since all of them see one database and one Redis. */
export function createStateMeters(metrics: Metrics) {
  const queues = { queue: JOB_NAMES }
  const streams = { stream: STREAMS }
  return {
    waiting: metrics.gauge({ name: 'parley_jobs_waiting', help: 'Jobs whose time has come.', labels: queues }),
    oldestJob: metrics.gauge({
      name: 'parley_jobs_oldest_seconds',
      help: 'How long the oldest of them has been waiting.',
      labels: queues,
    }),
    oldestEntry: metrics.gauge({
      name: 'parley_bus_oldest_seconds',
      help: 'How long the oldest entry that is not done has been on a stream between control and engines.',
      labels: streams,
    }),
    dead: metrics.gauge({ name: 'parley_bus_dead_events', help: 'Events that were put aside: each is a bug.' }),
    drifted: metrics.gauge({
      name: 'parley_ledger_drifted_balances',
      help: 'Balances that are not what the ledger says; anything but 0 is to be looked at at once.',
    }),
    lookedAt: metrics.gauge({
      name: 'parley_state_timestamp_seconds',
      help: 'When these were last read, in seconds since 1970.',
    }),
  }
}
