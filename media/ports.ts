/**
 * What the call needs from the world, as types only. Sound is 16-bit linear PCM, mono; `ms` times are milliseconds of
 * the injected clock (monotonic) unless they say "from the answer".
 */

import type { Readable } from 'node:stream'
import type {
  EndedReason,
  FinalStatus,
  MediaStats,
  ProviderSwitch,
  RecordingInfo,
  Refusal,
} from './contract/messages.ts'
import type { CallPlan, TrunkPlan } from './contract/plan.ts'

export interface Clock {
  /** Monotonic milliseconds, fractional. */
  now(): number
  /** Epoch milliseconds. */
  wall(): number
  /** Calls back once; returns what cancels it. */
  after(ms: number, run: () => void): () => void
}

export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  child(fields: object): Log
}

/** 20 ms of what the far end said. */
export interface AudioFrame {
  pcm: Int16Array
  /** The same as µ-law bytes, where the leg speaks µ-law: as they came. */
  ulaw?: Uint8Array
  /** When its packet came off the wire. */
  atMs: number
  /** True when the packet was lost and this is made up. */
  concealed: boolean
}

/** The call's side of a leg: the leg pulls a frame every 20 ms and pushes what it hears. */
export interface LegSink {
  /** Exactly 20 ms at the leg's rate, or null for silence. `atMs`: when it goes on the wire. */
  pull(atMs: number): Int16Array | null
  /** µ-law bytes of the frame pulled last, where its maker gave them: a leg that speaks µ-law sends them untouched. */
  ulaw?(): Uint8Array | null
  push(frame: AudioFrame): void
  /** A key of the far end, once a press: `0-9*#A-D`. */
  dtmf(digit: string): void
}

export interface LegEnd {
  by: 'remote' | 'local' | 'network'
  reason: EndedReason
}

/** One end of the call, connected, sound both ways. Who opened it must `hangup` it; a second hangup is a no-op. */
export interface Leg {
  readonly kind: 'sip' | 'room'
  /** Of the PCM that crosses `LegSink`, in Hz. */
  readonly sampleRate: number
  /** Starts sound in both directions; once. */
  attach(sink: LegSink): void
  /** Settles once, whoever ended it. */
  readonly ended: Promise<LegEnd>
  hangup(reason: EndedReason): Promise<void>
  /** Presses keys (`0-9*#A-D`, `,` waits half a second); settles when the last was sent. Absent: it can't. */
  sendDtmf?(keys: string): Promise<void>
  /** Gives the far end to somebody else; the leg ends as `transferred` when that worked. Absent: it can't. */
  transfer?(to: string): Promise<TransferResult>
  stats(): MediaStats
}

/** `reason`: words for the model. */
export type TransferResult = { ok: true } | { ok: false; reason: string }

/** Why a dial got no leg. */
export interface DialFailure {
  status: Exclude<FinalStatus, 'completed'>
  reason: EndedReason
  sipCode: number | null
}

export type DialResult = { ok: true; leg: Leg } | { ok: false; failure: DialFailure }

export interface DialOptions {
  plan: CallPlan
  /** Abort cancels the attempt: the result is then `canceled`, or a leg that was answered first and already hung up. */
  signal: AbortSignal
  onRinging(): void
}

/** Makes legs. Never throws: everything that goes wrong is a `DialFailure`. */
export interface Dialer {
  dial(options: DialOptions): Promise<DialResult>
}

/** A call that came in and waits for an answer. Exactly one of `answer` and `reject` is called. */
export interface InboundOffer {
  called: string
  caller: string
  /** Address that the INVITE came from. */
  source: string
  trunkId: string | null
  /** Aborted when the caller gave up (CANCEL) or the transport died before the answer. */
  signal: AbortSignal
  /** Null when the caller gave up meanwhile, or the media could not be agreed (the peer was told). */
  answer(): Promise<Leg | null>
  reject(refusal: Refusal): void
}

/** What engines must know of trunks without being asked. */
export interface TrunkDirectory {
  all(): readonly TrunkPlan[]
  /** Calls back at each change; returns what stops it. */
  onChange(run: () => void): () => void
}

// ---- recordings ----

