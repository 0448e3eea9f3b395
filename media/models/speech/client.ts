/**
 * The engine's client of the speech process: VAD, STT and TTS over one connection, which is restored when it breaks.
 * Meanwhile calls continue: VAD falls back to energy; STT and TTS fail and report it.
 */
import { AudioHistory } from '../../audio/audio-history.ts'
import type { AudioFrame } from '../../ports/leg.ts'
import type { SpeechChunk, Stt, SttStream, Transcript, Tts, Vad, VadStream } from '../../ports/speech.ts'
import type { Clock } from '../../shared/clock.ts'
import { createEnergyVad } from '../energy-vad.ts'
import { SpeechConnection, type SpeechConnectionOptions } from './connection.ts'
import { createGate, type Gate } from './gate.ts'
import { MAX_TEXT, type SpeechAnswer } from './protocol.ts'

export interface SpeechClient {
  vad: Vad
  stt: Stt
  tts: Tts
  /** True when connected to a process with STT models. */
  sttReady(): boolean
  /** Resolves at the first `hello` message. */
  ready: Promise<void>
  close(): void
}

const STT_TIMEOUT_MS = 8000
/** Milliseconds between two chunks. A sentence that never ends would keep the agent from hanging up. */
const TTS_TIMEOUT_MS = 10_000
/** Shorter audio contains no word. */
const MIN_UTTERANCE_MS = 80

type VadOptions = Parameters<Vad['open']>[0]
type SttOptions = Parameters<Stt['open']>[0]
type SpeakOptions = Parameters<Tts['speak']>[0]

/** Connects at once, and again after each disconnect until `close`. */
export function createSpeechClient(options: SpeechConnectionOptions): SpeechClient {
  const { clock } = options
  const connection = new SpeechConnection(options)
  return {
    vad: { open: line => new RemoteVadStream(connection, line) },
    stt: { open: line => new RemoteSttStream(connection, clock, line) },
    tts: { speak: (spoken, signal) => new Synthesis(connection, clock, signal).chunks(spoken) },
    sttReady: () => connection.sttReady,
    ready: connection.ready,
    close: () => connection.close(),
  }
}

class RemoteVadStream implements VadStream {
  readonly #connection: SpeechConnection
  readonly #id: number
  readonly #energy: VadStream
  readonly #gate: Gate

  constructor(connection: SpeechConnection, { sampleRate, onVoice }: VadOptions) {
    const id = connection.newId()
    this.#connection = connection
    this.#id = id
    this.#energy = createEnergyVad().open({ sampleRate, onVoice })
    const gate = createGate({
      sampleRate,
      onVoice,
      send: (pcm, { atMs, fresh }, onset) =>
        void connection.send({ type: 'vad.sound', id, at_ms: atMs, fresh }, pcm, !onset),
    })
    this.#gate = gate
    connection.openDetector(id, { sampleRate, gate }, answer => {
      if (answer.type !== 'voice') return
      gate.answered({ probability: answer.probability, atMs: answer.at_ms, windowMs: answer.window_ms })
    })
  }

  push(frame: AudioFrame): void {
    if (this.#connection.sttReady && !this.#connection.stalled) this.#gate.push(frame)
    else this.#energy.push(frame)
  }

  close(): void {
    this.#connection.send({ type: 'vad.close', id: this.#id })
    this.#connection.forget(this.#id)
  }
}

class RemoteSttStream implements SttStream {
  readonly #connection: SpeechConnection
  readonly #clock: Clock
  readonly #options: SttOptions
  readonly #history = new AudioHistory()
  readonly #line: number

  constructor(connection: SpeechConnection, clock: Clock, options: SttOptions) {
    this.#connection = connection
    this.#line = connection.newId()
    this.#clock = clock
    this.#options = options
  }

  push(frame: AudioFrame): void {
    this.#history.push(frame)
  }

  close(): void {}

