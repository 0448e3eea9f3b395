/** Operators of a real call in a real LiveKit room: with a leg at phone rate, and with a leg that is a room itself. */
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { Conversation } from '../../../media/agent/conversation.ts'
import { Monitors } from '../../../media/call/monitors.ts'
import type { CallEventBody, MonitorMode } from '../../../media/contract/messages.ts'
import { createSealer } from '../../../media/contract/seal.ts'
import { createEnergyVad } from '../../../media/models/energy-vad.ts'
import type { LegSink } from '../../../media/ports/leg.ts'
import { createRooms } from '../../../media/room/rooms.ts'
import { createPacer } from '../../../media/rtp/pacer.ts'
import { FetchError } from '../../../media/shared/fetch.ts'
import { text } from '../../fakes/conversation.ts'
import { plan } from '../../fakes/plan.ts'
import { fakeLlm, fakeStt } from '../../fakes/speech.ts'
import { livekitBinary, startTestLiveKit, type TestLiveKit } from '../../support/livekit.ts'
import { joinRoom, type RoomPeer } from '../../support/room-peer.ts'
import { quietLog, until } from '../../support/world.ts'
import { endlessTone, isTone, joinCaller, joinLeg, newRoom, present, tone } from '../room/rig.ts'

let livekit: TestLiveKit
beforeAll(async () => {
  if (livekitBinary) livekit = await startTestLiveKit()
})
const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})
afterAll(() => livekit?.stop())

const pacer = createPacer(systemClock)

/** Says a long sentence as a tone, so that it is known again. */
const toneVoice = (rate: number) => {
  const next = endlessTone(500)
  return {
    async *speak({ text: words }: { text: string }) {
      for (let i = 0; i < words.length * 3; i++) {
        const wide = next()
        yield { pcm: wide.filter((_, at) => at % (48_000 / rate) === 0), sampleRate: rate }
      }
    },
  }
}

function openCall(sampleRate: number, says: string[], operatorSays: string[]) {
  const events: CallEventBody[] = []
  const emit = (event: CallEventBody) => events.push(event)
  const llm = fakeLlm(() => [text('I will tell you all about that in a moment, since it is a long story.')])
  const conversation = new Conversation({
    plan: plan({ direction: 'in', greeting: 'Hi.' }),
    secrets: { tool_headers: {}, llm_api_key: null, vendor_keys: {} },
    sampleRate,
    clock: systemClock,
    log: quietLog,
    vad: createEnergyVad(),
    stt: fakeStt(says),
    tts: sampleRate === 8000 ? toneVoice(8000) : toneVoice(48_000),
    llm,
    fetch: () => Promise.reject(new FetchError('network', 'none')),
    abilities: {},
    emit,
    onHangup: () => {},
  })
  const callId = randomUUID()
  const sealer = createSealer('0123456789abcdef')
  const monitors = new Monitors({
    callId,
    language: 'en',
    sampleRate,
    rooms: createRooms({ clock: systemClock, pacer, log: quietLog }),
    sealer,
    clock: systemClock,
    log: quietLog,
    vad: createEnergyVad(),
    stt: fakeStt(operatorSays),
    talk: conversation,
    emit,
  })
  const name = newRoom()
  const monitorId = randomUUID()
  closers.push(async () => {
    conversation.stop()
    await monitors.close()
  })
  return {
    conversation,
    monitors,
    llm,
    events,
    room: name,
    types: () => events.flatMap(({ type }) => (type.startsWith('monitor') ? [type] : [])),
    said: () => conversation.transcript.turns.map(turn => [turn.role, turn.text]),
    async admit(mode: MonitorMode) {
      const sealed = sealer.seal({ token: await livekit.token({ room: name, identity: 'engine' }) }, callId)
      const room = { url: livekit.url, name, sealed }
      monitors.admit({
        type: 'call.monitor',
        call_id: callId,
        monitor_id: monitorId,
        mode,
        room,
        identity: 'operator',
      })
    },
    /** With the right to listen only, or more. */
    async enter(publish: boolean) {
      const grant = { canPublish: publish, canPublishData: publish }
      const token = await livekit.token({ room: name, identity: 'operator', grant })
      const peer = await joinRoom(livekit.url, token, { microphone: publish })
      closers.push(() => peer.leave())
      return peer
    },
  }
}
type OpenCall = ReturnType<typeof openCall>

type Sound = (() => Int16Array) | null

/** A telephone: frames of 20 ms at 8 kHz, at their pace. */
function telephone(sink: LegSink) {
  const heard: Int16Array[] = []
  let next: Sound = null
  closers.push(
    pacer.add(dueMs => {
      const pcm = next?.().filter((_, at) => at % 6 === 0) ?? new Int16Array(160)
      sink.push({ pcm, atMs: systemClock.now(), concealed: false })
      heard.push(sink.pull(dueMs) ?? new Int16Array(160))
    }),
  )
  return { heard: () => heard, say: (sound: Sound) => (next = sound), rate: 8000 }
}

/** A caller in a room of his own. */
async function browser(sink: LegSink) {
  const room = newRoom()
  const caller = await joinCaller(livekit, room)
  const leg = await joinLeg(livekit, room)
  leg.attach(sink)
  const microphone = { sound: null as Sound, on: true }
  const run = (async () => {
    while (microphone.on) {
      const frame = microphone.sound?.()
      if (frame) await caller.say(frame)
      else await new Promise(resolve => setTimeout(resolve, 10))
    }
  })()
  closers.push(async () => {
    microphone.on = false
    await run
    await leg.hangup('api_hangup')
    await caller.leave()
  })
  const heard = () => caller.heard.map(({ samples }) => samples)
  return { heard, say: (sound: Sound) => (microphone.sound = sound), rate: 48_000 }
}
type TrunkLine = ReturnType<typeof telephone>

