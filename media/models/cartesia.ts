/**
 * Cartesia TTS: one WebSocket for all sentences of all calls that share the adapter, with a context for each sentence;
 * `cancel` stops one. The first sentence opens the socket, and it closes after a minute without any.
 *
 * Sources: docs.cartesia.ai/2026-03-01/api-reference/tts/websocket (messages), use-the-api/tts-websocket/contexts,
 * use-the-api/api-conventions (version and key in headers), use-the-api/api-errors and concurrency-limits-and-timeouts.
 */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { SpokenWord, Tts } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import {
  createPcmReader,
  createSpeechQueue,
  isContainer,
  type SpeechDeadlines,
  type SpeechQueue,
} from './speech-queue.ts'
import { errorOfStatus, VendorError } from './vendor-error.ts'
import { openVendorSocket, parseJson, type VendorSocket } from './vendor-socket.ts'

const VENDOR = 'cartesia'
const VERSION = '2026-03-01'
const SAMPLE_RATE = 16_000
const CONNECT_TIMEOUT_MS = 3000
const IDLE_MS = 60_000
/**
 * Milliseconds by which audio may be shorter than its word timings. If more is missing, it was cut or has a wrong rate.
 */
const MISSING_SOUND_MS = 250

export interface CartesiaOptions {
  apiKey: string
  clock: Clock
  /** Default voice id, when the call names none. */
  voice: string
  baseUrl?: string
  model?: string
  deadlines?: SpeechDeadlines
}

export interface CartesiaTts extends Tts {
  /** Closes the socket; pending sentences fail. */
  close(): void
}

const Times = z.array(z.number().nonnegative())
const Message = z.discriminatedUnion('type', [
  z.object({ type: z.literal('chunk'), context_id: z.string(), data: z.base64() }),
  z.object({
    type: z.literal('timestamps'),
    context_id: z.string(),
    word_timestamps: z.object({ words: z.array(z.string()), start: Times, end: Times }),
  }),
  z.object({ type: z.literal('done'), context_id: z.string() }),
  z.object({ type: z.literal('error'), context_id: z.string().optional(), status_code: z.number() }),
])
type Message = z.infer<typeof Message>
const KNOWN = new Set(['chunk', 'timestamps', 'done', 'error'])
const AnyMessage = z.object({ type: z.string() })

interface Context {
  queue: SpeechQueue
  readPcm(bytes: Uint8Array): Int16Array
  /** Word timings that wait for the next chunk. */
  words: SpokenWord[]
  soundMs: number
  wordsMs: number
}

export function createCartesiaTts(options: CartesiaOptions): CartesiaTts {
  const connection = new Connection(options)
  return {
    async *speak({ text, voice, language }, signal) {
      if (signal.aborted) return
      const id = randomUUID()
      const queue = createSpeechQueue(VENDOR, options.clock, signal, options.deadlines)
      let whole = false
      try {
        connection.ask(id, requestOf(options, id, text, voice, language), queue)
        yield* queue.read()
        whole = !signal.aborted
      } finally {
        connection.leave(id, whole)
      }
    },
    close: () => connection.fail(new VendorError(VENDOR, 'unavailable', 'closed')),
  }
}

class Connection {
  readonly #options: CartesiaOptions
  readonly #contexts = new Map<string, Context>()
  /** Requests that wait for the socket to open. */
  readonly #unsent = new Map<string, string>()
  #socket: VendorSocket | null = null
  #open = false
  #cancelIdle = () => {}

  constructor(options: CartesiaOptions) {
    this.#options = options
  }

