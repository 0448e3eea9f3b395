/** The agent of a call, as the call uses it, whichever model it runs on. */
import type { AnsweredBy, EndedReason } from '../contract/messages.ts'
import type { LegSink } from '../ports/leg.ts'
import type { LlmRequest } from '../ports/llm.ts'
import type { Phrases } from './phrases.ts'
import type { CallTranscript } from './transcript.ts'

/** Operations that operators of a live call perform on its agent. */
export type AgentControls = Pick<AgentSession, 'stepAside' | 'stepIn' | 'operatorSaid' | 'instruct'>

export interface AgentSession extends LegSink {
  transcript: CallTranscript
  phrases: Phrases
  /** True when the caller asked never to be called again. */
  doNotCall: boolean
  answeredBy: AnsweredBy
  /** Milliseconds talked so far. */
  talkedMs: number
  /** Begins to speak: at once, or when answering detection knows who answered. */
  start(): void
  /** Stops the current speech, speaks `text`, and hangs up with `reason`. */
  endWith(text: string, reason: EndedReason): void
  /** Yields to a person: the agent is silent, but listens and transcribes. Returns false when the call is ending. */
  stepAside(): boolean
  /** Resumes after that person has left. */
  stepIn(): void
  /** Adds that person's speech to the transcript. */
  operatorSaid(said: { text: string; startMs: number; endMs: number }): void
  /** Adds an instruction for the agent alone, which applies from its next answer on. */
  instruct(text: string): void
  /** Stops everything, because the far end is gone: since `atMs`, or now. */
  stop(atMs?: number): void
  /** After `stop`, waits until running work is in the transcript. */
  settled(): Promise<void>
  /** Returns the conversation and its circumstances as a request to a text model. */
  request(): LlmRequest
}