const hearsTone = (peer: RoomPeer, hz: number, from = 0) =>
  until(() => peer.heard.slice(from).some(({ samples }) => isTone(samples, hz)), `${hz} Hz to be heard`)
const isHeard = ({ heard, rate }: TrunkLine, hz: number, from = 0) =>
  heard()
    .slice(from)
    .some(pcm => isTone(pcm, hz, rate))

async function walk(call: OpenCall, line: TrunkLine) {
  const { conversation } = call
  conversation.start()
  await until(() => call.said().length === 1, 'the greeting')

  await call.admit('listen')
  const listener = await call.enter(false)
  await until(() => call.types().length === 1, 'the operator to be there')
  line.say(endlessTone(1000))
  await hearsTone(listener, 1000)
  line.say(null)
  await hearsTone(listener, 500) // the agent's answer
  await until(() => conversation.transcript.turns.length === 3, 'the answer to end', 15_000)

  await call.admit('whisper')
  await listener.leave()
  const operator = await call.enter(true)
  await until(() => call.types().at(-1) === 'monitor.joined', 'the operator to be back')
  const quiet = line.heard().length
  await operator.say(tone(1000, 700))
  await until(() => call.types().includes('monitor.whispered'), 'the whisper')
  await operator.room.localParticipant!.sendText('And be brief.', { topic: 'lk.chat' })
  await until(() => call.types().filter(type => type === 'monitor.whispered').length === 2, 'the typed one')
  expect(isHeard(line, 700, quiet)).toBe(false)

  line.say(endlessTone(1000))
  await hearsTone(operator, 1000)
  line.say(null)
  await until(() => isHeard(line, 500, quiet), 'the agent')
  expect(call.llm.requests.at(-1)!.system).toContain('Offer ten percent.\nAnd be brief.')
  await call.admit('takeover')
  const taken = line.heard().length
  const [own, heardBefore] = [operator.say(tone(2000, 700)), operator.heard.length]
  await until(() => isHeard(line, 700, taken), 'the operator')
  await own
  // 400 ms are more than any buffer holds of the agent.
  expect(isHeard(line, 500, taken + 20)).toBe(false)
  expect(operator.heard.slice(heardBefore).some(({ samples }) => isTone(samples, 700))).toBe(false)
  await until(() => call.said().at(-1)?.[0] === 'operator', 'the words of the operator')
  const asked = call.llm.requests.length
  const speaks = operator.heard.length
  line.say(endlessTone(1000))
  await hearsTone(operator, 1000, speaks)
  line.say(null)
  await until(() => call.said().at(-1)?.[0] === 'caller', "the caller's words")
  expect(call.llm.requests.length).toBe(asked)

  await operator.leave()
  await until(() => call.types().at(-1) === 'monitor.left', 'the operator to leave')
  const back = line.heard().length
  line.say(endlessTone(1000))
  await new Promise(resolve => setTimeout(resolve, 700)) // he speaks so long
  line.say(null)
  await until(() => isHeard(line, 500, back), 'the agent again')
  expect(call.said().map(([role]) => role)).toEqual([
    'agent',
    'caller',
    'agent',
    'caller',
    'agent',
    'operator',
    'caller',
    'caller',
  ])
  expect(call.said().find(([role]) => role === 'operator')).toEqual(['operator', 'Anna here.'])
  conversation.stop()
  await call.monitors.close()
  await until(async () => !(await present(livekit, call.room).catch(() => [''])).includes('engine'), 'us to leave')
}

const SAYS = ['First.', 'Second.', 'Third.', 'Fourth.']
const OPERATOR_SAYS = ['Offer ten percent.', 'Anna here.']

describe.skipIf(!livekitBinary)('an operator listens, whispers, takes over and hands back', () => {
  it('a call of a telephone', async () => {
    const call = openCall(8000, SAYS, OPERATOR_SAYS)
    await walk(call, telephone(call.monitors.sink(call.conversation)))
  }, 180_000)

  it('a call of a browser', async () => {
    const call = openCall(48_000, SAYS, OPERATOR_SAYS)
    await walk(call, await browser(call.monitors.sink(call.conversation)))
  }, 180_000)

  it('and has it taken away with the room', async () => {
    const call = openCall(8000, SAYS, OPERATOR_SAYS)
    const line = telephone(call.monitors.sink(call.conversation))
    call.conversation.start()
    await call.admit('takeover')
    const operator = await call.enter(true)
    await until(() => call.types().at(-1) === 'monitor.joined', 'the operator to be there')
    const taken = line.heard().length
    const said = operator.say(tone(1000, 700))
    await until(() => isHeard(line, 700, taken), 'the operator')
    await said
    await livekit.kill()
    await until(() => call.types().at(-1) === 'monitor.left', 'the room to be lost', 15_000)
    line.say(endlessTone(1000))
    await new Promise(resolve => setTimeout(resolve, 700))
    line.say(null)
    const lost = line.heard().length
    await until(() => isHeard(line, 500, lost), 'the agent again')
    await livekit.restart()
  }, 180_000)
})
