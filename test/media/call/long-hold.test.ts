/** A caller who holds the call and never resumes: only limits and money end it. */
import { expect, it } from 'vitest'
import type { EngineBus } from '../../../media/bus/engine-bus.ts'
import { Call, type CallDeps } from '../../../media/call/call.ts'
import type { CallEventBody } from '../../../media/contract/messages.ts'
import { createSealer } from '../../../media/contract/seal.ts'
import { createEnergyVad } from '../../../media/models/energy-vad.ts'
import type { InboundOffer } from '../../../media/ports/inbound.ts'
import type { Leg, LegEnd } from '../../../media/ports/leg.ts'
import { fakeClock, settle } from '../../fakes/line.ts'
import { plan } from '../../fakes/plan.ts'
import { fakeLlm, fakeStt, fakeTts } from '../../fakes/speech.ts'
import { quietLog } from '../../support/world.ts'

const MINUTE = 60_000

async function held(paidMinutes: number) {
  const clock = fakeClock()
  const events: CallEventBody[] = []
  let paid = 1
  const { promise: ended, resolve: end } = Promise.withResolvers<LegEnd>()
  const leg: Leg = {
    kind: 'sip',
    sampleRate: 8000,
    ended,
    attach() {},
    hangup: async reason => end({ by: 'local', reason }),
    stats: () => ({
      codec: '',
      packets_sent: 0,
      packets_received: 0,
      packets_lost: 0,
      packets_late: 0,
      packets_rejected: 0,
      jitter_ms: 0,
    }),
  }
  const deps: CallDeps = {
    bus: {
      engine: 'e',
      boot: 'b',
      renewLease: async () => {},
      dropLease: async () => {},
      emitter: () => async (event: CallEventBody) => void events.push(event),
      request: async () => {
        paid = Math.min(paid + 1, paidMinutes)
        return { paid_ms: paid * MINUTE }
      },
    } as unknown as EngineBus,
    sealer: createSealer('0123456789abcdef'),
    clock,
    log: quietLog,
    vad: createEnergyVad(),
    dialer: { dial: () => Promise.reject(new Error('not asked for')) },
    sttFor: () => fakeStt([]),
    ttsFor: () => fakeTts(),
    llmFor: () => fakeLlm(() => []),
    fetch: () => Promise.reject(new Error('none')),
  }
  const offer: InboundOffer = {
    called: '',
    caller: '',
    source: '',
    trunkId: null,
    signal: new AbortController().signal,
    answer: async () => leg,
    reject() {},
  }
  Call.answer(plan({ direction: 'in', paid_ms: MINUTE, max_call_ms: 30 * MINUTE }), offer, deps)
  await settle()
  return {
    async after(minutes: number) {
      for (let ms = 0; ms < minutes * MINUTE; ms += 1000) {
        clock.advance(1000)
        await settle()
      }
      const last = events.find(event => event.type === 'call.ended')
      return last ? { reason: last.record.ended_reason, talkedMs: last.record.talked_ms } : null
    },
  }
}

it('continues while paid, until the maximum duration', async () => {
  const call = await held(1000)
  expect(await call.after(29.5)).toBeNull()
  const over = await call.after(1)
  expect(over?.reason).toBe('max_duration')
  expect(over!.talkedMs).toBeLessThanOrEqual(30 * MINUTE + 11_000)
})

it('ends when the balance ends', async () => {
  const call = await held(5)
  expect(await call.after(4.5)).toBeNull()
  const over = await call.after(1)
  expect(over?.reason).toBe('balance_exhausted')
  expect(over!.talkedMs).toBeLessThanOrEqual(5 * MINUTE + 6000)
})
