/**
 * OpenAI's Realtime API as its event reference describes it (general availability; shapes as typed in openai-node's
 * resources/realtime/realtime.ts, errors as reported by users), with transparent STT: loud bytes are speech, and 500 ms
 * without them end a turn. Its answers are scripted; each character takes 60 ms.
 */
import type { WebSocket } from 'ws'
import { decodeG711 } from '../../../media/audio/g711.ts'
import { startWsVendor, type WsVendor } from './ws-vendor.ts'

export type Part =
  | {
      say: string /** Instead of the usual square wave. */
      sound?: Buffer /** Never says that it is done. */
      hangs?: true
    }
  | { call: string; args?: string; id?: string }
export interface Script {
  parts: Part[]
  /** The status of the answer; `completed` by default. */
  status?: 'failed' | 'incomplete'
  error?: { type: string; code: string }
  /** Sends no answer at all. */
  silent?: true
}

interface Item {
  id: string
  type: string
  role?: string
  call_id?: string
  output?: string
  content?: { type: string; text?: string }[]
  truncatedMs?: number
}

export interface FakeRealtime extends WsVendor {
  /** Client events of all connections, without audio. */
  events: { type: string; [field: string]: unknown }[]
  /** The audio received on the open connection. */
  heard: () => Buffer
  items: () => Item[]
  /** Ids of the item being spoken. */
  saying: () => object
  /** Transcripts of the caller's turns, in order: null is a failed transcription; after the last there is none. */
  transcripts: (string | null)[]
  /** Withholds transcripts until they are sent explicitly. */
  late: boolean
  /** Answers, in order. */
  scripts: Script[]
  /** When set, `session.update` gets no answer, or this error. */
  sessionError: { type: string; code: string; message: string } | 'none' | null

  send(event: object | string): void
  fail(error: { type: string; code: string; event_id?: string }): void
  closeWith(code: number): void
  /** Resolves when all messages in both directions have been read. */
  sync(): Promise<void>
}

const MS_PER_LETTER = 60
const VOICE_BYTES = 480
const SILENCE_BYTES = 4000

class Connection {
  readonly items: Item[] = []
  heard = Buffer.alloc(0)
  ready = false
  saying: object = {}
  pcm24 = false
  #voiced = 0
  #quiet = 0
  #turn: string | null = null
  #answer: string | null = null
  #finish: (() => void) | null = null
  readonly #socket: WebSocket
  readonly #fake: FakeRealtime
  readonly #nextId: (kind: string) => string

