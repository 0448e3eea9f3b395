/** What the signalling server counts, by the names of its statistics. */
import type { Metrics } from '../../media/shared/metrics.ts'
import type { SipServer, SipServerStats } from './server.ts'

const COUNTERS = {
  disallowed: ['dropped', 'Messages of sources that may not call, dropped without an answer.'],
  flooded: ['flooded', 'Messages beyond what their source, or all strangers together, may send, dropped.'],
  scanned: ['scanned', 'Requests of strangers that are of no telephone of ours, dropped without an answer.'],
  malformed: ['malformed', 'Messages that could not be read.'],
  strayResponses: ['stray_responses', 'Responses to nothing that was asked.'],
  unhandled: [
    'untaken',
    'Requests that no application takes: SUBSCRIBE and MESSAGE of strangers, and all while none is there.',
  ],
  shed: ['shed', 'Requests outside of calls, refused with 503, since the applications did not keep up.'],
  blocked: ['barred', 'Requests of applications that were held back, since their address is not allowed.'],
  faults: ['faults', 'Messages that the server failed at: each is a bug.'],
} as const satisfies Partial<Record<keyof SipServerStats, readonly [string, string]>>

const GAUGES = {
  dialogs: 'Calls and subscriptions.',
  transactions: 'Transactions.',
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
