/**
 * LiveKit Agents as a peer of the conversation benchmark: agents in rooms, with STT, TTS and language model that take
 * no time. Runs in the cache, next to its packages. Arguments: the bench's `rpc.ts`, `shortest` or `stock`.
 */
import { initializeLogger, LLM, LLMStream, stt, tts, VAD, VADEventType, VADStream, voice } from '@livekit/agents'
import { AudioFrame, Room } from '@livekit/rtc-node'

const { serve } = await import(process.argv[2])
const kind = process.argv[3]

const RATE = 24_000
/** Milliseconds per character, as in our agent. */
const LETTER_MS = 60
const TEXTS = {
  short: { greeting: 'Hello.', answer: 'I see.' },
  long: {
    greeting: 'This greeting goes on for much longer than anybody who has something to say would ever listen to it.',
    answer: 'This answer goes on for much longer than anybody who has something to say would ever listen to it.',
  },
}
/** Sample level between room noise and the quietest voice. */
const LOUD = 300
const ONSET_MS = 40
const SILENCE_MS = 200
/** Milliseconds; shorter than any detector's silence, so that each detected utterance has words. */
const BREATH_MS = 100
const WORD_MS = 120

initializeLogger({ pretty: false, level: process.env.PEER_LOG ?? 'error' })

const isLoud = ({ data }) => data.reduce((sum, sample) => sum + sample * sample, 0) / data.length > LOUD * LOUD
const msOf = ({ samplesPerChannel, sampleRate }) => (samplesPerChannel / sampleRate) * 1000

/** Returns all words before the first of them has ended. */
class TestStt extends stt.STT {
  label = 'stt'
  constructor() {
    super({ streaming: true, interimResults: false })
  }
  _recognize() {
    throw new Error('asked by stream')
  }
  stream(options) {
    return new Hearing(this, RATE, options?.connOptions)
  }
}

class Hearing extends stt.SpeechStream {
  label = 'stt'
  async run() {
    let [loudMs, quietMs, isKnown] = [0, 0, false]
    for await (const frame of this.input) {
      if (typeof frame === 'symbol') continue
      const loud = isLoud(frame)
      quietMs = loud ? 0 : quietMs + msOf(frame)
      loudMs += loud ? msOf(frame) : 0
      if (quietMs >= BREATH_MS) [loudMs, isKnown] = [0, false]
      // Words before the detector has found speech would be a turn of their own.
      if (loudMs >= WORD_MS && !isKnown) {
        isKnown = true
        const words = { language: 'en', text: 'Please tell me more.', startTime: 0, endTime: 0, confidence: 1 }
        this.queue.put({ type: stt.SpeechEventType.FINAL_TRANSCRIPT, alternatives: [words] })
      }
    }
  }
}

class TestLlm extends LLM {
  constructor(text) {
    super()
    this.text = text
  }
  label() {
    return 'llm'
  }
  chat(request) {
    return new Thought(this, request)
  }
}

class Thought extends LLMStream {
  constructor(llm, { chatCtx, toolCtx, connOptions }) {
    super(llm, {
      chatCtx,
      toolCtx,
      connOptions: connOptions ?? { maxRetry: 0, retryIntervalMs: 0, timeoutMs: 10_000 },
    })
    this.text = llm.text
  }
  async run() {
    this.queue.put({ id: 'thought', delta: { role: 'assistant', content: this.text } })
  }
}

class Voice extends tts.TTS {
  label = 'voice'
  constructor() {
    super(RATE, 1, { streaming: true })
  }
  synthesize() {
    throw new Error('asked by stream')
  }
  stream(options) {
    return new Speech(this, options?.connOptions)
  }
}

class Speech extends tts.SynthesizeStream {
  label = 'voice'
  async run() {
    let sequence = 0
    for await (const text of this.input) {
      if (typeof text === 'symbol') continue
      const left = { samples: (RATE / 1000) * LETTER_MS * text.length }
      for (; left.samples > 0; left.samples -= RATE / 10) {
        const pcm = new Int16Array(Math.min(left.samples, RATE / 10)).map((_, i) => (i % 24 < 12 ? 6000 : -6000))
        const frame = new AudioFrame(pcm, RATE, 1, pcm.length)
        this.queue.put({ requestId: 'speech', segmentId: `speech-${sequence}`, frame, final: false })
      }
      sequence++
    }
    this.queue.put(tts.SynthesizeStream.END_OF_STREAM)
  }
}

