/** Calls with an operator and a transfer at once: the audio paths, and dials that are cancelled. */
import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { Call } from '../../../media/call/call.ts'
import type { CallEventBody } from '../../../media/contract/messages.ts'
import { createSealer } from '../../../media/contract/seal.ts'
import type { DialOptions, DialResult } from '../../../media/ports/dialer.ts'
import type { LlmEvent } from '../../../media/ports/llm.ts'
import type { MonitorRoomOptions } from '../../../media/ports/rooms.ts'
import { callDeps, fakeBus, fakeLeg, fakeOffer } from '../../fakes/call.ts'
import { FakeLine, fakeClock, settle } from '../../fakes/line.ts'
import { plan } from '../../fakes/plan.ts'
import { fakeLlm, fakeStt } from '../../fakes/speech.ts'

async function world(respond: () => AsyncIterable<LlmEvent>) {
  const [clock, sealer, callId] = [fakeClock(), createSealer('0123456789abcdef'), randomUUID()]
  const [caller, second] = [fakeLeg({ line: { trunkId: 't', number: '+12025550100', transfer: 'bridge' } }), fakeLeg()]
  const events: CallEventBody[] = []
  const dials: DialOptions[] = []
  const dialed = Promise.withResolvers<DialResult>()
  let room: MonitorRoomOptions | null = null
  const deps = callDeps({
    bus: fakeBus(event => events.push(event), { request: async () => ({ paid_ms: 600_000, granted: true }) as never }),
    sealer,
    clock,
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
    llmFor: () => ({ ...fakeLlm(() => []), respond }),
  })
  const offer = fakeOffer({ answer: async () => caller })
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
