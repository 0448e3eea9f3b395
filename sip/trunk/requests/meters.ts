/** Metrics of inbound calls and softphones. Labels hold reasons, never identities. */
import { Refusal } from '../../../media/contract/messages.ts'
import type { Metrics } from '../../../media/shared/metrics.ts'

/** Results of requests from softphones, or from strangers. */
const PHONE_EVENTS = [
  'registered',
  'challenged',
  'wrong_password',
  'guessed_name',
  'shut_out',
  'banned',
  'too_many_challenges',
  'refused',
  'unavailable',
] as const
export type PhoneEvent = (typeof PHONE_EVENTS)[number]

export type SipMeters = ReturnType<typeof createSipMeters>

export function createSipMeters(metrics: Metrics) {
  return {
    /** Control admitted the call for a project. */
    admitted: metrics.counter({ name: 'parley_inbound_admitted_total', help: 'Inbound calls admitted.' }),
    refused: metrics.counter({
      name: 'parley_inbound_refused_total',
      help: 'Rejected inbound calls by reason.',
      labels: { reason: [...Refusal.options, 'bad_request', 'no_common_codec', 'shutting_down'] },
    }),
    redirected: metrics.counter({
      name: 'parley_inbound_redirected_total',
      help: 'Rejected inbound calls redirected to a fallback number.',
    }),
    announced: metrics.counter({
      name: 'parley_inbound_announced_total',
      help: 'Rejected inbound calls whose caller heard an announcement first.',
    }),
    phones: metrics.counter({
      name: 'parley_softphone_events_total',
      help: 'Requests from softphones and unknown sources by result.',
      labels: { event: PHONE_EVENTS },
    }),
    unpaced: metrics.counter({
      name: 'parley_outbound_unpaced_total',
      help: 'Calls not dialed because no rate token of their trunk became free in time.',
    }),
  }
}