/** A detector without latency. */
class Loudness extends VAD {
  label = 'loudness'
  constructor() {
    super({ updateInterval: 20 })
  }
  get minSilenceDuration() {
    return SILENCE_MS
  }
  stream() {
    return new Listening(this)
  }
}

class Listening extends VADStream {
  constructor(vad) {
    super(vad)
    this.listen()
  }
  async listen() {
    let [speaking, loudMs, quietMs, spokenMs, atMs] = [false, 0, 0, 0, 0]
    for (;;) {
      const { done, value: frame } = await this.inputReader.read()
      if (done) return
      if (typeof frame === 'symbol') continue
      const ms = msOf(frame)
      atMs += ms
      loudMs = isLoud(frame) ? loudMs + ms : 0
      quietMs = isLoud(frame) ? 0 : quietMs + ms
      spokenMs += speaking ? ms : 0
      const report = type =>
        this.sendVADEvent({
          type,
          frames: [frame],
          speaking,
          timestamp: atMs,
          samplesIndex: (atMs * RATE) / 1000,
          speechDuration: spokenMs,
          silenceDuration: quietMs,
          probability: loudMs > 0 ? 1 : 0,
          inferenceDuration: 0,
          rawAccumulatedSilence: quietMs,
          rawAccumulatedSpeech: loudMs,
        })
      report(VADEventType.INFERENCE_DONE)
      if (!speaking && loudMs >= ONSET_MS) {
        ;[speaking, spokenMs] = [true, loudMs]
        report(VADEventType.START_OF_SPEECH)
      } else if (speaking && quietMs >= SILENCE_MS) {
        speaking = false
        report(VADEventType.END_OF_SPEECH)
        spokenMs = 0
      }
    }
  }
}

/** Its turn detector needs the process that a worker starts for it. */
async function startInference() {
  const at = file => new URL(file, import.meta.resolve('@livekit/agents')).href
  const { InferenceProcExecutor } = await import(at('./ipc/inference_proc_executor.js'))
  const executor = new InferenceProcExecutor({
    runners: { lk_eot_audio: at('./inference/eot/runner.js') },
    initializeTimeout: 60_000,
    closeTimeout: 5000,
    memoryWarnMB: 2000,
    memoryLimitMB: 0,
    pingInterval: 5000,
    pingTimeout: 60_000,
    highPingThreshold: 2500,
  })
  await executor.start()
  await executor.initialize()
  return executor
}

const inference = kind === 'stock' ? await startInference() : null
const { inference: models } = await import('@livekit/agents')

function settings() {
  // The pause for echo cancellation is meant for loudspeakers; their own phone calls do not use it either.
  if (kind === 'stock') {
    const turnDetection = new models.TurnDetector({ version: 'v1-mini', executor: inference })
    return { aecWarmupDuration: null, turnHandling: { turnDetection } }
  }
  const turnHandling = {
    turnDetection: 'vad',
    endpointing: { mode: 'fixed', minDelay: 0, maxDelay: 0 },
    // At 0, silence would count as an interruption too.
    interruption: { mode: 'vad', minDuration: ONSET_MS },
    preemptiveGeneration: { enabled: true, preemptiveTts: true },
  }
  return { aecWarmupDuration: null, vad: new Loudness(), turnHandling }
}

const sessions = new Map()

serve({
  async open({ id, url, token, caller, length }) {
    const room = new Room()
    await room.connect(url, token, { autoSubscribe: true, dynacast: false })
    const { greeting, answer } = TEXTS[length]
    const session = new voice.AgentSession({
      stt: new TestStt(),
      llm: new TestLlm(answer),
      tts: new Voice(),
      ...settings(),
      userAwayTimeout: null,
      ttsTextTransforms: null,
    })
    sessions.set(id, { room, session })
    await session.start({
      agent: new voice.Agent({ instructions: 'None.' }),
      room,
      inputOptions: { participantIdentity: caller, closeOnDisconnect: false },
      outputOptions: { transcriptionEnabled: false },
      record: false,
    })
    session.say(greeting)
  },
  async close({ id }) {
    const { room, session } = sessions.get(id)
    sessions.delete(id)
    await session.close()
    await room.disconnect()
  },
  async end() {
    await inference?.close()
  },
})
