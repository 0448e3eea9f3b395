/** A leg without signalling and a bus without Redis, for tests of calls. */
import type { EngineBus } from '../../media/bus/engine-bus.ts'
import type { CallDeps } from '../../media/call/call.ts'
import type { CallEventBody, EndedReason } from '../../media/contract/messages.ts'
import { createSealer } from '../../media/contract/seal.ts'
import { createEnergyVad } from '../../media/models/energy-vad.ts'
import type { InboundOffer } from '../../media/ports/inbound.ts'
import type { Leg, LegEnd, LegSink } from '../../media/ports/leg.ts'
import { quietLog } from '../support/world.ts'
import { fakeLlm, fakeStt, fakeTts } from './speech.ts'

interface FakeLegOptions {
  /** Hz; 8000 by default. */
  sampleRate?: number
  line?: Leg['line']
}

/** A leg that a test ends with `end`; it keeps the call's sink and the reasons of hang-ups. */
export function fakeLeg({ sampleRate = 8000, line }: FakeLegOptions = {}) {
  const { promise: ended, resolve: end } = Promise.withResolvers<LegEnd>()
  const hungUp: EndedReason[] = []
  const leg = {
    kind: 'sip' as const,
    sampleRate,
    ...(line ? { line } : {}),
    sink: null as LegSink | null,
    hungUp,
    end,
    ended,
    attach(sink: LegSink) {
      leg.sink = sink
    },
    async hangup(reason: EndedReason) {
      hungUp.push(reason)
      end({ by: 'local', reason })
    },
    remoteHangup: () => end({ by: 'remote', reason: 'caller_hangup' }),
    stats: () => ({
      codec: 'PCMU',
      packets_sent: 1,
      packets_received: 1,
      packets_lost: 0,
      packets_late: 0,
      packets_rejected: 0,
      jitter_ms: 0,
    }),
  }
  return leg satisfies Leg
}

/** An inbound call; the test answers it with `leg`, or sees why it was rejected. */
export const fakeOffer = (over: Partial<InboundOffer> = {}): InboundOffer => ({
  called: '+1',
  caller: '+2',
  source: '127.0.0.1',
  trunkId: null,
  signal: new AbortController().signal,
  answer: async () => null,
  reject() {},
  ...over,
})

/** A bus whose events go to `emit`; other methods of a call's bus by `over`. */
export const fakeBus = (emit: (event: CallEventBody) => void, over: Partial<EngineBus> = {}) =>
  ({
    engine: 'e',
    boot: 'b',
    emitter: () => async (event: CallEventBody) => emit(event),
    renewLease: async () => {},
    dropLease: async () => {},
    ...over,
  }) as unknown as EngineBus

type Needed = 'bus' | 'clock'

/** Dependencies of a call that neither dials nor fetches, and whose models stay silent unless `over` says otherwise. */
export const callDeps = (over: Pick<CallDeps, Needed> & Partial<CallDeps>): CallDeps => ({
  sealer: createSealer('0123456789abcdef'),
  log: quietLog,
  vad: createEnergyVad(),
  dialer: { dial: () => Promise.reject(new Error('not asked for')) },
  sttFor: () => fakeStt([]),
  ttsFor: () => fakeTts(),
  llmFor: () => fakeLlm(() => []),
  fetch: () => Promise.reject(new Error('none')),
  ...over,
})
