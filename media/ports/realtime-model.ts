/** Port for speech-to-speech models. */

import type { ProviderSwitch } from '../contract/messages.ts'
import type { AudioFrame } from './leg.ts'
import type { ChatMessage, LlmTool } from './llm.ts'

export interface RealtimeOptions {
  /** Sample rate of the leg in Hz. */
  sampleRate: number
  /** Prompt, task and rules of the call. */
  instructions: string
  /** Stands in the marks of untrusted text, and `instructions` explain it. */
  boundary: string
  language: string
  tools: readonly LlmTool[]
  /** Conversation so far, when this session replaces one that was lost. */
  history: readonly ChatMessage[]
  /** Called in order; never after `ended` or after `close`. */
  onEvent(event: RealtimeEvent): void
}

export interface ProviderError extends Error {
  code: ProviderSwitch['code']
  /** True when the same request may succeed on retry. */
  retryable: boolean
}

/** `answer` and `item` are the vendor's ids: an answer consists of spoken items and tool calls. */
export type RealtimeEvent =
  | { type: 'ready' }
  | { type: 'caller_started' }
  /** The caller's turn is over; the model answers without a request. The transcript follows later as `caller_said`. */
  | { type: 'caller_done'; item: string }
  /** `text` is null when the speech could not be transcribed. */
  | { type: 'caller_said'; item: string; text: string | null }
  | { type: 'answer_started'; answer: string }
  | { type: 'speech'; answer: string; item: string; pcm: Int16Array; ulaw: Uint8Array | null }
  | { type: 'words'; answer: string; item: string; delta: string }
  /** No more audio of this item follows. */
  | { type: 'speech_done'; answer: string; item: string }
  | { type: 'tool'; answer: string; id: string; name: string; arguments: Record<string, unknown>; problem?: string }
  /** `broken`: the caller's voice or our `cancel` interrupted the answer. */
  | { type: 'answer_done'; answer: string; broken: boolean }
  /** `answer` is null when the answer had not started. */
  | { type: 'answer_failed'; answer: string | null; error: ProviderError }
  /** The session is lost. */
  | { type: 'ended'; error: ProviderError }

export interface RealtimeStream {
  /** Sends 20 ms of the caller's audio. */
  push(frame: AudioFrame): void
  /** Adds something that was said or done without the model to its context; it does not answer. */
  addMessage(message: ChatMessage): void
  /** Adds instructions for the next answers; the caller does not hear them. */
  instruct(text: string): void
  /** Returns the result of a tool that the model called. */
  addToolResult(result: Extract<ChatMessage, { role: 'tool' }>): void
  /** Requests an answer, after the current one if there is one. */
  respond(): void
  /** Cancels the current answer because the caller took the turn by other means than voice. */
  cancel(): void
  /** Reports how many milliseconds of a spoken item were played. */
  truncate(item: string, heardMs: number): void
  close(): void
}

export interface RealtimeModel {
  /** Provider and model for the call record, such as `openai_realtime/gpt-realtime`. */
  name: string
  open(options: RealtimeOptions): RealtimeStream
}
