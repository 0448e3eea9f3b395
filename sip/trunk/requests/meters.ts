/** What an engine counts of the calls and telephones that come to it; reasons alone, never who. */
import { Refusal } from '../../../media/contract/messages.ts'
import type { Metrics } from '../../../media/shared/metrics.ts'

/** What came of a request of a telephone, or of a stranger who might be one. */
const PHONE_EVENTS = [
  'registered',
  'challenged',
  'wrong_password',
  'locked',
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
    /** Control took it for a project. */
    admitted: metrics.counter({ name: 'parley_inbound_admitted_total', help: 'Calls that came in and were taken.' }),
    refused: metrics.counter({
      name: 'parley_inbound_refused_total',
      help: 'Calls that came in and were not taken, by why.',
      labels: { reason: [...Refusal.options, 'bad_request', 'no_common_codec', 'shutting_down'] },
    }),
    redirected: metrics.counter({
      name: 'parley_inbound_redirected_total',
      help: 'Refused calls for which the carrier was told a fallback number.',
    }),
    announced: metrics.counter({
      name: 'parley_inbound_announced_total',
      help: 'Refused calls whose caller was told why, in words, before the refusal.',
    }),
    phones: metrics.counter({
      name: 'parley_softphone_events_total',
      help: 'What came of requests of telephones, and of strangers.',
      labels: { event: PHONE_EVENTS },
    }),
    unpaced: metrics.counter({
      name: 'parley_outbound_unpaced_total',
      help: 'Calls that were not dialled since their trunk took too many calls a second.',
    }),
  }
}