  constructor(socket: WebSocket, fake: FakeRealtime, nextId: (kind: string) => string) {
    this.#socket = socket
    this.#fake = fake
    this.#nextId = nextId
    this.send({ type: 'session.created', session: { type: 'realtime', id: nextId('sess') } })
    socket.on('message', (data: Buffer) => this.#on(JSON.parse(data.toString())))
  }

  send(event: object | string): void {
    const text = typeof event === 'string' ? event : JSON.stringify({ event_id: this.#nextId('event'), ...event })
    this.#socket.send(text)
  }

  closeWith(code: number): void {
    this.#socket.close(code)
  }

  sync(): Promise<void> {
    const socket = this.#socket
    return new Promise(resolve => {
      if (socket.readyState !== socket.OPEN) {
        setTimeout(resolve, 1)
        return
      }
      const over = () => {
        socket.off('pong', over).off('close', over)
        resolve()
      }
      socket.on('pong', over).on('close', over)
      socket.ping()
    })
  }

  #error(error: { type: string; code: string; message?: string; event_id?: string | null }): void {
    this.send({ type: 'error', error: { message: 'Something that was said.', param: null, event_id: null, ...error } })
  }

  // biome-ignore lint/suspicious/noExplicitAny: any event may come
  #on(event: any): void {
    if (event.type !== 'input_audio_buffer.append') this.#fake.events.push(event)
    switch (event.type) {
      case 'session.update': {
        const { sessionError } = this.#fake
        if (sessionError === 'none') return
        if (sessionError) return void this.#error(sessionError)
        this.ready = true
        this.pcm24 = event.session.audio.input.format.type === 'audio/pcm'
        return void this.send({ type: 'session.updated', session: event.session })
      }
      case 'input_audio_buffer.append':
        return void this.#hear(Buffer.from(event.audio, 'base64'))
      case 'conversation.item.create':
        return void this.#addItem({ id: this.#nextId('item'), ...event.item })
      case 'response.create':
        if (this.#answer)
          return void this.#error({
            type: 'invalid_request_error',
            code: 'conversation_already_has_active_response',
            event_id: event.event_id,
          })
        return void this.#respond()
      case 'response.cancel':
        if (!this.#answer)
          return void this.#error({ type: 'invalid_request_error', code: 'response_cancel_not_active' })
        return void this.#cancel()
      case 'conversation.item.truncate': {
        const item = this.items.find(one => one.id === event.item_id)
        if (item?.role !== 'assistant')
          return void this.#error({ type: 'invalid_request_error', code: 'item_truncate_invalid_item_id' })
        item.truncatedMs = event.audio_end_ms
        const { item_id, audio_end_ms } = event
        return void this.send({ type: 'conversation.item.truncated', item_id, content_index: 0, audio_end_ms })
      }
      default:
        return void this.#error({ type: 'invalid_request_error', code: 'invalid_value' })
    }
  }

  #addItem(item: Item): void {
    const known = item.type !== 'function_call_output' || this.items.some(one => one.call_id === item.call_id)
    if (!known) return void this.#error({ type: 'invalid_request_error', code: 'invalid_tool_call_id' })
    this.items.push(item)
    this.send({ type: 'conversation.item.added', previous_item_id: null, item })
    this.send({ type: 'conversation.item.done', previous_item_id: null, item })
  }

