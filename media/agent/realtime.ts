/**
 * Runs the spoken conversation of one call on a speech-to-speech model. When its session is lost for good, a
 * `Conversation` on the pipeline continues the same call with the same transcript; it also listens while a person
 * speaks instead of the agent.
 */
import type { AnsweredBy, EndedReason } from '../contract/messages.ts'
import type { AudioFrame } from '../ports/leg.ts'
import type { LlmRequest } from '../ports/llm.ts'
import type { ProviderError } from '../ports/realtime-model.ts'
import type { AgentSession } from './agent-session.ts'
import { Conversation } from './conversation.ts'
import type { RealtimeConversationOptions } from './conversation-options.ts'
import type { Phrases } from './phrases.ts'
import { RealtimeAgent } from './realtime-agent.ts'
import { type SaidWords, SessionParts } from './session-parts.ts'
import type { CallTranscript } from './transcript.ts'

export class RealtimeConversation implements AgentSession {
  readonly #options: RealtimeConversationOptions
  readonly #parts: SessionParts
  readonly #agent: RealtimeAgent
  /** Holds the call instead of `#agent`: after the session is lost for good, or while a person speaks. */
  #next: Conversation | null = null
  #aside: 'no' | 'session closed' | 'as ordinary' = 'no'
  #ulaw: Uint8Array | null = null

  constructor(options: RealtimeConversationOptions) {
    this.#options = options
    this.#parts = new SessionParts(options, {
      onStarted: () => {},
      onVoiceFailed: () => {}, // the model may still be audible
      onSaid: text => this.#agent.tellOwnWords(text),
      onFinished: () => this.#parts.speechOutput.settle(),
    })
    this.#agent = new RealtimeAgent(options, this.#parts, {
      endWith: (text, reason) => this.endWith(text, reason),
      onLost: (code, apologise) => this.#handOver(code, apologise),
    })
  }

  start(): void {
    this.#agent.start()
  }

  // ---- the leg's side ----

  pull(atMs: number): Int16Array | null {
    const { speechOutput } = this.#parts
    this.#ulaw = null
    if (!this.#next) this.#agent.tick(this.#options.clock.now())
    // Speech that has started plays to its end, also when the tick handed the call over.
    if (speechOutput.active && !this.#agent.begun) return speechOutput.pull(atMs)
    const frame = this.#agent.pull(atMs)
    this.#ulaw = frame?.ulaw ?? null
    if (frame || this.#agent.speaking || !this.#next) return frame?.pcm ?? null
    return this.#next.pull(atMs)
  }

  ulaw(): Uint8Array | null {
    return this.#ulaw
  }

  push(frame: AudioFrame): void {
    const holder = this.#next ?? this.#agent
    holder.push(frame)
  }

  dtmf(digit: string): void {
    const holder = this.#next ?? this.#agent
    holder.dtmf(digit)
  }

  text(text: string): void {
    const holder = this.#next ?? this.#agent
    holder.text(text)
  }

  // ---- the call's side ----

  get transcript(): CallTranscript {
    return this.#parts.transcript
  }

  get phrases(): Phrases {
    return this.#parts.phrases
  }

  get doNotCall(): boolean {
    return this.#agent.doNotCall || (this.#next?.doNotCall ?? false)
  }

  get answeredBy(): AnsweredBy {
    return this.#agent.answeredBy
  }

  get talkedMs(): number {
    return this.#parts.talkedMs
  }

  endWith(text: string, reason: EndedReason): void {
    if (this.#parts.ending) return
    this.#parts.ending = true
    this.#agent.abort()
    this.#agent.cancel()
    this.#parts.speechOutput.cut()
    this.#parts.speechOutput.settle()
    if (this.#next) this.#next.endWith(text, reason)
    else this.#parts.sayLast(text, reason)
  }

  stepAside(): boolean {
    if (this.#parts.ending) return false
    if (this.#aside !== 'no') return true
    if (this.#next) {
      this.#aside = 'as ordinary'
      return this.#next.stepAside()
    }
    this.#aside = 'session closed'
    const unheard = this.#agent.leave()
    this.#next = this.#ordinary()
    this.#next.stepAside()
    for (const frame of unheard) this.#next.push(frame)
    return true
  }

  stepIn(): void {
    if (this.#aside === 'no' || this.#parts.ending) return
    if (this.#aside === 'as ordinary') this.#next!.stepIn()
    else {
      this.#next!.stop()
      this.#next = null
      this.#agent.comeBack()
    }
    this.#aside = 'no'
  }

  operatorSaid(said: SaidWords): void {
    this.#parts.operatorSaid(said)
  }

  instruct(text: string): void {
    const holder = this.#next ?? this.#agent
    holder.instruct(text)
  }

  stop(atMs?: number): void {
    if (this.#parts.signal.aborted) return
    this.#parts.stop(atMs, this.#agent)
    this.#next?.stop()
    this.#agent.close()
  }

  async settled(): Promise<void> {
    await this.#agent.settled()
    await this.#next?.settled()
  }

  request(): LlmRequest {
    return this.#parts.briefing.request()
  }

  /** `apologise`: the caller is waiting for something that was lost. */
  #handOver(code: ProviderError['code'], apologise: boolean): void {
    const { emit, realtime } = this.#options
    emit({ type: 'provider.switched', kind: 'llm', from: realtime.name, to: 'pipeline', code })
    this.#next = this.#ordinary()
    this.#next.takeOver(apologise ? this.#parts.phrases.trouble : null)
  }

  #ordinary(): Conversation {
    return new Conversation({
      ...this.#options,
      onHangup: reason => this.#options.onHangup(reason),
      continues: this.#parts,
    })
  }
}
