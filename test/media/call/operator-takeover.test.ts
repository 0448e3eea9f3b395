/** Calls with an operator and a transfer at once: the audio paths, and dials that are cancelled. */
import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import type { EngineBus } from '../../../media/bus/engine-bus.ts'
import { Call, type CallDeps } from '../../../media/call/call.ts'
import type { CallEventBody } from '../../../media/contract/messages.ts'
import { createSealer } from '../../../media/contract/seal.ts'
import { createEnergyVad } from '../../../media/models/energy-vad.ts'
import type { DialOptions, DialResult } from '../../../media/ports/dialer.ts'
import type { InboundOffer } from '../../../media/ports/inbound.ts'
import type { Leg, LegEnd, LegSink } from '../../../media/ports/leg.ts'
import type { LlmEvent } from '../../../media/ports/llm.ts'
import type { MonitorRoomOptions } from '../../../media/ports/rooms.ts'
import { FakeLine, fakeClock, settle } from '../../fakes/line.ts'
import { plan } from '../../fakes/plan.ts'
import { fakeLlm, fakeStt, fakeTts } from '../../fakes/speech.ts'
import { quietLog } from '../../support/world.ts'

function fakeLeg(line?: Leg['line']) {
  const { promise: ended, resolve: end } = Promise.withResolvers<LegEnd>()
  const leg = {
    kind: 'sip' as const,
    sampleRate: 8000,
    ended,
    sink: null as LegSink | null,
    ...(line ? { line } : {}),
    attach(sink: LegSink) {
      leg.sink = sink
    },
    hangup: async () => end({ by: 'local', reason: 'agent_hangup' }),
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
  return leg satisfies Leg
}

async function world(respond: () => AsyncIterable<LlmEvent>) {
  const [clock, sealer, callId] = [fakeClock(), createSealer('0123456789abcdef'), randomUUID()]
  const [caller, second] = [fakeLeg({ trunkId: 't', number: '+12025550100', transfer: 'bridge' }), fakeLeg()]
  const events: CallEventBody[] = []
  const dials: DialOptions[] = []
  const dialed = Promise.withResolvers<DialResult>()
  let room: MonitorRoomOptions | null = null
  const deps: CallDeps = {
    bus: {
      engine: 'e',
      boot: 'b',
      renewLease: async () => {},
      dropLease: async () => {},
      emitter: () => async (event: CallEventBody) => void events.push(event),
      request: async () => ({ paid_ms: 600_000, granted: true }),
    } as unknown as EngineBus,
    sealer,
    clock,
    log: quietLog,
    vad: createEnergyVad(),
    dialer: {
      dial(options) {
        dials.push(options)
        return dialed.promise
      },
    },
    rooms: {
      join: () => Promise.reject(new Error('not asked for')),
      async openMonitor(options) {
        room = options
        return { identities: () => ['anna'], play() {}, async close() {} }
      },
    },
    sttFor: () => fakeStt(['A person, please.']),
    ttsFor: () => fakeTts(),
    llmFor: () => ({ ...fakeLlm(() => []), respond }),
    fetch: () => Promise.reject(new Error('none')),
  }
  const offer: InboundOffer = {
    called: '',
    caller: '',
    source: '',
    trunkId: null,
    signal: new AbortController().signal,
    answer: async () => caller,
    reject() {},
  }
  const transfers = [
    { name: 'sales', to: '+4930123456', description: '', announce: null },
    { name: 'anybody', to: 'browser', description: '', announce: null },
  ]
  const over = { call_id: callId, direction: 'in', greeting: 'Hi.', transfers } as const
  const call = Call.answer(plan({ ...over, paid_ms: 600_000, max_call_ms: 600_000 }), offer, deps)
  await settle()
  const line = new FakeLine(caller.sink!, clock)
  await line.agentTurn()
  await line.caller(600)
  await line.silence(2000)
  return {
    call,
    line,
    dials,
    events,
    second,
    async answers() {
      dialed.resolve({ ok: true, leg: second })
      await settle()
    },
    async takesOver() {
      const seat = { url: 'ws://somewhere', name: 'call', sealed: sealer.seal({ token: 'a seat' }, callId) }
      const who = { monitor_id: randomUUID(), identity: 'anna' }
      call.command({ type: 'call.monitor', call_id: callId, mode: 'takeover', room: seat, ...who })
      await settle()
    },
    says(level: number) {
      room!.onSound('anna', { pcm: new Int16Array(160).fill(level), atMs: clock.now(), concealed: false })
    },
  }
}

const give = (to: string): LlmEvent => ({ type: 'tool', id: to, name: 'transfer_call', arguments: { to } })

it('connects an operator with the transfer target', async () => {
  const w = await world(async function* () {
    yield give('sales')
  })
  await w.answers()
  await w.takesOver()
  const heard: number[] = []
  for (let i = 0; i < 20; i++) {
    w.says(3000)
    await w.line.silence(20)
    heard.push(w.second.sink!.pull(0)?.[80] ?? 0)
  }
  expect(heard.filter(level => level > 2500).length).toBeGreaterThan(10)
  expect(w.events.filter(({ type }) => type === 'monitor.joined')).toHaveLength(1)
})

it('dials no target after a takeover', async () => {
  const gate = Promise.withResolvers<void>()
  const w = await world(async function* () {
    yield { type: 'tool', id: 'm', name: 'take_message', arguments: { message: 'Call Anna.' } }
    await gate.promise
    yield give('sales')
  })
  await w.takesOver()
  gate.resolve()
  await w.line.silence(1000)
  expect(w.dials).toHaveLength(0)
})

it('starts one transfer for concurrent targets', async () => {
  const w = await world(async function* () {
    yield give('anybody')
    yield give('sales')
  })
  await w.line.silence(1000)
  expect(w.dials).toHaveLength(0)
  expect(w.events.filter(({ type }) => type === 'transfer.waiting')).toHaveLength(1)
  const refused = w.events.flatMap(event => (event.type === 'tool.finished' ? [event.tool.status] : []))
  expect(refused).toEqual(['failed'])
})
