/**
 * The answering side of the media benchmark, in a separate process: SIP calls with real RTP sessions. Callers hear an
 * echo, or hold a conversation with STT, TTS and language model that take no time, and the real VAD.
 */
import { randomUUID } from 'node:crypto'
import { systemClock } from '../../infra/adapters/clock.ts'
import { Conversation } from '../../media/agent/conversation.ts'
import { createSpeechClient, type SpeechClient } from '../../media/models/speech/client.ts'
import type { AudioFrame, Leg, LegSink } from '../../media/ports/leg.ts'
import type { Stt } from '../../media/ports/speech.ts'
import { plan } from '../fakes/plan.ts'
import { fakeLlm, fakeTts } from '../fakes/speech.ts'
import { quietLog } from '../support/world.ts'
import { serve } from './rpc.ts'
import { connectEdge, type EdgeOrder } from './sip-edge.ts'

/** Two seconds of speech: half of what is said in a call is the agent's. */
const REPLY = 'I see, let me look at that for you.'
/** One or two frames may wait between two 20 ms clocks; more adds delay. */
const MOST_WAITING = 3

const clock = systemClock
let speech: SpeechClient | null = null
/** Calls ended by the agent, by reason; none is expected. */
const hungUp: Record<string, number> = {}

/** Returns the received audio, as unchanged µ-law bytes. */
class Echo implements LegSink {
  #waiting: AudioFrame[] = []
  #last: AudioFrame | undefined

  push(frame: AudioFrame): void {
    this.#waiting.push(frame)
    if (this.#waiting.length > MOST_WAITING) this.#waiting.shift()
  }

  pull(): Int16Array | null {
    this.#last = this.#waiting.shift()
    return this.#last?.pcm ?? null
  }

  ulaw(): Uint8Array | null {
    return this.#last?.ulaw ?? null
  }

  dtmf(): void {}
}

const sttReady = (text: string): Stt => ({
  open: () => ({ push() {}, close() {}, transcribe: async () => ({ text, confidence: 1 }) }),
})

function converse(leg: Leg, speech: SpeechClient, heard: string): void {
  const conversation = new Conversation({
    plan: plan({ greeting: 'Hello.' }),
    sampleRate: leg.sampleRate,
    clock,
    log: quietLog,
    abilities: {},
    secrets: { tool_headers: {}, llm_api_key: null, vendor_keys: {} },
    vad: speech.vad,
    stt: sttReady(heard),
    tts: fakeTts(),
    llm: fakeLlm(() => [{ type: 'text', delta: REPLY }]),
    fetch: () => Promise.reject(new Error('no tool is there')),
    emit() {},
    onHangup: reason => {
      hungUp[reason] = (hungUp[reason] ?? 0) + 1
      void leg.hangup(reason)
    },
  })
  leg.attach(conversation)
  conversation.start()
  void leg.ended.then(() => conversation.stop())
}

const handlers = {
  /**
   * `talk`: the port of the speech process, and the text that scripted STT returns for any audio; without it, an echo.
   */
  async connect({ edge, talk }: { edge: EdgeOrder; talk: { port: number; heard: string } | null }): Promise<void> {
    if (talk) {
      speech = createSpeechClient({ host: '127.0.0.1', port: talk.port, clock, log: quietLog })
      await speech.ready
      if (!speech.sttReady()) throw new Error('Speech models are not installed')
    }
    await connectEdge(edge, async offer => {
      offer.admitted?.(randomUUID())
      const leg = await offer.answer()
      if (!leg) return
      if (talk) converse(leg, speech!, talk.heard)
      else leg.attach(new Echo())
    })
  },
  hungUp: () => hungUp,
}

export type MediaEngineHandlers = typeof handlers

serve(handlers)
