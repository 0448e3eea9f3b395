/**
 * Deepgram live transcription: one WebSocket per call receives all of the caller's audio and returns words with their
 * times; `Finalize` flushes the last ones when the conversation requests an utterance.
 *
 * Sources on developers.deepgram.com: reference/speech-to-text/listen-streaming (parameters, `Results`), docs/finalize,
 * docs/audio-keep-alive (a text frame every 3–5 s, or NET-0001 after 10 s), docs/close-stream,
 * docs/stt-troubleshooting-websocket-data-and-net-errors (close codes), docs/recovering-from-connection-errors…
 * (unanswered audio is sent again, and times restart with a connection).
 */
import { z } from 'zod'
import { encodeG711 } from '../audio/g711.ts'
import type { AudioFrame } from '../ports/leg.ts'
import type { Stt, SttStream, Transcript } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import { AudioTimeline } from './audio-timeline.ts'
import { VendorError } from './vendor-error.ts'
import { openVendorSocket, parseJson, type VendorSocket } from './vendor-socket.ts'

const VENDOR = 'deepgram'

export interface DeepgramOptions {
  apiKey: string
  clock: Clock
  /** Receives constants and numbers, never the key or transcripts. */
  log: Log
  /** `wss://api.eu.deepgram.com` for the EU. */
  baseUrl?: string
  model?: string
  /** Audio encoding; `linear16` by default. `mulaw` halves the traffic of an 8 kHz leg, `linear16` is lossless. */
  encoding?: 'linear16' | 'mulaw'
  /** Milliseconds to wait for the answer to `transcribe`; 3000 by default. */
  deadlineMs?: number
}

const DEADLINE_MS = 3000
const CONNECT_TIMEOUT_MS = 3000
const KEEP_ALIVE_MS = 4000
const FIRST_BACKOFF_MS = 200
const MAX_BACKOFF_MS = 5000
/**
 * Milliseconds that a final result may lack: its end is a rounded number of seconds, and may precede the last frame.
 */
const COVERED_MS = 100
/** `Finalize` is not always answered when little is buffered (docs/finalize), so a short rest is waited for briefly. */
const SMALL_REST_MS = 300
const SMALL_REST_WAIT_MS = 300
/** Audio in ms sent again after a reconnect. Deepgram reads faster than real time, but not arbitrarily. */
const MAX_RESEND_MS = 20_000
const KEEP_WORDS_MS = 60_000

const Results = z.object({
  type: z.literal('Results'),
  start: z.number().nonnegative(),
  duration: z.number().nonnegative(),
  is_final: z.boolean().default(false),
  from_finalize: z.boolean().default(false),
  channel: z.object({
    alternatives: z.array(
      z.object({
        words: z.array(
          z.object({
            word: z.string(),
            punctuated_word: z.string().optional(),
            start: z.number(),
            end: z.number(),
            confidence: z.number(),
          }),
        ),
      }),
    ),
  }),
})
type Results = z.infer<typeof Results>
const AnyMessage = z.object({ type: z.string() })

interface Word {
  text: string
  /** Positions in samples of the call. */
  middle: number
  end: number
  confidence: number
}

interface Waiter {
  fromMs: number
  toMs: number
  /** Sample up to which final results are needed. */
  target: number
  cancelRest: (() => void) | null
  settle(outcome: Transcript | Error): void
}

export function createDeepgramStt(options: DeepgramOptions): Stt {
  return { open: ({ sampleRate, language }) => new DeepgramStream(options, sampleRate, language) }
}

class DeepgramStream implements SttStream {
  readonly #options: DeepgramOptions
  readonly #rate: number
  readonly #url: string
  readonly #timeline = new AudioTimeline()
  readonly #waiters = new Set<Waiter>()
  #socket: VendorSocket | null = null
  #open = false
  /** Sample of the call at which the connection's time starts. */
  #base = 0
  #finalEnd = 0
  #finals: Word[] = []
  #interim: Word[] = []
  #finalizesOpen = 0
  #lastSentMs = 0
  #failures = 0
  /** The reason for having no connection; null while one is open, or being restored after a drop. */
  #refused: VendorError | null = null
  #closed = false
  #cancelTimer = () => {}

