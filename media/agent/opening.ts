/**
 * The beginning of an outbound call: detects who answered before the agent speaks, so that it neither interrupts a
 * "hello" nor talks to a machine. It greets a person, tells a call screening who calls and why, and leaves a voicemail
 * message after the beep.
 */
import { type AnsweringEffect, type AnsweringResult, answeredBy, type Evidence } from '../answering/detector.ts'
import { AnsweringListener } from '../answering/listener.ts'
import type { AnsweredBy } from '../contract/messages.ts'
import type { CallPlan } from '../contract/plan.ts'
import type { AudioFrame } from '../ports/leg.ts'
import type { SttStream, Tts } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import { type Phrases, phrasesFor } from './phrases.ts'

export interface OpeningOptions {
  plan: CallPlan
  sampleRate: number
  clock: Clock
  stt: Pick<SttStream, 'transcribe'>
  signal: AbortSignal
  /** Receives what was said before the agent spoke. */
  onHeard(words: { text: string; startMs: number; endMs: number }): void
  /** Speaks the disclosure if there is one, then the greeting. */
  greet(): void
  /** Listens without speaking: a menu speaks first. */
  listen(): void
  /** Stops speaking, because a machine answered. */
  hush(): void
  /** Speaks the message, which includes the disclosure if there is one. */
  leaveMessage(text: string): void
  hangUp(): void
  note(evidence: Evidence): void
}

const PAUSE_MS = 400
/** Milliseconds of silence before speech that may be an answer to us; a recording pauses for less. */
const BREATH_MS = 700
const TALKS_ANYWAY_MS = 1000
const WAIT_MOST_MS = 6000

/** Returns the disclosure, the recording notice and the greeting. */
export function openingLines(plan: CallPlan, phrases: Phrases): string[] {
  const notice = plan.recording ? plan.recording_notice : null
  return [plan.disclosure, notice, plan.greeting ?? phrases.greeting].filter(text => text !== null)
}

/** Synthesises the first sentence before it is due, into the phrase cache (`phrase-cache.ts`). */
export async function presynthesize(plan: CallPlan, tts: Tts, signal: AbortSignal): Promise<void> {
  const { language, voice } = plan
  const [text] = openingLines(plan, phrasesFor(language))
  if (text === undefined) return
  for await (const _ of tts.speak({ text, voice, language, keep: true }, signal));
}

export class Opening {
  readonly #options: OpeningOptions
  readonly #listener: AnsweringListener
  #heard: { text: string; startMs: number; endMs: number } | null = null
  #greeted = false
  #voicedMs = 0
  /** Latest time for the greeting, which otherwise waits for a pause in the speech of whoever answered. */
  #greetBy: number | null = null
  #greetedMs: number | null = null
  #answeredUs = false
  /** True while the speech belongs to the detection, not yet to the conversation's turns. */
  #holding = true
  #closed = false

  constructor(options: OpeningOptions) {
    this.#options = options
    this.#listener = new AnsweringListener({
      sampleRate: options.sampleRate,
      clock: options.clock,
      stt: { transcribe: (fromMs, toMs, signal) => this.#read(fromMs, toMs, signal) },
      signal: options.signal,
      onResult: found => this.#onResult(found),
      onSpeak: () => this.#onMessageTime(),
      onNoMessage: () => !this.#closed && options.hangUp(),
    })
  }

  get holding(): boolean {
    return this.#holding
  }

  get done(): boolean {
    return (this.#listener.done || this.#answeredUs) && !this.#holding
  }

  get answeredBy(): AnsweredBy {
    const detected = answeredBy(this.#listener.result)
    return this.#answeredUs && detected === 'unknown' ? 'human' : detected
  }

  /** Stops deciding: another person speaks from now on. */
  giveWay(): void {
    this.#closed = true
    this.#release()
  }

  sound(frame: AudioFrame): void {
    this.#listener.sound(frame)
  }

  voice(reading: { voiced: boolean; atMs: number; windowMs: number }, loudMs: number): void {
    if (this.#answeredUs) return
    if (reading.voiced) {
      const begins = reading.atMs - this.#voicedMs >= BREATH_MS
      const late = this.#greetedMs !== null && reading.atMs >= this.#greetedMs + TALKS_ANYWAY_MS
      // A far end that waits for our greeting and then speaks is answering it, whatever the words: "What are your
      // opening hours?"
      if (begins && late && !this.#holding) this.#answeredUs = true
      this.#voicedMs = reading.atMs
    }
    if (!this.#answeredUs) this.#listener.voice(reading, loudMs)
  }

  tick(atMs: number): void {
    this.#listener.tick(atMs)
    const due = this.#greetBy !== null && (atMs - this.#voicedMs >= PAUSE_MS || atMs >= this.#greetBy)
    if (due) this.#greet()
  }

  async #read(fromMs: number, toMs: number, signal: AbortSignal) {
    const transcript = await this.#options.stt.transcribe(fromMs, toMs, signal)
    if (transcript.text.trim() !== '') {
      this.#heard = { text: transcript.text.trim(), startMs: this.#heard?.startMs ?? fromMs, endMs: toMs }
    }
    return transcript
  }

  #onResult(found: Extract<AnsweringEffect, { type: 'result' }>): void {
    const { listen, hush, hangUp, note, plan } = this.#options
    if (this.#answeredUs || this.#closed) return
    note(found)
    switch (actionFor(found.result, plan)) {
      case 'greet':
        // Greeted before and stopped since, when it seemed to be a voicemail: half of the greeting was played, so greet
        // again.
        if (this.#greeted && !this.#holding) return
        if (found.talking) this.#greetBy = found.atMs + WAIT_MOST_MS
        else this.#greet()
        return
      case 'listen':
        if (this.#greeted && !this.#holding) return
        this.#release()
        listen()
        return
      case 'message':
        this.#greetBy = null
        hush()
        this.#holding = true
        return
      case 'hang_up':
        hush()
        hangUp()
    }
  }

  #greet(): void {
    this.#greetBy = null
    this.#greetedMs = this.#options.clock.now()
    this.#release()
    this.#options.greet()
  }

  #release(): void {
    this.#greeted = true
    this.#holding = false
    if (this.#heard) this.#options.onHeard(this.#heard)
    this.#heard = null
  }

  #onMessageTime(): void {
    if (this.#closed) return
    const { plan, leaveMessage, hangUp } = this.#options
    const { disclosure, voicemail } = plan
    if (voicemail.action === 'leave_message') leaveMessage([disclosure, voicemail.text].filter(Boolean).join(' '))
    else hangUp()
  }
}

/** A menu suits a model that can press keys; the scripted policy cannot. */
function actionFor(result: AnsweringResult, { voicemail, llm }: CallPlan): 'greet' | 'listen' | 'message' | 'hang_up' {
  switch (result) {
    case 'human':
    case 'screening':
    case 'unknown':
      return 'greet'
    case 'voicemail':
      return voicemail.action === 'leave_message' ? 'message' : 'hang_up'
    case 'ivr':
      return llm.provider === 'scripted' ? 'hang_up' : 'listen'
    case 'fax':
      return 'hang_up'
  }
}
