/**
 * The caller's wait for an answer of a speech-to-speech model: the latency of the answer, the phrase that bridges a
 * long wait, and when the model counts as stalled.
 */
import type { TurnLatency } from '../contract/messages.ts'
import type { Clock } from '../shared/clock.ts'
import { THINKING_MS } from './answers.ts'
import type { Phrases } from './phrases.ts'
import type { SpeechOutput } from './speech-output.ts'
import type { CallTranscript } from './transcript.ts'

/** Reference times for the latency of the next answer. */
export interface Asked {
  endMs: number
  committedMs: number
}

export interface AnswerWaitOptions {
  clock: Clock
  transcript: CallTranscript
  speechOutput: SpeechOutput
  phrases: Phrases
}

/** Milliseconds without an answer after which a new session is opened: such a model normally starts within a second. */
const STALLED_MS = 8000

export class AnswerWait {
  readonly #options: AnswerWaitOptions
  #waiting: { sinceMs: number; bridged: boolean } | null = null
  #asked: Asked | null = null

  constructor(options: AnswerWaitOptions) {
    this.#options = options
  }

  /** True until something of the awaited answer is played. */
  get open(): boolean {
    return this.#waiting !== null
  }

  /** Begins with the end of the caller's turn. */
  beginWith(asked: Asked): void {
    this.#asked = asked
    this.begin()
  }

  begin(): void {
    this.#waiting = { sinceMs: this.#options.clock.now(), bridged: false }
  }

  end(): void {
    this.#waiting = null
  }

  /** The answer is audible from `atMs` on. Returns its latency; null if it answers no turn of the caller. */
  endAt(atMs: number): TurnLatency | null {
    const [waiting, asked] = [this.#waiting, this.#asked]
    this.#waiting = null
    this.#asked = null
    if (!asked) return null
    const latency: TurnLatency = {
      total_ms: Math.round(atMs - asked.endMs),
      endpointing_ms: Math.round(asked.committedMs - asked.endMs),
      stt_ms: 0,
      llm_first_token_ms: waiting ? Math.round(atMs - waiting.sinceMs) : 0,
      tts_first_byte_ms: 0,
      filler: false,
    }
    this.#options.transcript.latencies.push(latency)
    return latency
  }

  /** Call it with each pulled frame while no tool runs. Returns true when the model has stopped responding. */
  tick(nowMs: number, soundBusy: boolean): boolean {
    if (!this.#waiting) return false
    const waitedMs = nowMs - this.#waiting.sinceMs
    if (waitedMs >= STALLED_MS) return true
    if (!this.#waiting.bridged && !soundBusy && waitedMs >= THINKING_MS) {
      this.#waiting.bridged = true
      this.bridge(this.#options.phrases.oneMoment)
    }
    return false
  }

  /** Speaks a filler; the latency of the turn is the filler's. */
  bridge(text: string): void {
    const { speechOutput } = this.#options
    if (this.#asked) speechOutput.expect({ ...this.#asked, sttMs: 0 })
    this.#asked = null
    speechOutput.say(text, true)
    speechOutput.finish()
  }
}