  #hear(bytes: Buffer): void {
    this.heard = Buffer.concat([this.heard, bytes])
    if (!this.ready) return void this.#error({ type: 'invalid_request_error', code: 'not_ready' })
    const loud = !this.pcm24 && decodeG711('PCMU', bytes).some(sample => Math.abs(sample) > 400)
    this.#voiced = loud ? this.#voiced + bytes.length : 0
    this.#quiet = loud ? 0 : this.#quiet + bytes.length
    if (!this.#turn && this.#voiced >= VOICE_BYTES) this.#begin()
    if (this.#turn && this.#quiet >= SILENCE_BYTES) this.#commit(this.#turn)
  }

  #begin(): void {
    this.#turn = this.#nextId('item')
    this.send({ type: 'input_audio_buffer.speech_started', audio_start_ms: this.heard.length / 8, item_id: this.#turn })
    if (this.#answer) this.#cancel()
  }

  #commit(item_id: string): void {
    this.#turn = null
    this.send({ type: 'input_audio_buffer.speech_stopped', audio_end_ms: this.heard.length / 8, item_id })
    this.send({ type: 'input_audio_buffer.committed', previous_item_id: null, item_id })
    const text = this.#fake.transcripts.shift()
    this.#addItem({ id: item_id, type: 'message', role: 'user', content: [{ type: 'input_audio' }] })
    this.#respond()
    const of = { item_id, content_index: 0 }
    if (this.#fake.late) return
    if (text === null)
      this.send({ type: 'conversation.item.input_audio_transcription.failed', ...of, error: { type: 'server_error' } })
    else
      this.send({
        type: 'conversation.item.input_audio_transcription.completed',
        ...of,
        transcript: text ?? '',
        usage: { type: 'duration', seconds: 1 },
      })
  }

  #respond(): void {
    const script = this.#fake.scripts.shift() ?? { parts: [{ say: 'I see.' }] }
    if (script.silent) return
    const id = this.#nextId('resp')
    this.#answer = id
    const done = (status: string, status_details: object | null = null) => {
      this.#answer = null
      this.#finish = null
      this.send({ type: 'response.done', response: { object: 'realtime.response', id, status, status_details } })
      this.send({
        type: 'rate_limits.updated',
        rate_limits: [{ name: 'tokens', limit: 50_000, remaining: 49_000, reset_seconds: 0.1 }],
      })
    }
    this.#finish = () => done('cancelled', { type: 'cancelled', reason: 'turn_detected' })
    this.send({ type: 'response.created', response: { object: 'realtime.response', id, status: 'in_progress' } })
    let hangs = false
    for (const [output_index, part] of script.parts.entries()) {
      if ('call' in part) this.#callTool(id, output_index, part)
      else {
        this.#say(id, output_index, part)
        hangs ||= part.hangs ?? false
      }
    }
    if (hangs) return
    const { status = 'completed', error } = script
    done(status, error ? { type: status, error } : null)
  }

  #say(response_id: string, output_index: number, { say, sound, hangs }: Extract<Part, { say: string }>): void {
    const item_id = this.#nextId('item')
    const item = { id: item_id, type: 'message', role: 'assistant', content: [] }
    this.items.push(item)
    const of = { response_id, item_id, output_index, content_index: 0 }
    this.saying = of
    this.send({ type: 'response.output_item.added', response_id, output_index, item })
    const bytes = sound ?? this.#voiceOf(say)
    const words = say.match(/\S+\s*/g) ?? []
    for (const delta of words) this.send({ type: 'response.output_audio_transcript.delta', ...of, delta })
    for (let at = 0; at < bytes.length; at += 3000) {
      const delta = bytes.subarray(at, at + 3000).toString('base64')
      this.send({ type: 'response.output_audio.delta', ...of, delta })
    }
    if (hangs) return
    this.send({ type: 'response.output_audio.done', ...of })
    this.send({ type: 'response.output_audio_transcript.done', ...of, transcript: say })
    this.send({ type: 'response.output_item.done', response_id, output_index, item })
  }

  #voiceOf(text: string): Buffer {
    const samples = text.length * MS_PER_LETTER * (this.pcm24 ? 24 : 8)
    if (!this.pcm24) return Buffer.from(Uint8Array.from({ length: samples }, (_, i) => (i % 8 < 4 ? 0x90 : 0x10)))
    const bytes = Buffer.alloc(samples * 2)
    for (let i = 0; i < samples; i++) bytes.writeInt16LE(i % 24 < 12 ? 6000 : -6000, i * 2)
    return bytes
  }

  #callTool(response_id: string, output_index: number, part: Extract<Part, { call: string }>): void {
    const { call: name, args = '{}', id: call_id = this.#nextId('call') } = part
    const item = { id: this.#nextId('item'), type: 'function_call', name, call_id, arguments: args }
    this.items.push(item)
    this.send({ type: 'response.output_item.added', response_id, output_index, item })
    const of = { response_id, item_id: item.id, output_index, call_id }
    this.send({ type: 'response.function_call_arguments.delta', ...of, delta: args })
    this.send({ type: 'response.function_call_arguments.done', ...of, name, arguments: args })
    this.send({ type: 'response.output_item.done', response_id, output_index, item })
  }

  #cancel(): void {
    this.#finish?.()
  }
}

export async function startFakeRealtime(): Promise<FakeRealtime> {
  let now: Connection | null = null
  let ids = 0
  const vendor = await startWsVendor(socket => {
    now = new Connection(socket, fake, kind => `${kind}_${++ids}`)
  })
  const fake: FakeRealtime = Object.assign(vendor, {
    events: [],
    transcripts: [],
    late: false,
    scripts: [],
    sessionError: null,
    heard: () => now?.heard ?? Buffer.alloc(0),
    items: () => now?.items ?? [],
    saying: () => now?.saying ?? {},
    send: (event: object | string) => now?.send(event),
    fail: (error: { type: string; code: string; event_id?: string }) =>
      now?.send({
        type: 'error',
        error: { message: 'Something that was said.', param: null, event_id: null, ...error },
      }),
    closeWith: (code: number) => now?.closeWith(code),
    sync: async () => now?.sync(),
  })
  return fake
}