/** Keeps the sound of calls. Whatever goes wrong with it, the call goes on. */
export interface Recorder {
  /** `startedMs`: of its first sample. */
  start(call: { callId: string; ownerId: string; sampleRate: number; startedMs: number; log: Log }): Recording
}
export interface Recording {
  caller(frame: AudioFrame): void
  /** What was pulled for the wire; null is silence. */
  agent(pcm: Int16Array | null, atMs: number): void
  /** Ends it now. Null: there is none, or it takes longer to store; then it is told when it is ready. */
  finish(): Promise<RecordingInfo | null>
}

/** Files by key, such as `recordings/<owner>/<call>.wav`: lower-case words of `a-z0-9._-` between slashes. */
export interface Blobs {
  /** Takes the file over: it is whole under its key, and gone from where it was; or nothing has happened. */
  take(key: string, file: string, options: { contentType: string; signal: AbortSignal }): Promise<void>
  /** Null: there is none. `end` is the last byte that is wanted. */
  read(key: string, range?: { start: number; end: number }): Promise<Readable | null>
  /** What is not there is deleted already. */
  delete(key: string): Promise<void>
  /** Everything below a folder, named without a slash at its end. */
  deleteAll(folder: string): Promise<void>
}

// ---- speech ----

/** Probability of speech in one window of the caller's audio. */
export interface VoiceFrame {
  probability: number
  /** Wire time of the window's last sample. */
  atMs: number
  windowMs: number
}

export interface Vad {
  open(options: { sampleRate: number; onVoice(frame: VoiceFrame): void }): VadStream
}
export interface VadStream {
  push(frame: AudioFrame): void
  close(): void
}

export interface Transcript {
  text: string
  /** 0–1 where the recogniser tells it, else null. */
  confidence: number | null
}

export interface Stt {
  open(options: { sampleRate: number; language: string }): SttStream
}
/** All of the caller's sound goes in; the conversation says which stretch to read. */
export interface SttStream {
  push(frame: AudioFrame): void
  /** Text of what came in between two wire times. May be asked again for a longer stretch (speculation). */
  transcribe(fromMs: number, toMs: number, signal: AbortSignal): Promise<Transcript>
  close(): void
}

export interface SpokenWord {
  text: string
  /** From the utterance's first sample. */
  startMs: number
  endMs: number
}
export interface SpeechChunk {
  pcm: Int16Array
  sampleRate: number
  /**
   * Words that the vendor has timed since the chunk before; their sound may lie in this chunk or in others, and `pcm` is
   * empty when there is none left.
   */
  words?: readonly SpokenWord[]
}
export interface Tts {
  /** Chunks in order, the first as early as it can be had. Abort ends the iteration without an error. */
  speak(
    /** `keep`: a fixed phrase that will be said again. */
    options: { text: string; voice: string | null; language: string; keep?: boolean },
    signal: AbortSignal,
  ): AsyncIterable<SpeechChunk>
}

// ---- text model ----

export type ChatMessage =
  /** `keys`: pressed, not said. */
  | { role: 'caller'; text: string; keys?: true }
  /** What was heard, not what was generated. */
  | { role: 'agent'; text: string; interrupted: boolean }
  /** `step`: calls of one answer of the model have the same. */
  | {
      role: 'tool'
      id: string
      step: string
      name: string
      arguments: Record<string, unknown>
      result: string
      ok: boolean
    }

export interface LlmTool {
  name: string
  description: string
  /** JSON Schema of an object. */
  parameters: Record<string, unknown>
}

export interface LlmRequest {
  /** Prompt, task and rules of the call. */
  system: string
  language: string
  messages: readonly ChatMessage[]
  tools: readonly LlmTool[]
  /** Today in the project's timezone, for "tomorrow at ten". */
  today: Date
}

export type LlmEvent =
  | { type: 'text'; delta: string }
  /** One of the request's tools; several may be called in one answer. */
  | {
      type: 'tool'
      id: string
      name: string
      arguments: Record<string, unknown>
      /** Why the arguments could not be read at all; the tool is then not run, and the model is told. */
      problem?: string
    }

export interface WrapUpRequest extends LlmRequest {
  goal: string | null
  /** JSON Schema of an object. */
  extraction: Record<string, unknown> | null
  /** What was wrong with the answer before; null the first time. */
  repair: string | null
}
export interface WrapUp {
  summary: string
  extracted: Record<string, unknown> | null
  goalReached: boolean
  /** Words of the conversation that show it. */
  goalEvidence: string | null
  /** As the caller said it. */
  contactName: string | null
}