  ask(id: string, request: string, queue: SpeechQueue): void {
    this.#contexts.set(id, { queue, readPcm: createPcmReader(), words: [], soundMs: 0, wordsMs: 0 })
    this.#cancelIdle()
    this.#socket ??= this.#connect()
    if (this.#open) this.#socket.send(request)
    else this.#unsent.set(id, request)
  }

  /** `whole`: the vendor has finished the context. */
  leave(id: string, whole: boolean): void {
    this.#contexts.delete(id)
    if (!this.#unsent.delete(id) && !whole) this.#socket?.send(JSON.stringify({ context_id: id, cancel: true }))
    if (this.#contexts.size > 0) return
    this.#cancelIdle()
    if (this.#open) this.#cancelIdle = this.#options.clock.after(IDLE_MS, () => this.#disconnect())
    else this.#disconnect() // no request waits for the handshake
  }

  /** Fails all pending sentences and closes the socket. */
  fail(error: VendorError): void {
    this.#disconnect()
    this.#unsent.clear()
    for (const { queue } of this.#contexts.values()) queue.fail(error)
  }

  #disconnect(): void {
    this.#cancelIdle()
    this.#socket?.close()
    this.#socket = null
    this.#open = false
  }

  #connect(): VendorSocket {
    const { apiKey, baseUrl = 'wss://api.cartesia.ai', clock } = this.#options
    return openVendorSocket({
      vendor: VENDOR,
      url: `${baseUrl}/tts/websocket`,
      headers: { authorization: `Bearer ${apiKey}`, 'cartesia-version': VERSION },
      clock,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      onOpen: () => {
        this.#open = true
        for (const request of this.#unsent.values()) this.#socket?.send(request)
        this.#unsent.clear()
      },
      onText: text => this.#onText(text),
      onEnd: error => this.fail(error),
    })
  }

  #onText(text: string): void {
    const json = parseJson(text)
    const type = AnyMessage.safeParse(json).data?.type
    if (type !== undefined && !KNOWN.has(type)) return // flush_done and future types
    const message = Message.safeParse(json)
    if (!message.success) {
      this.fail(new VendorError(VENDOR, 'bad_answer', 'sent an invalid message', { retryable: true }))
    } else if (message.data.type === 'error') {
      const { context_id, status_code } = message.data
      const error = errorOfStatus(VENDOR, status_code, null, this.#options.clock.wall())
      if (context_id === undefined) this.fail(error)
      else this.#contexts.get(context_id)?.queue.fail(error)
    } else {
      const context = this.#contexts.get(message.data.context_id)
      if (context) receive(context, message.data) // otherwise the context was cancelled
    }
  }
}

function requestOf(options: CartesiaOptions, id: string, text: string, voice: string | null, language: string): string {
  return JSON.stringify({
    model_id: options.model ?? 'sonic-3.5',
    transcript: text,
    voice: { mode: 'id', id: voice ?? options.voice },
    language: language.split('-')[0]!.toLowerCase(),
    context_id: id,
    output_format: { container: 'raw', encoding: 'pcm_s16le', sample_rate: SAMPLE_RATE },
    add_timestamps: true,
    continue: false,
  })
}

function receive(context: Context, message: Exclude<Message, { type: 'error' }>): void {
  if (message.type === 'chunk') onChunk(context, Buffer.from(message.data, 'base64'))
  else if (message.type === 'done') onDone(context)
  else onWords(context, message.word_timestamps)
}

function onWords(context: Context, { words, start, end }: { words: string[]; start: number[]; end: number[] }): void {
  for (const [i, text] of words.entries()) {
    const startMs = (start[i] ?? 0) * 1000
    const endMs = (end[i] ?? start[i] ?? 0) * 1000
    context.words.push({ text, startMs, endMs })
    context.wordsMs = Math.max(context.wordsMs, endMs)
  }
}

function onChunk(context: Context, bytes: Uint8Array): void {
  if (context.soundMs === 0 && isContainer(bytes)) {
    context.queue.fail(new VendorError(VENDOR, 'bad_answer', 'sent a file instead of raw samples'))
    return
  }
  const pcm = context.readPcm(bytes)
  context.soundMs += (pcm.length / SAMPLE_RATE) * 1000
  context.queue.push({ pcm, sampleRate: SAMPLE_RATE, ...takeWords(context) })
}

function onDone(context: Context): void {
  if (context.soundMs > 0 && context.wordsMs - context.soundMs > MISSING_SOUND_MS) {
    context.queue.fail(new VendorError(VENDOR, 'bad_answer', 'sent less audio than its word timings cover'))
    return
  }
  const rest = takeWords(context)
  if (rest.words) context.queue.push({ pcm: new Int16Array(0), sampleRate: SAMPLE_RATE, ...rest })
  context.queue.end()
}

function takeWords(context: Context): { words?: SpokenWord[] } {
  const words = context.words
  context.words = []
  return words.length > 0 ? { words } : {}
}
