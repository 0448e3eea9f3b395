/** Metrics of the signalling server, by the names of its statistics. */
import type { Metrics } from '../../media/shared/metrics.ts'
import type { SipServer, SipServerStats } from './server.ts'

const COUNTERS = {
  disallowed: ['dropped', 'Messages from sources that are not allowed, dropped without an answer.'],
  flooded: [
    'flooded',
    'Messages dropped because their source, or all unknown sources together, exceeded a rate limit.',
  ],
  scanned: ['scanned', 'Requests from unknown sources that cannot be from a softphone, dropped without an answer.'],
  malformed: ['malformed', 'Messages that could not be parsed.'],
  strayResponses: ['stray_responses', 'Responses that match no transaction.'],
  unhandled: [
    'unhandled',
    'Requests that no connected application handles, such as SUBSCRIBE, or any while none is connected.',
  ],
  shed: ['shed', 'Initial requests refused with 503 because the applications did not keep up.'],
  blocked: ['blocked', 'Outgoing requests blocked because their destination address is not allowed.'],
  faults: ['faults', 'Messages that made the server fail. Each is a bug.'],
} as const satisfies Partial<Record<keyof SipServerStats, readonly [string, string]>>

const GAUGES = {
  dialogs: 'Open dialogs (calls and subscriptions).',
  transactions: 'Open transactions.',
  pending: 'Requests without a final response.',
  apps: 'Connected applications.',
  connections: 'Open TCP and TLS connections.',
} as const satisfies Partial<Record<keyof SipServerStats, string>>

export function countServer(metrics: Metrics, server: Pick<SipServer, 'stats'>): void {
  for (const [stat, [name, help]] of Object.entries(COUNTERS)) {
    const read = () => server.stats()[stat as keyof typeof COUNTERS]
    metrics.counterFrom({ name: `parley_sip_server_${name}_total`, help }, read)
  }
  for (const [stat, help] of Object.entries(GAUGES)) {
    metrics.gaugeFrom({ name: `parley_sip_server_${stat}`, help }, () => server.stats()[stat as keyof typeof GAUGES])
  }
}
