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
import type { SipTrace } from './contract/sip-trace.ts'
import type { SoftphonePlan, SoftphoneState } from './contract/softphones.ts'

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
  /** True when this is made up: its packet was lost, or none was sent because the far end is silent. */
  concealed: boolean
}

/** The call's side of a leg: the leg pulls a frame every 20 ms and pushes what it hears. */
export interface LegSink {
  /** Exactly 20 ms at the leg's rate, or null for silence. `atMs`: when it goes on the wire. */
  pull(atMs: number): Int16Array | null
  /** µ-law bytes of the frame pulled last, where its maker gave them: a leg that speaks µ-law sends them untouched. */
  ulaw?(): Uint8Array | null
  push(frame: AudioFrame): void
  /** In place of `push` while the far end has put us on hold: its music, if any, and nobody's words. */
  held?(frame: AudioFrame): void
  /** A key of the far end, once a press: `0-9*#A-D`. `inSound`: its tones were in the frames that were pushed. */
  dtmf(digit: string, inSound?: boolean): void
  /** Words of the far end that were typed, not said. */
  text?(text: string): void
}

export interface LegEnd {
  by: 'remote' | 'local' | 'network'
  reason: EndedReason
  /** When the far end was last there, where that is longer ago. */
  atMs?: number
}

/** What a leg with a screen at its far end may show of the conversation while it goes on. */
export type Shown =
  /** As LiveKit names them in `lk.agent.state`. */
  | { type: 'state'; state: 'listening' | 'thinking' | 'speaking' }
  /** The words of a turn so far; the same `segment` again replaces them. Of the agent: those that were heard. */
  | { type: 'words'; who: 'caller' | 'agent'; segment: string; text: string; final: boolean }

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
  /**
   * Has the far end's side connect it to somebody else, or to who `consulted` leads to; the leg ends as `transferred` when
   * that worked. Absent: it can't.
   */
  transfer?(to: string, consulted?: Leg): Promise<TransferResult>
  /** From where a second leg may be dialled to. Absent: from nowhere. */
  readonly line?: Line
  /** Absent: nobody looks. */
  show?(shown: Shown): void
  stats(): MediaStats
}

/** The trunk that a leg runs over. */
export interface Line {
  trunkId: string
  /** Ours in this call. */
  number: string
  transfer: TrunkPlan['transfer']
  /** It takes so many calls at once, and no more. */
  limited?: boolean
}

/**
 * `refused`: the carrier does no transfers, or not this one, so a second leg of ours may reach who is asked for; `failed`:
 * the carrier tried, and who is asked for did not answer; `unknown`: it took the order and never said what came of it;
 * `invalid`: that is nobody who can be called; `busy`: one at a time; `gone`: the call is over.
 */
export type TransferFailure = 'refused' | 'failed' | 'unknown' | 'invalid' | 'busy' | 'gone'
/** `reason`: words for the model. */
export type TransferResult = { ok: true } | { ok: false; code: TransferFailure; reason: string }

/** Why a dial got no leg. */
export interface DialFailure {
  status: Exclude<FinalStatus, 'completed'>
  reason: EndedReason
  sipCode: number | null
}

/** What was spoken over SIP for the calls of this engine. */
export interface CallTraces {
  /** All of a call, and what it shows; once. Null when nothing was spoken. */
  take(call: { callId: string; media: MediaStats | null; reason: EndedReason }): SipTrace | null
}

export type DialResult = { ok: true; leg: Leg } | { ok: false; failure: DialFailure }

export interface DialOptions {
  plan: CallPlan
  /** Abort cancels the attempt: the result is then `canceled`, or a leg that was answered first and already hung up. */
  signal: AbortSignal
  onRinging(): void
  /** What its line sounds like before it is answered, at `sampleRate` (Hz). Left out: nobody listens. */
  onEarlySound?(frame: AudioFrame, sampleRate: number): void
  /** The number of ours that this call had come to, where it is one that was sent on (RFC 5806). */
  divertedFrom?: string
  /** How long it may wait for its turn, where the trunk takes so many calls a second; left out: as long as a call may. */
  patienceMs?: number
}

/** Makes legs. Never throws: everything that goes wrong is a `DialFailure`. */
export interface Dialer {
  dial(options: DialOptions): Promise<DialResult>
}

// ---- LiveKit rooms ----

/** How the engine gets into a room. */
export interface RoomSeat {
  /** `ws:` or `wss:`. */
  url: string
  token: string
}

/** Legs and other seats in LiveKit rooms. */
export interface Rooms {
  /** The leg of a web call, whose caller waits in the plan's room. Never throws. */
  join(options: { plan: CallPlan; token: string; signal: AbortSignal }): Promise<DialResult>
  /** Rejects when the room can't be had. */
  openMonitor(options: MonitorRoomOptions): Promise<MonitorRoom>
}

