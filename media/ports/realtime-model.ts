/** Speech-to-speech models. */

import type { ProviderSwitch } from '../contract/messages.ts'
import type { AudioFrame } from './leg.ts'
import type { ChatMessage, LlmTool } from './llm.ts'

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
