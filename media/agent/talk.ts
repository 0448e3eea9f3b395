/** What a call has of its agent, whoever does the thinking. */
import type { AnsweredBy, EndedReason } from '../contract/messages.ts'
import type { LegSink, LlmRequest } from '../ports.ts'
import type { Journal } from './journal.ts'
import type { Phrases } from './phrases.ts'

export interface Talk extends LegSink {
  readonly journal: Journal
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
  /** The far end is gone: whatever runs is given up. */
  stop(): void
  /** After `stop`: what was running is in the journal. */
  settled(): Promise<void>
  /** For a text model: what was said, and in what circumstances. */
  request(): LlmRequest
}
