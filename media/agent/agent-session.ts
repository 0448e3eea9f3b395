/** What a call has of its agent, whoever does the thinking. */
import type { AnsweredBy, EndedReason } from '../contract/messages.ts'
import type { LegSink } from '../ports/leg.ts'
import type { LlmRequest } from '../ports/llm.ts'
import type { Phrases } from './phrases.ts'
import type { CallTranscript } from './transcript.ts'

/** What people who follow a call do to its agent. */
export type Operated = Pick<AgentSession, 'stepAside' | 'stepIn' | 'operatorSaid' | 'instruct'>

export interface AgentSession extends LegSink {
  readonly transcript: CallTranscript
  readonly phrases: Phrases
  /** The caller asked never to be called again. */
  readonly doNotCall: boolean
  readonly answeredBy: AnsweredBy
  /** Talked milliseconds by now. */
  readonly talkedMs: number
  /** Begins to speak, at once or when it is known who answered. */
  start(): void
  /** Stops whatever is being said, says this one thing, and hangs up for that reason. */
  endWith(text: string, reason: EndedReason): void
  /** A person speaks in the agent's place: it is silent, listens and writes down. False: the call is ending. */
  stepAside(): boolean
  /** That person has left. */
  stepIn(): void
  /** Words of that person to the caller. */
  operatorSaid(said: { text: string; startMs: number; endMs: number }): void
  /** What the agent alone is told; it knows it from its next answer on. */
  instruct(text: string): void
  /** The far end is gone, since `atMs` if that is longer ago: whatever runs is given up. */
  stop(atMs?: number): void
  /** After `stop`: what was running is in the transcript. */
  settled(): Promise<void>
  /** For a text model: what was said, and in what circumstances. */
  request(): LlmRequest
}
