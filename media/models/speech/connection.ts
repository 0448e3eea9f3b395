/** The TCP connection of `SpeechClient`: reconnects, routes answers by id, and bundles VAD audio into fewer writes. */
import { connect, type Socket } from 'node:net'
import type { Clock } from '../../shared/clock.ts'
import type { Log } from '../../shared/log.ts'
import type { Gate } from './gate.ts'
import { createDecoder, encodeFrame, SpeechAnswer, type SpeechRequest } from './protocol.ts'

const RECONNECT_MS = 500
/**
 * Limit of unsent data: some seconds of many calls. Beyond it the process is stalled, and the data would fill memory.
 */
const MOST_UNREAD_BYTES = 4 * 1024 * 1024
/**
 * Shortest interval in ms between writes of VAD audio: a write, a wake-up and a model run per frame would cost more
 * than the frames themselves. The end of a turn is measured in arrival time and is not delayed by it. An onset is sent
 * at once, since the agent may have to stop speaking for it; so is the audio when only one call is active.
 */
const SOUND_EVERY_MS = 20

type Handler = (answer: SpeechAnswer, pcm: Int16Array) => void

interface Detector {
  sampleRate: number
  gate: Gate
}

export interface SpeechConnectionOptions {
  host: string
  port: number
  clock: Clock
  log: Log
}

export class SpeechConnection {
  readonly #options: SpeechConnectionOptions
  /** Resolves at the first `hello` message. */
  readonly ready: Promise<void>
  readonly #handlers = new Map<number, Handler>()
  /** VAD sessions to open again after a reconnect. */
  readonly #detectors = new Map<number, Detector>()
  #socket: Socket | null = null
  #abilities: { stt_languages: string[]; tts_languages: string[] } | null = null
  #lastId = 0
  #closed = false
  #cancelReconnect = () => {}
  #firstHello = () => {}
  #corked = false
  /** Time of the last write of VAD audio. */
  #leftMs = Number.NEGATIVE_INFINITY

  constructor(options: SpeechConnectionOptions) {
    this.#options = options
    this.ready = new Promise<void>(resolve => (this.#firstHello = resolve))
    this.#open()
  }

  /** True when connected to a process with STT models. */
  get sttReady(): boolean {
    return (this.#abilities?.stt_languages.length ?? 0) > 0
  }

  /** True while more than `MOST_UNREAD_BYTES` are unsent. */
  get stalled(): boolean {
    return (this.#socket?.writableLength ?? 0) >= MOST_UNREAD_BYTES
  }

  newId(): number {
    return ++this.#lastId
  }

  /** Handles the answers to a request until `forget`. A disconnect answers with `failed`. */
  handle(id: number, handler: Handler): void {
    this.#handlers.set(id, handler)
  }

  /** Opens a VAD session, and opens it again after each reconnect until `forget`. */
  openDetector(id: number, detector: Detector, handler: Handler): void {
    this.#detectors.set(id, detector)
    this.#handlers.set(id, handler)
    this.send({ type: 'vad.open', id, sample_rate: detector.sampleRate })
  }

  forget(id: number): void {
    this.#handlers.delete(id)
    this.#detectors.delete(id)
  }

  /** Sends a request; false when there is no connection. `mayWait`: it can wait for the next write. */
  send(ask: SpeechRequest, pcm?: Int16Array, mayWait = false): boolean {
    if (!this.#socket || !this.#abilities) return false
    if (mayWait) this.#cork(this.#socket)
    this.#socket.write(encodeFrame(ask, pcm))
    if (!mayWait) this.#flush(this.#socket)
    return true
  }

  close(): void {
    this.#closed = true
    this.#cancelReconnect()
    this.#socket?.destroy()
  }

  #open(): void {
    const { host, port, log } = this.#options
    const attempt = connect(port, host)
    attempt.setNoDelay(true)
    const decode = createDecoder(SpeechAnswer)
    attempt.on('connect', () => (this.#socket = attempt))
    attempt.on('data', data => {
      try {
        for (const { head, pcm } of decode(data)) this.#receive(head, pcm)
      } catch (error) {
        log.error({ err: error }, 'speech process sent an invalid message')
        attempt.destroy()
      }
    })
    attempt.on('error', () => {}) // `close` follows
    attempt.on('close', () => {
      if (this.#socket === attempt) this.#disconnected()
      if (!this.#closed) this.#cancelReconnect = this.#options.clock.after(RECONNECT_MS, () => this.#open())
    })
  }

  #disconnected(): void {
    this.#socket = null
    this.#abilities = null
    this.#corked = false
    if (!this.#closed) this.#options.log.warn({}, 'speech process disconnected')
    for (const [id, handler] of [...this.#handlers]) {
      if (!this.#detectors.has(id)) handler({ type: 'failed', id, reason: 'internal' }, new Int16Array(0))
    }
  }

  #receive(answer: SpeechAnswer, pcm: Int16Array): void {
    if (answer.type !== 'hello') {
      this.#handlers.get(answer.id)?.(answer, pcm)
      return
    }
    this.#abilities = { stt_languages: answer.stt_languages, tts_languages: answer.tts_languages }
    for (const [id, { sampleRate, gate }] of this.#detectors) {
      gate.reset()
      this.send({ type: 'vad.open', id, sample_rate: sampleRate })
    }
    this.#firstHello()
  }

  #cork(to: Socket): void {
    if (this.#corked) return
    const { clock } = this.#options
    const nowMs = clock.now()
    if (this.#detectors.size < 2 || nowMs - this.#leftMs >= SOUND_EVERY_MS) {
      this.#leftMs = nowMs
      return
    }
    this.#corked = true
    to.cork()
    clock.after(this.#leftMs + SOUND_EVERY_MS - nowMs, () => this.#flush(to))
  }

  #flush(to: Socket): void {
    if (!this.#corked || to !== this.#socket) return
    this.#corked = false
    this.#leftMs = this.#options.clock.now()
    to.uncork()
  }
}
