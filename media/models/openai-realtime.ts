/**
 * OpenAI's Realtime API as a `RealtimeModel`: one WebSocket per session. An 8 kHz leg uses µ-law, whose bytes pass
 * unchanged in both directions; other rates use 24 kHz PCM, the API's other format.
 *
 * Sources: the API's reference of client and server events (general availability) as typed in openai-node
 * `resources/realtime`. The vendor detects the caller's turns, answers each automatically, and cancels an answer when
 * the caller starts to speak; our own requests wait until no answer is in progress.
 */
import { encodeG711 } from '../audio/g711.ts'
import type { AudioFrame } from '../ports/leg.ts'
import type { ChatMessage } from '../ports/llm.ts'
import type { RealtimeModel, RealtimeOptions, RealtimeStream } from '../ports/realtime-model.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import { createSpeechDecoder, type SpeechDecoder, toPcm24 } from './openai-realtime-audio.ts'
import { ServerEvent, type ToolMessage, toItems, toResult, VENDOR } from './openai-realtime-events.ts'
import { VendorError } from './vendor-error.ts'
import { openVendorSocket, parseJson, type VendorSocket } from './vendor-socket.ts'

export interface OpenAiRealtimeOptions {
  /** Base URL with its version, such as `wss://api.openai.com/v1`; `https` is accepted as well. */
  url?: string | undefined
  apiKey: string
  model: string
  /** Null selects the vendor's default. */
  voice: string | null
  clock: Clock
  /** Receives constants and numbers, never the key or transcripts. */
  log: Log
}

const CONNECT_TIMEOUT_MS = 4000
/** Timeout in ms from the open socket to `session.updated`. */
const READY_TIMEOUT_MS = 4000
/** Limit for audio received before the session is ready: 10 s of frames. */
const MAX_EARLY = 500
const MAX_BAD_MESSAGES = 5
/** About 90 seconds of speech. */
const MAX_ANSWER_TOKENS = 2048
const TRANSCRIBER = 'gpt-4o-mini-transcribe'

export function createOpenAiRealtime(options: OpenAiRealtimeOptions): RealtimeModel {
  return {
    name: `openai_realtime/${options.model}`,
    open: session => new OpenAiRealtimeStream(options, session),
  }
}

type Handlers = { [T in ServerEvent['type']]?: (event: Extract<ServerEvent, { type: T }>) => void }

class OpenAiRealtimeStream implements RealtimeStream {
  readonly #options: OpenAiRealtimeOptions
  readonly #session: RealtimeOptions
  readonly #socket: VendorSocket
  readonly #ulaw: boolean
  readonly #up: (frame: AudioFrame) => string
  readonly #decoders = new Map<string, SpeechDecoder>()
  readonly #items: object[] = []
  readonly #early: string[] = []
  #open = false
  #ready = false
  #over = false
  #cancelReady = () => {}
  /** Id of the answer in progress. */
  #answer: string | null = null
  /** An answer was requested or is expected, but has not started. */
  #asked = false
  /** Another answer is requested when the current one is done. */
  #wanted = false
  /** True from the start of the caller's speech to the end of the turn, which triggers an answer. */
  #hearing = false
  #requests = 0
  #bad = 0