  constructor(options: DeepgramOptions, sampleRate: number, language: string) {
    this.#options = options
    this.#rate = sampleRate
    const query = new URLSearchParams({
      model: options.model ?? 'nova-3',
      language,
      encoding: options.encoding ?? 'linear16',
      sample_rate: String(sampleRate),
      channels: '1',
      interim_results: 'true',
      punctuate: 'true',
      endpointing: '300',
    })
    this.#url = `${options.baseUrl ?? 'wss://api.deepgram.com'}/v1/listen?${query}`
    this.#connect()
  }

  push(frame: AudioFrame): void {
    if (this.#closed) return
    this.#timeline.push(frame)
    if (this.#open) this.#sendSound(frame.pcm)
  }

  transcribe(fromMs: number, toMs: number, signal: AbortSignal): Promise<Transcript> {
    const { clock, deadlineMs = DEADLINE_MS } = this.#options
    return new Promise((resolve, reject) => {
      if (signal.aborted || this.#closed) return reject(new Error('transcription aborted'))
      if (this.#refused) return reject(this.#refused)
      const waiter: Waiter = {
        fromMs,
        toMs,
        target: this.#timeline.endAt(toMs),
        cancelRest: null,
        settle: outcome => {
          this.#waiters.delete(waiter)
          cancelDeadline()
          waiter.cancelRest?.()
          signal.removeEventListener('abort', abort)
          if (outcome instanceof Error) reject(outcome)
          else resolve(outcome)
        },
      }
      const abort = () => waiter.settle(new Error('transcription aborted'))
      const cancelDeadline = clock.after(deadlineMs, () => {
        const error = new VendorError(VENDOR, 'timeout', 'did not finalize in time')
        waiter.settle(error)
        this.#abandon(error) // the connection may be dead without notice
      })
      signal.addEventListener('abort', abort)
      this.#waiters.add(waiter)
      if (!this.#covers(waiter, COVERED_MS)) this.#finalize()
      this.#settleWaiters(false)
    })
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#cancelTimer()
    this.#socket?.close('{"type":"CloseStream"}')
    this.#rejectWaiters(new Error('transcription aborted'))
  }

  #connect(): void {
    const { apiKey, clock } = this.#options
    this.#finalizesOpen = 0
    this.#socket = openVendorSocket({
      vendor: VENDOR,
      url: this.#url,
      headers: { authorization: `Token ${apiKey}` },
      clock,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      onOpen: () => this.#onOpen(),
      onText: text => this.#onText(text),
      onEnd: (error, opened) => this.#onEnd(error, opened),
    })
  }

  #onOpen(): void {
    this.#open = true
    this.#refused = null
    const oldest = this.#timeline.end - (this.#rate / 1000) * MAX_RESEND_MS
    const { start, pcm } = this.#timeline.since(Math.max(this.#finalEnd, oldest))
    this.#base = start
    for (const frame of pcm) this.#sendSound(frame)
    if (this.#waiters.size > 0) this.#finalize()
    this.#keepAlive()
  }

  #sendSound(pcm: Int16Array): void {
    if (pcm.length === 0) return // an empty message would end the stream
    this.#lastSentMs = this.#options.clock.now()
    this.#socket?.send(encode(this.#options.encoding ?? 'linear16', pcm))
  }

  #keepAlive(): void {
    const { clock } = this.#options
    this.#cancelTimer = clock.after(KEEP_ALIVE_MS, () => {
      if (clock.now() - this.#lastSentMs >= KEEP_ALIVE_MS) this.#socket?.send('{"type":"KeepAlive"}')
      this.#keepAlive()
    })
  }

  #finalize(): void {
    if (this.#open && this.#socket?.send('{"type":"Finalize"}')) this.#finalizesOpen++
  }

  #onText(text: string): void {
    const json = parseJson(text)
    const type = AnyMessage.safeParse(json).data?.type
    if (type !== undefined && type !== 'Results' && type !== 'Error') return // Metadata, SpeechStarted, future types
    const results = Results.safeParse(json)
    if (results.success) this.#onResults(results.data)
    else this.#abandon(new VendorError(VENDOR, 'bad_answer', 'sent an invalid message', { retryable: true }))
  }

  /** Replaces the connection; the new one receives the unanswered audio again. */
  #abandon(error: VendorError): void {
    if (!this.#open) return
    this.#socket?.close()
    this.#onEnd(error, true)
  }

  #onResults({ start, duration, channel, is_final, from_finalize }: Results): void {
    this.#failures = 0
    const words = (channel.alternatives[0]?.words ?? []).map(word => ({
      text: word.punctuated_word ?? word.word,
      middle: this.#base + ((word.start + word.end) / 2) * this.#rate,
      end: this.#base + word.end * this.#rate,
      confidence: word.confidence,
    }))
    if (is_final) {
      const oldest = this.#timeline.end - (this.#rate / 1000) * KEEP_WORDS_MS
      this.#finals = [...this.#finals.filter(word => word.end >= oldest), ...words]
      this.#interim = []
      this.#finalEnd = Math.max(this.#finalEnd, Math.round(this.#base + (start + duration) * this.#rate))
    } else this.#interim = words
    // With two pending Finalize requests, the answer to the first must not count for the second.
    const flushed = from_finalize && this.#finalizesOpen === 1
    if (from_finalize) this.#finalizesOpen = Math.max(0, this.#finalizesOpen - 1)
    this.#settleWaiters(flushed && is_final)
  }

  #settleWaiters(flushed: boolean): void {
    for (const waiter of [...this.#waiters]) {
      if (flushed || this.#covers(waiter, COVERED_MS)) waiter.settle(this.#read(waiter))
      else if (this.#open && this.#covers(waiter, SMALL_REST_MS)) {
        waiter.cancelRest ??= this.#options.clock.after(SMALL_REST_WAIT_MS, () => waiter.settle(this.#read(waiter)))
      }
    }
  }

  #covers(waiter: Waiter, slackMs: number): boolean {
    return this.#finalEnd >= waiter.target - (this.#rate / 1000) * slackMs
  }

  #read({ fromMs, toMs }: Waiter): Transcript {
    const words = [...this.#finals, ...this.#interim].filter(word => {
      const atMs = this.#timeline.atMs(word.middle)
      return atMs !== null && atMs >= fromMs && atMs <= toMs
    })
    if (words.length === 0) return { text: '', confidence: null }
    const sum = words.reduce((total, word) => total + word.confidence, 0)
    return { text: words.map(word => word.text).join(' '), confidence: sum / words.length }
  }

  #onEnd(error: VendorError, opened: boolean): void {
    const { log, clock } = this.#options
    this.#cancelTimer()
    this.#socket = null
    this.#open = false
    this.#interim = []
    this.#failures++
    log.warn({ vendor: VENDOR, code: error.code, status: error.status, opened }, 'stt connection lost')
    // Requests wait while a dropped connection is restored; a refusal fails them at once, so that another STT can take
    // over.
    if (!opened || !error.retryable) {
      this.#refused = error
      this.#rejectWaiters(error)
    }
    if (!error.retryable) return
    const backoffMs = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (this.#failures - 1))
    this.#cancelTimer = clock.after(Math.max(backoffMs, error.retryAfterMs ?? 0), () => this.#connect())
  }

  #rejectWaiters(error: Error): void {
    for (const waiter of [...this.#waiters]) waiter.settle(error)
  }
}

function encode(encoding: 'linear16' | 'mulaw', pcm: Int16Array): Uint8Array {
  if (encoding === 'mulaw') {
    const bytes = new Uint8Array(pcm.length)
    encodeG711('PCMU', pcm, bytes)
    return bytes
  }
  const bytes = Buffer.alloc(pcm.length * 2)
  for (let i = 0; i < pcm.length; i++) bytes.writeInt16LE(pcm[i]!, i * 2)
  return bytes
}