  transcribe(fromMs: number, toMs: number, signal: AbortSignal): Promise<Transcript> {
    const pcm = this.#history.slice(fromMs, toMs)
    if (pcm.length < (this.#options.sampleRate / 1000) * MIN_UTTERANCE_MS) {
      return Promise.resolve({ text: '', confidence: null })
    }
    return this.#request(pcm, signal)
  }

  #request(pcm: Int16Array, signal: AbortSignal): Promise<Transcript> {
    const { sampleRate, language } = this.#options
    const connection = this.#connection
    const id = connection.newId()
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        cancelTimeout()
        connection.forget(id)
        signal.removeEventListener('abort', abort)
        settle()
      }
      const fail = (why: string) => finish(() => reject(new Error(why)))
      // Cancel abandoned requests, since all calls share one queue.
      const giveUp = (why: string) => {
        connection.send({ type: 'cancel', id })
        fail(why)
      }
      const abort = () => giveUp('transcription aborted')
      const cancelTimeout = this.#clock.after(STT_TIMEOUT_MS, () => giveUp('transcription timed out'))
      signal.addEventListener('abort', abort)
      connection.handle(id, answer => {
        if (answer.type === 'text') finish(() => resolve({ text: answer.text, confidence: null }))
        else if (answer.type === 'failed') fail(`transcription failed: ${answer.reason}`)
      })
      const sent = connection.send({ type: 'stt', id, line: this.#line, sample_rate: sampleRate, language }, pcm)
      if (!sent) fail('the speech process is not connected')
    })
  }
}

/** Receives one text's audio from the speech process. */
class Synthesis {
  readonly #connection: SpeechConnection
  readonly #clock: Clock
  readonly #signal: AbortSignal
  readonly #id: number
  readonly #received: SpeechChunk[] = []
  #done = false
  #failure: string | null = null
  #wake = () => {}

  constructor(connection: SpeechConnection, clock: Clock, signal: AbortSignal) {
    this.#connection = connection
    this.#clock = clock
    this.#signal = signal
    this.#id = connection.newId()
  }

  async *chunks({ text, voice, language }: SpeakOptions): AsyncIterable<SpeechChunk> {
    const id = this.#id
    this.#connection.handle(id, (answer, pcm) => this.#receive(answer, pcm))
    const abort = () => this.#wake()
    this.#signal.addEventListener('abort', abort)
    try {
      // The process closes the connection, which all calls share, on a longer text.
      const ask = { type: 'tts' as const, id, text: text.slice(0, MAX_TEXT), voice, language }
      if (!this.#connection.send(ask)) throw new Error('the speech process is not connected')
      for (;;) {
        if (this.#signal.aborted) {
          this.#cancel()
          return
        }
        const chunk = this.#received.shift()
        if (chunk) yield chunk
        else if (this.#done) return
        else if (this.#failure) throw new Error(`speech synthesis failed: ${this.#failure}`)
        else await this.#nextAnswer()
      }
    } finally {
      this.#signal.removeEventListener('abort', abort)
      this.#connection.forget(id)
    }
  }

  #receive(answer: SpeechAnswer, pcm: Int16Array): void {
    if (answer.type === 'sound') this.#received.push({ pcm, sampleRate: answer.sample_rate })
    else if (answer.type === 'done') this.#done = true
    else if (answer.type === 'failed') this.#failure = answer.reason
    this.#wake()
  }

  /** Resolves at the next answer, at an abort, or after `TTS_TIMEOUT_MS`, which counts as a failure. */
  async #nextAnswer(): Promise<void> {
    const cancelTimeout = this.#clock.after(TTS_TIMEOUT_MS, () => {
      this.#cancel()
      this.#failure = 'no audio in time'
      this.#wake()
    })
    await new Promise<void>(resolve => (this.#wake = resolve))
    cancelTimeout()
  }

  #cancel(): void {
    this.#connection.send({ type: 'cancel', id: this.#id })
  }
}
