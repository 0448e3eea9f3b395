/** The audio of an operator who took over reaches all parties that the caller is connected to. */
import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { Monitors } from '../../../media/call/monitors.ts'
import { createSealer } from '../../../media/contract/seal.ts'
import { createEnergyVad } from '../../../media/models/energy-vad.ts'
import type { MonitorRoomOptions } from '../../../media/ports/rooms.ts'
import { fakeClock, settle } from '../../fakes/line.ts'
import { fakeStt } from '../../fakes/speech.ts'
import { quietLog } from '../../support/world.ts'

it('sends operator audio by frame during the takeover only', async () => {
  const callId = randomUUID()
  const clock = fakeClock()
  const sealer = createSealer('0123456789abcdef')
  const spoken: number[] = []
  let room: MonitorRoomOptions | null = null
  const monitors = new Monitors({
    callId,
    language: 'en',
    sampleRate: 8000,
    sealer,
    clock,
    log: quietLog,
    vad: createEnergyVad(),
    stt: fakeStt([]),
    emit() {},
    talk: { stepAside: () => true, stepIn() {}, operatorSaid() {}, instruct() {} },
    rooms: {
      join: () => Promise.reject(new Error('not asked for')),
      async openMonitor(options) {
        room = options
        return { identities: () => ['anna', 'ben'], play() {}, async close() {} }
      },
    },
    onSpoken: pcm => spoken.push(pcm[0]!),
  })
  const sealed = sealer.seal({ token: 'a seat' }, callId)
  for (const [identity, mode] of [
    ['anna', 'takeover'],
    ['ben', 'listen'],
  ] as const) {
    const to = { monitor_id: randomUUID(), mode, identity, room: { url: 'ws://somewhere', name: 'call', sealed } }
    monitors.admit({ type: 'call.monitor', call_id: callId, ...to })
  }
  await settle()
  const sink = monitors.sink({ pull: () => null, push() {}, dtmf() {} })
  const says = (identity: string, level: number) =>
    room!.onSound(identity, { pcm: new Int16Array(160).fill(level), atMs: clock.now(), concealed: false })
  says('anna', 300)
  says('ben', 900)
  expect([sink.pull(0)?.[0], sink.pull(20)]).toEqual([300, null])
  expect(spoken).toEqual([300])
  await monitors.close()
})
