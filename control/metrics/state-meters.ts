/** Metrics of the installation as a whole; state.ts reads the values. */
import type { Metrics } from '../../media/shared/metrics.ts'
import { JOB_NAMES } from '../platform/jobs/job-names.ts'

export const STREAMS = ['commands', 'events', 'requests'] as const

export type StateMeters = ReturnType<typeof createStateMeters>

/** Equal in every control process, because all of them read the same database and Redis. */
export function createStateMeters(metrics: Metrics) {
  const queues = { queue: JOB_NAMES }
  const streams = { stream: STREAMS }
  return {
    waiting: metrics.gauge({ name: 'parley_jobs_waiting', help: 'Jobs that are due.', labels: queues }),
    oldestJob: metrics.gauge({
      name: 'parley_jobs_oldest_seconds',
      help: 'Age of the oldest due job.',
      labels: queues,
    }),
    oldestEntry: metrics.gauge({
      name: 'parley_bus_oldest_seconds',
      help: 'Age of the oldest unprocessed entry of a stream between control and engines.',
      labels: streams,
    }),
    dead: metrics.gauge({
      name: 'parley_bus_dead_events',
      help: 'Events in the dead-letter stream. Each one is a bug.',
    }),
    drifted: metrics.gauge({
      name: 'parley_ledger_drifted_balances',
      help: 'Balances that differ from the ledger. Investigate any value other than 0 at once.',
    }),
    readAt: metrics.gauge({
      name: 'parley_state_timestamp_seconds',
      help: 'Unix time at which these values were last read.',
    }),
  }
}