  constructor(options: OpenAiRealtimeOptions, session: RealtimeOptions) {
    this.#options = options
    this.#session = session
    this.#ulaw = session.sampleRate === 8000
    this.#up = this.#ulaw ? ulawOf : toPcm24(session.sampleRate)
    const { url = 'wss://api.openai.com/v1', apiKey, model, clock } = options
    this.#socket = openVendorSocket({
      vendor: VENDOR,
      url: `${url.replace(/^http/, 'ws').replace(/\/+$/, '')}/realtime?${new URLSearchParams({ model })}`,
      headers: { authorization: `Bearer ${apiKey}` },
      clock,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      onOpen: () => this.#onOpen(),
      onText: text => this.#onText(text),
      onEnd: error => this.#end(error),
    })
  }

  push(frame: AudioFrame): void {
    if (this.#over) return
    const audio = this.#up(frame)
    if (audio === '') return
    if (this.#ready) this.#append(audio)
    else {
      this.#early.push(audio)
      if (this.#early.length > MAX_EARLY) this.#early.shift()
    }
  }

  addMessage(message: ChatMessage): void {
    for (const item of toItems(message, this.#session.boundary)) this.#addItem(item)
  }

  instruct(text: string): void {
    this.#addItem({ type: 'message', role: 'system', content: [{ type: 'input_text', text }] })
  }

  addToolResult(result: ToolMessage): void {
    this.#addItem(toResult(result, this.#session.boundary))
  }

  respond(): void {
    if (this.#hearing) return // the answer to the current turn will include it
    if (this.#answer !== null || this.#asked || !this.#ready) this.#wanted = true
    else this.#ask()
  }

  cancel(): void {
    this.#wanted = false
    if (this.#answer !== null || this.#asked) this.#send({ type: 'response.cancel' })
  }

  truncate(item: string, heardMs: number): void {
    this.#send({ type: 'conversation.item.truncate', item_id: item, content_index: 0, audio_end_ms: heardMs })
  }

  close(): void {
    this.#over = true
    this.#cancelReady()
    this.#socket.close()
  }

  #onOpen(): void {
    const { clock } = this.#options
    this.#open = true
    this.#cancelReady = clock.after(READY_TIMEOUT_MS, () => {
      this.#end(new VendorError(VENDOR, 'timeout', 'the session was not ready in time'))
    })
    this.#send({ type: 'session.update', session: this.#sessionConfig() })
    const { history: said, boundary } = this.#session
    const history = said.flatMap(message => toItems(message, boundary))
    for (const item of [...history, ...this.#items.splice(0)]) this.#addItem(item)
  }

  #sessionConfig(): object {
    const { instructions, language, tools } = this.#session
    const format = this.#ulaw ? { type: 'audio/pcmu' } : { type: 'audio/pcm', rate: 24_000 }
    const { voice } = this.#options
    return {
      type: 'realtime',
      instructions,
      output_modalities: ['audio'],
      max_output_tokens: MAX_ANSWER_TOKENS,
      audio: {
        input: {
          format,
          transcription: { model: TRANSCRIBER, language: language.split('-')[0] },
          // Waits for an unfinished sentence, but at most 2 s: more is dead air on a telephone.
          turn_detection: { type: 'semantic_vad', eagerness: 'high', create_response: true, interrupt_response: true },
        },
        output: { format, ...(voice === null ? {} : { voice }) },
      },
      tools: tools.map(tool => ({ type: 'function', ...tool })),
      tool_choice: 'auto',
    }
  }

  #addItem(item: object): void {
    if (this.#open) this.#send({ type: 'conversation.item.create', item })
    else this.#items.push(item)
  }

  #append(audio: string): void {
    this.#send({ type: 'input_audio_buffer.append', audio })
  }

  #ask(): void {
    this.#asked = true
    this.#wanted = false
    this.#send({ type: 'response.create', event_id: `ask-${++this.#requests}` })
  }

  #send(event: object): void {
    if (!this.#over) this.#socket.send(JSON.stringify(event))
  }

  #onText(text: string): void {
    if (this.#over) return
    const json = parseJson(text)
    const { success, data: event } = ServerEvent.safeParse(json)
    if (success) {
      const handle = this.#handlers[event.type] as ((event: ServerEvent) => void) | undefined
      handle?.(event)
      return
    }
    const type = (json as { type?: unknown } | null | undefined)?.type
    const known = ServerEvent.options.some(option => option.shape.type.value === type)
    // Vendors add event types without notice, so unknown types are ignored; known types must match their schema.
    if (typeof type === 'string' && !known) return
    this.#options.log.warn({ vendor: VENDOR }, 'could not parse a message of the vendor')
    if (++this.#bad >= MAX_BAD_MESSAGES) this.#end(new VendorError(VENDOR, 'bad_answer', 'sent invalid messages'))
  }

  readonly #handlers: Handlers = {
    'session.updated': () => {
      if (this.#ready) return
      this.#ready = true
      this.#cancelReady()
      for (const audio of this.#early.splice(0)) this.#append(audio)
      this.#session.onEvent({ type: 'ready' })
      if (this.#wanted) this.#ask()
    },
    'input_audio_buffer.speech_started': () => {
      this.#hearing = true
      this.#wanted = false
      this.#session.onEvent({ type: 'caller_started' })
    },
    'input_audio_buffer.committed': ({ item_id: item }) => {
      this.#hearing = false
      this.#asked = true
      this.#session.onEvent({ type: 'caller_done', item })
    },
    'conversation.item.input_audio_transcription.completed': ({ item_id: item, transcript }) => {
      this.#session.onEvent({ type: 'caller_said', item, text: transcript.trim() })
    },
    'conversation.item.input_audio_transcription.failed': ({ item_id: item }) => {
      this.#session.onEvent({ type: 'caller_said', item, text: null })
    },
    'response.created': ({ response }) => {
      this.#asked = false
      this.#answer = response.id
      this.#session.onEvent({ type: 'answer_started', answer: response.id })
    },
    'response.output_audio.delta': ({ response_id: answer, item_id: item, delta }) => {
      const sound = this.#decoder(item).push(Buffer.from(delta, 'base64'))
      if (sound.pcm.length > 0) this.#session.onEvent({ type: 'speech', answer, item, ...sound })
    },
    'response.output_audio.done': ({ response_id: answer, item_id: item }) => {
      const rest = this.#decoder(item).flush()
      this.#decoders.delete(item)
      if (rest.pcm.length > 0) this.#session.onEvent({ type: 'speech', answer, item, ...rest })
      this.#session.onEvent({ type: 'speech_done', answer, item })
    },
    'response.output_audio_transcript.delta': ({ response_id: answer, item_id: item, delta }) => {
      this.#session.onEvent({ type: 'words', answer, item, delta })
    },
    'response.function_call_arguments.done': ({ response_id: answer, call_id: id, name, arguments: text }) => {
      const args = parseJson(text === '' ? '{}' : text)
      const isObject = typeof args === 'object' && args !== null && !Array.isArray(args)
      const read = isObject
        ? { arguments: args as Record<string, unknown> }
        : { arguments: {}, problem: 'The arguments were not a JSON object.' }
      this.#session.onEvent({ type: 'tool', answer, id, name, ...read })
    },
    'response.done': ({ response }) => this.#onAnswerDone(response),
    error: ({ error }) => this.#onError(error),
  }

  #onAnswerDone({ id: answer, status, status_details: details }: ResponseDone): void {
    if (this.#answer === answer) this.#answer = null
    this.#decoders.clear()
    if (status === 'failed') {
      const error = errorOf(details?.error?.code, details?.error?.type)
      this.#options.log.warn({ vendor: VENDOR, code: error.code }, 'answer failed')
      this.#session.onEvent({ type: 'answer_failed', answer, error })
    } else this.#session.onEvent({ type: 'answer_done', answer, broken: status === 'cancelled' })
    if (this.#wanted && !this.#hearing && !this.#asked && !this.#over) this.#ask()
  }

  #onError({ code, type, event_id: request }: VendorFault): void {
    const { log } = this.#options
    const ofRequest = typeof request === 'string' && request.startsWith('ask-')
    if (code === 'conversation_already_has_active_response') {
      // The vendor started an answer before it read this request.
      this.#asked = false
      if (!this.#hearing) this.#wanted = true
      return
    }
    const error = errorOf(code, type)
    log.warn(
      { vendor: VENDOR, code: error.code, ready: this.#ready, of_request: ofRequest },
      'vendor reported an error',
    )
    if (code === 'session_expired' || !this.#ready || error.code === 'unauthorized') {
      this.#end(error)
    } else if (ofRequest) {
      this.#asked = false
      this.#session.onEvent({ type: 'answer_failed', answer: null, error })
    }
    // After any other error the session continues.
  }

  #end(error: VendorError): void {
    if (this.#over) return
    this.close()
    this.#session.onEvent({ type: 'ended', error })
  }

  #decoder(item: string): SpeechDecoder {
    const known = this.#decoders.get(item)
    if (known) return known
    const made = createSpeechDecoder(this.#ulaw ? 'ulaw' : { sampleRate: this.#session.sampleRate })
    this.#decoders.set(item, made)
    return made
  }
}

type ResponseDone = Extract<ServerEvent, { type: 'response.done' }>['response']
type VendorFault = Extract<ServerEvent, { type: 'error' }>['error']

function ulawOf({ pcm, ulaw }: AudioFrame): string {
  if (ulaw) return Buffer.from(ulaw.buffer, ulaw.byteOffset, ulaw.byteLength).toString('base64')
  const bytes = Buffer.alloc(pcm.length)
  encodeG711('PCMU', pcm, bytes)
  return bytes.toString('base64')
}

/** Omits the vendor's messages, which may contain what was said. */
function errorOf(code: string | null | undefined, type: string | null | undefined): VendorError {
  switch (code) {
    case 'session_expired':
      return new VendorError(VENDOR, 'unavailable', 'the session reached its maximum duration')
    case 'rate_limit_exceeded':
      return new VendorError(VENDOR, 'rate_limited', 'rate limit exceeded')
    case 'insufficient_quota':
    case 'invalid_api_key':
      return new VendorError(VENDOR, 'unauthorized', 'rejected the API key or its quota')
  }
  if (type === 'server_error') return new VendorError(VENDOR, 'unavailable', 'internal server error')
  return new VendorError(VENDOR, 'bad_answer', 'rejected the request')
}
