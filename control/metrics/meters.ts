/** Metrics of control. */
import { Refusal, type RequestAnswer } from '../../media/contract/messages.ts'
import type { Metrics } from '../../media/shared/metrics.ts'
import type { Deps } from '../platform/deps.ts'
import { problemCodes } from '../platform/http/problem.ts'
import { createCallMeters } from './call-meters.ts'
import { createStateMeters } from './state-meters.ts'

/** Seconds: a response takes a few milliseconds, and nobody waits longer than ten seconds. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]

export type ControlMeters = ReturnType<typeof createControlMeters>

export interface MeteredDeps extends Deps {
  /** Omitted: nothing is measured. */
  meters?: ControlMeters
}

export function createControlMeters(metrics: Metrics) {
  const admissions = metrics.counter({
    name: 'parley_admissions_total',
    help: 'Inbound calls, by result of admission.',
    labels: { result: ['admitted', ...Refusal.options] },
  })
  return {
    calls: createCallMeters(metrics),
    state: createStateMeters(metrics),
    requests: metrics.histogram({
      name: 'parley_http_request_seconds',
      help: 'Duration of HTTP requests, by status class.',
      labels: { status: ['2xx', '3xx', '4xx', '5xx'] },
      buckets: SECONDS,
    }),
    problems: metrics.counter({
      name: 'parley_http_problems_total',
      help: 'Error responses, by code.',
      labels: { code: problemCodes },
    }),
    admission(answer: RequestAnswer<'call.admit'>): RequestAnswer<'call.admit'> {
      admissions.add({ result: answer.admitted ? 'admitted' : answer.refusal })
      return answer
    },
    bridges: metrics.counter({
      name: 'parley_bridges_total',
      help: 'Requests for a second call leg, by result.',
      labels: { result: ['granted', 'refused'] },
    }),
  }
}