export interface MonitorRoomOptions {
  seat: RoomSeat
  /** Of the sound both ways, in Hz. */
  sampleRate: number
  log: Log
  /** Abort gives up joining. */
  signal?: AbortSignal
  onJoined(identity: string): void
  onLeft(identity: string): void
  onSound(identity: string, frame: AudioFrame): void
  /** Typed, not said. */
  onText(identity: string, text: string): void
  /** The room is lost; no more events come. */
  onClosed(): void
}

/** Where operators hear a live call and are heard. */
export interface MonitorRoom {
  /** Who is there already. */
  identities(): string[]
  /** 20 ms for them to hear; null is silence. */
  play(pcm: Int16Array | null): void
  close(): Promise<void>
}

export interface RefusalAnnouncement {
  text: string
  /** BCP 47. */
  language: string
}

/** The sound of a call that is not answered (RFC 3960): nobody pays for it. */
export interface EarlySound {
  /** Of the PCM, in Hz. */
  sampleRate: number
  /** Once. What the caller says isn't heard. */
  attach(pull: () => Int16Array | null): void
  /** Aborted when nobody hears it any more: the caller gave up, or it can't be encrypted. */
  signal: AbortSignal
}

/** A call that came in and waits for an answer. Exactly one of `answer` and `reject` is called. */
export interface InboundOffer {
  called: string
  caller: string
  /** Address that the INVITE came from. */
  source: string
  trunkId: string | null
  /** Of the softphone that proved to be who calls; then there is no trunk. */
  softphoneId?: string
  /** Aborted when the caller gave up (CANCEL) or the transport died before the answer. */
  signal: AbortSignal
  /** Null when the caller gave up meanwhile, or the media could not be agreed (the peer was told). */
  answer(): Promise<Leg | null>
  reject(refusal: Refusal): void
  /** What its caller is to hear before that refusal. Null: nothing. */
  announcementOf?(refusal: Refusal): RefusalAnnouncement | null
  /** Sound to the caller without an answer; once, and then nothing but `reject`, which ends it. Null: it can't be had. */
  early?(): Promise<EarlySound | null>
  /** It has become this call. */
  admitted?(callId: string): void
}

/** What engines must know of trunks without being asked. */
export interface TrunkDirectory {
  all(): readonly TrunkPlan[]
  /** Calls back at each change; returns what stops it. */
  onChange(run: () => void): () => void
}

/** Telephones that register with us. While Redis is away promises may take as long as it does. */
export interface Softphones {
  /** Whether there are any, as last heard. */
  any(): boolean
  /** Null: nobody has that name. */
  find(username: string): Promise<SoftphonePlan | null>
  /** Null: it never registered. */
  state(id: string): Promise<SoftphoneState | null>
  /** `next` makes the new state of the old one, more than once when others do so too; null leaves it. */
  change(id: string, next: (before: SoftphoneState | null) => SoftphoneState | null): Promise<void>
  /** Whether `count` is higher than every count told of that nonce before. */
  countUp(nonce: string, count: number, keptMs: number): Promise<boolean>
  /** Addresses and CIDRs that are shut out for now. */
  banned(): string[]
  ban(network: string, forMs: number): Promise<void>
  /** Calls back when there are some or none any more, or who is banned changes; returns what stops it. */
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

/** Events that could not be told yet, on disk: they outlive the process, but not what their disk does not. */
export interface EventJournal {
  /** Written behind what is there, at once or soon; a disk that says no is logged and costs no more than that. */
  append(events: readonly string[]): void
  /** All that was appended has been told. */
  clear(): void
  /** What earlier processes of this engine left, oldest first; `told`: now it has been. */
  left(): Promise<{ events: string[]; told(): Promise<void> }>
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
  /** For its next answers, beside its instructions; the caller does not hear it. */
  instruct(text: string): void
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

/** A passage that was found. */
export interface KnowledgeHit {
  chunk_id: string
  source_id: string
  /** Name of the source, for the transcript. */
  source: string
  /** The headings above it; empty when there are none. */
  heading: string
  text: string
}
/** The best first. Rejects when there is no answer in time. */
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
  /** What is beyond `maxBytes` is left out, instead of refused as `too_large`. */
  cut?: true
  /** Whether the body is read at all, by what came before it; without this it always is. */
  wants?(answer: { status: number; headers: Record<string, string> }): boolean
}
export interface FetchResponse {
  status: number
  /** Lower-case names. */
  headers: Record<string, string>
  /** Without any content coding; empty when it was not wanted. */
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