/** Holds no state of a call: the same request may be asked twice and thrown away once. */
export interface Llm {
  respond(request: LlmRequest, signal: AbortSignal): AsyncIterable<LlmEvent>
  wrapUp(request: WrapUpRequest, signal: AbortSignal): Promise<WrapUp>
}

// ---- a model that hears and speaks itself ----

export interface RealtimeOptions {
  /** Of the leg, in Hz. */
  sampleRate: number
  /** Prompt, task and rules of the call. */
  instructions: string
  language: string
  tools: readonly LlmTool[]
  /** What was said before, in a session that broke off. */
  history: readonly ChatMessage[]
  /** In order; none after `ended`, nor after `close`. */
  onEvent(event: RealtimeEvent): void
}

export interface ProviderError extends Error {
  code: ProviderSwitch['code']
  /** The same may work when it is tried again. */
  retryable: boolean
}

/** `answer` and `item` are the vendor's ids: an answer has spoken items and tool calls. */
export type RealtimeEvent =
  | { type: 'ready' }
  | { type: 'caller_started' }
  /** The caller's turn is over; an answer follows by itself. Its words come later, as `caller_said`. */
  | { type: 'caller_done'; item: string }
  /** Null: they could not be read. */
  | { type: 'caller_said'; item: string; text: string | null }
  | { type: 'answer_started'; answer: string }
  | { type: 'speech'; answer: string; item: string; pcm: Int16Array; ulaw: Uint8Array | null }
  | { type: 'words'; answer: string; item: string; delta: string }
  /** No more sound of it comes. */
  | { type: 'speech_done'; answer: string; item: string }
  | { type: 'tool'; answer: string; id: string; name: string; arguments: Record<string, unknown>; problem?: string }
  /** `broken`: by the caller's voice, or by us. */
  | { type: 'answer_done'; answer: string; broken: boolean }
  /** Null: it had not begun. */
  | { type: 'answer_failed'; answer: string | null; error: ProviderError }
  /** The session is lost. */
  | { type: 'ended'; error: ProviderError }

export interface RealtimeStream {
  /** The caller's sound. */
  push(frame: AudioFrame): void
  /** What was said or done without the model: noted, not answered. */
  tell(message: ChatMessage): void
  /** What a tool gave that it has called. */
  giveResult(result: Extract<ChatMessage, { role: 'tool' }>): void
  /** Asks for an answer; when one is being given, after it. */
  respond(): void
  /** The caller took the floor by other means than voice: what is being said is given up. */
  cancel(): void
  /** So much of a spoken item was heard. */
  truncate(item: string, heardMs: number): void
  close(): void
}

export interface RealtimeModel {
  /** For the record, such as `openai_realtime/gpt-realtime`. */
  readonly name: string
  open(options: RealtimeOptions): RealtimeStream
}

// ---- what the project knows ----

export interface KnowledgeHit {
  text: string
  /** Name of the source, for the transcript. */
  source: string
}
/** Rejects when there is no answer in time. */
export type SearchKnowledge = (query: string, signal: AbortSignal) => Promise<KnowledgeHit[]>

// ---- HTTP to the outside ----

export interface FetchRequest {
  url: string
  method: 'GET' | 'POST' | 'HEAD'
  headers: Record<string, string>
  body: string | null
  timeoutMs: number
  maxBytes: number
  maxRedirects: number
  signal: AbortSignal
}
export interface FetchResponse {
  status: number
  /** Lower-case names. */
  headers: Record<string, string>
  body: Buffer
  /** Where the answer came from, after redirects. */
  url: string
}
export type FetchErrorCode =
  | 'blocked_address'
  | 'bad_url'
  | 'timeout'
  | 'too_large'
  | 'too_many_redirects'
  | 'network'
  | 'aborted'
/** Thrown by `Fetch`, and nothing else is. */
export class FetchError extends Error {
  readonly code: FetchErrorCode
  constructor(code: FetchErrorCode, message: string) {
    super(message)
    this.name = 'FetchError'
    this.code = code
  }
}
/** The only way to a URL that a customer gave: guards against SSRF at connect. */
export type Fetch = (request: FetchRequest) => Promise<FetchResponse>
