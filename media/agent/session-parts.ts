/**
 * The parts that every conversation has, whichever model it runs on: transcript, context of the model, tools, speech
 * output, and the events that leave. It also speaks the texts that are not the model's.
 */
import type { CallEventBody, EndedReason } from '../contract/messages.ts'
import { LAST_WORD_MS } from './answers.ts'
import { Briefing } from './briefing.ts'
import type { ConversationOptions } from './conversation-options.ts'
import { Disclosure } from './disclosure.ts'
import { type OpeningOptions, openingLines } from './opening.ts'
import { type Phrases, phrasesFor } from './phrases.ts'
import { SpeechOutput, type SpeechOutputOptions } from './speech-output.ts'
import { Subtitles } from './subtitles.ts'
import { Toolbox } from './toolbox.ts'
import { CallTranscript } from './transcript.ts'

/** Milliseconds without a pull after which the far end had the call on hold or was away; our own stalls are shorter. */
export const HELD_MS = 1000

/** Words of a person, with the times when they began and ended, in ms of the clock. */
export interface SaidWords {
  text: string
  startMs: number
  endMs: number
}

export class SessionParts {
  readonly transcript: CallTranscript
  readonly phrases: Phrases
  /** When the call was answered, in ms of the clock. */
  readonly answeredMs: number
  readonly disclosure: Disclosure
  readonly subtitles: Subtitles
  readonly speechOutput: SpeechOutput
  readonly toolbox: Toolbox
  readonly briefing: Briefing
  /** True once the agent's last words are chosen or the far end is gone: nothing new begins. */
  ending = false
  readonly #options: ConversationOptions
  readonly #stopped = new AbortController()
  #stoppedMs: number | null = null

  constructor(
    options: ConversationOptions,
    reactions: Pick<SpeechOutputOptions, 'onStarted' | 'onVoiceFailed' | 'onSaid' | 'onFinished'>,
  ) {
    const { plan, sampleRate, clock, log, tts, continues } = options
    this.#options = options
    this.transcript = continues?.transcript ?? new CallTranscript()
    this.phrases = phrasesFor(plan.language)
    this.answeredMs = continues?.answeredMs ?? clock.now()
    this.disclosure = continues?.disclosure ?? new Disclosure(plan.disclosure)
    this.subtitles = continues?.subtitles ?? new Subtitles(options.show)
    const { transcript, phrases, answeredMs, signal } = this
    const shared = { clock, transcript, answeredMs, signal }
    this.speechOutput = new SpeechOutput({
      ...shared,
      ...reactions,
      sampleRate,
      log,
      tts,
      voice: plan.voice,
      language: plan.language,
      emit: body => {
        this.disclosure.note(body)
        this.emit(body)
      },
    })
    const warm = (text: string) => void this.speechOutput.warm(text)
    this.toolbox = new Toolbox({ ...options, ...shared, phrases, warm })
    const tools = () => this.toolbox.declared
    this.briefing = continues?.briefing ?? new Briefing({ plan, clock, transcript, tools })
  }

  /** Aborts when the far end is gone. */
  get signal(): AbortSignal {
    return this.#stopped.signal
  }

  get talkedMs(): number {
    return Math.round((this.#stoppedMs ?? this.#options.clock.now()) - this.answeredMs)
  }

  /** True when a machine may have answered: the agent must not speak before that is known. */
  get detectsAnswer(): boolean {
    const { plan, continues } = this.#options
    return plan.direction === 'out' && plan.voicemail.action !== 'ignore' && !continues
  }

  /**
   * Completes the options of answering detection by those that are the same for every model. `sampleRate`: of the audio
   * that it will get, in Hz.
   */
  answerDetection(
    sampleRate: number,
    agent: Pick<OpeningOptions, 'onHeard' | 'greet' | 'listen' | 'hush' | 'leaveMessage'>,
  ): Omit<OpeningOptions, 'stt'> {
    const { plan, clock, log, onHangup } = this.#options
    return {
      ...agent,
      plan,
      sampleRate,
      clock,
      signal: this.signal,
      note: ({ result, rule, atMs }) =>
        log.info({ result, rule, ms: this.#fromAnswer(atMs) }, 'answering machine detection finished'),
      hangUp: () => onHangup('voicemail_hangup'),
    }
  }

  emit(body: CallEventBody): void {
    this.subtitles.note(body)
    this.#options.emit(body)
  }

  say(text: string): void {
    this.speechOutput.say(text)
    this.speechOutput.finish()
  }

  /** Speaks `text`, then hangs up. */
  sayLast(text: string, reason: EndedReason): void {
    const { clock, onHangup } = this.#options
    this.say(text)
    this.speechOutput.whenQuiet(() => clock.after(LAST_WORD_MS, () => onHangup(reason)))
  }

  sayFirstWords(): void {
    for (const text of openingLines(this.#options.plan, this.phrases)) this.speechOutput.say(text)
    this.speechOutput.finish()
  }

  /** Synthesises the first words, which are spoken when it is known who answered. */
  warmFirstWords(): void {
    for (const text of openingLines(this.#options.plan, this.phrases)) void this.speechOutput.warm(text)
  }

  /** Adds a turn of the caller, spoken, typed, or pressed as keys. */
  callerSaid({ keys, ...said }: SaidWords & { keys: boolean }): void {
    this.emit({ type: 'turn.finished', turn: this.transcript.caller(this.#timed(said), keys), latency: null })
  }

  operatorSaid(said: SaidWords): void {
    this.emit({ type: 'turn.finished', turn: this.transcript.operator(this.#timed(said)), latency: null })
  }

  /** The far end is gone, since `atMs` or now: ends the speech, the answers and the tools. */
  stop(atMs: number | undefined, answers: { abort(): void }): void {
    this.#stoppedMs = atMs ?? this.#options.clock.now()
    this.ending = true
    this.#stopped.abort()
    this.speechOutput.cut()
    answers.abort()
    this.speechOutput.settle()
  }

  #timed({ text, startMs, endMs }: SaidWords): { text: string; started_ms: number; ended_ms: number } {
    return { text, started_ms: this.#fromAnswer(startMs), ended_ms: this.#fromAnswer(endMs) }
  }

  #fromAnswer(atMs: number): number {
    return Math.max(0, Math.round(atMs - this.answeredMs))
  }
}
