/**
 * The agents' side of the rooms benchmark, in a separate process: a bare echo of @livekit/rtc-node, or our own legs,
 * with a tone agent or with the real conversation.
 */
import {
  AudioSource,
  AudioStream,
  LocalAudioTrack,
  Room,
  RoomEvent,
  TrackPublishOptions,
  TrackSource,
} from '@livekit/rtc-node'
import { systemClock } from '../../infra/adapters/clock.ts'
import { goFirst } from '../../infra/adapters/priority.ts'
import { Conversation } from '../../media/agent/conversation.ts'
import { rms } from '../../media/audio/frames.ts'
import { createSpeechClient, type SpeechClient } from '../../media/models/speech/client.ts'
import type { Leg, LegSink } from '../../media/ports/leg.ts'
import { createRooms, warmUp } from '../../media/room/rooms.ts'
import { createPacer } from '../../media/rtp/pacer.ts'
import { plan } from '../fakes/plan.ts'
import { fakeLlm, fakeTts } from '../fakes/speech.ts'
import { quietLog } from '../support/world.ts'
import { serve } from './rpc.ts'
import { HEARD } from './talk-peers/heard.ts'

/** `short`: a conversation of few words. */
export type RoomAgent = 'tone' | 'conversation' | 'short'

interface Seat {
  url: string
  token: string
  room: string
  caller: string
}

const RATE = 48_000
const LOUD = 800
const TONE_FRAMES = 15
const QUIET_FRAMES = 10
const LONG = 'This answer goes on for much longer than anybody who has something to say would ever listen to it.'

const clock = systemClock
const rooms = createRooms({ clock, pacer: createPacer(clock), log: quietLog })
const legs = new Map<number, { leg: Leg; stop(): void }>()
const echoes = new Map<number, Room>()
let late: number[] = []
let speech: SpeechClient

const tone = Int16Array.from({ length: RATE / 50 }, (_, i) => 9000 * Math.sin((2 * Math.PI * 450 * i) / RATE))

/** Answers a burst with its own burst from the next frame on, as a model without latency would. */
function toneAgent(): LegSink {
  let quiet = 0
  let left = 0
  return {
    pull: () => (left-- > 0 ? tone : null),
    push({ pcm }) {
      const loud = rms(pcm) > LOUD
      if (loud && quiet >= QUIET_FRAMES) left = TONE_FRAMES
      quiet = loud ? 0 : quiet + 1
    },
    dtmf() {},
  }
}

/** Records how late each frame is requested. */
const timed = (sink: LegSink): LegSink => ({
  pull(dueMs) {
    late.push(clock.now() - dueMs)
    return sink.pull(dueMs)
  },
  push: frame => sink.push(frame),
  dtmf: digit => sink.dtmf(digit),
})

function talk(sampleRate: number, call: ReturnType<typeof plan>, answer: string): Conversation {
  return new Conversation({
    plan: call,
    secrets: { tool_headers: {}, llm_api_key: null, vendor_keys: {} },
    sampleRate,
    clock,
    log: quietLog,
    vad: speech.vad,
    stt: {
      open: () => ({
        push() {},
        close() {},
        transcribe: async () => ({ text: HEARD, confidence: 1 }),
      }),
    },
    tts: fakeTts(),
    llm: fakeLlm(() => [{ type: 'text', delta: answer }]),
    fetch: () => Promise.reject(new Error('not here')),
    abilities: {},
    emit() {},
    onHangup() {},
  })
}

const handlers = {
  async connect({ port }: { port: number }): Promise<void> {
    speech = createSpeechClient({ host: '127.0.0.1', port, clock, log: quietLog })
    await speech.ready
    await warmUp()
    goFirst(quietLog) // as infra/bin/engine.ts does
    if (!speech.sttReady()) throw new Error('Speech models are not installed')
  },
  async open({ id, seat, agent }: { id: number; seat: Seat; agent: RoomAgent }): Promise<void> {
    const { url, token, room, caller } = seat
    const call = plan({
      direction: 'web',
      trunk_id: null,
      greeting: agent === 'short' ? 'Hello.' : LONG,
      room: { url, name: room, sealed: '', caller },
    })
    const result = await rooms.join({ plan: call, token, signal: new AbortController().signal })
    if (!result.ok) throw new Error(`no leg: ${result.failure.reason}`)
    const answer = agent === 'short' ? 'I see.' : LONG
    const conversation = agent === 'tone' ? null : talk(result.leg.sampleRate, call, answer)
    legs.set(id, { leg: result.leg, stop: () => conversation?.stop() })
    result.leg.attach(timed(conversation ?? toneAgent()))
    conversation?.start()
  },
  async close({ id }: { id: number }): Promise<void> {
    const { leg, stop } = legs.get(id)!
    stop()
    await leg.hangup('agent_hangup')
    legs.delete(id)
  },
  /** Written as in their examples. */
  async echo({ id, seat }: { id: number; seat: Seat }): Promise<void> {
    const room = new Room()
    const source = new AudioSource(RATE, 1)
    room.on(RoomEvent.TrackSubscribed, async track => {
      for await (const frame of new AudioStream(track, RATE, 1)) await source.captureFrame(frame)
    })
    await room.connect(seat.url, seat.token)
    const track = LocalAudioTrack.createAudioTrack('echo', source)
    await room.localParticipant!.publishTrack(track, new TrackPublishOptions({ source: TrackSource.SOURCE_MICROPHONE }))
    echoes.set(id, room)
  },
  async stopEcho({ id }: { id: number }): Promise<void> {
    await echoes.get(id)!.disconnect()
    echoes.delete(id)
  },
  /** Lateness since the last query, in ms. */
  lateness(): number[] {
    const told = late
    late = []
    return told
  },
}
export type RoomEngineHandlers = typeof handlers
serve(handlers)
