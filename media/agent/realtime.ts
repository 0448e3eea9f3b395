/**
 * Runs the spoken conversation of one call on a speech-to-speech model. TTS speaks the texts that must be verbatim (the
 * disclosure, the greeting, fillers, apologies, the goodbye): such a model does not guarantee wording, and may be
 * unavailable when the agent must apologise. When the session is lost, a new one is opened with the conversation so
 * far. When that is lost, too, a `Conversation` continues the same call with the same transcript.
 */
import type { AnsweredBy, CallEventBody, EndedReason } from '../contract/messages.ts'
import type { AudioFrame } from '../ports/leg.ts'
import type { LlmRequest } from '../ports/llm.ts'
import type { ProviderError, RealtimeEvent, RealtimeModel, RealtimeStream } from '../ports/realtime-model.ts'
import type { AgentSession } from './agent-session.ts'
import { LAST_WORD_MS } from './answers.ts'
import { Briefing } from './briefing.ts'
import { Conversation, type ConversationOptions } from './conversation.ts'
import { Disclosure } from './disclosure.ts'
import { type OpeningOptions, openingLines } from './opening.ts'
import { type Phrases, phrasesFor } from './phrases.ts'
import { RealtimeAnswers } from './realtime-answers.ts'
import { RealtimeCaller } from './realtime-caller.ts'
import { RealtimeOpening } from './realtime-opening.ts'
import { SpeechOutput } from './speech-output.ts'
import { Subtitles } from './subtitles.ts'
import { Toolbox } from './toolbox.ts'
import { CallTranscript } from './transcript.ts'
import { SILENCE_PROMPT_MS, SILENCE_PROMPTS } from './turn.ts'

export type RealtimeConversationOptions = Omit<ConversationOptions, 'continues'> & { realtime: RealtimeModel }

const MAX_FAILURES = 2
/** Milliseconds within which a second loss of the session switches to the pipeline instead of reopening it. */
const REOPEN_AGAIN_MS = 60_000
/** Milliseconds without a pull after which the call was on hold; our own stalls are shorter. */
const HELD_MS = 1000
const KEYS_END_MS = 1800
const KEYS_MOST = 64
/** Milliseconds after the hang-up in which the last transcripts may arrive. */
const LAST_WORDS_MS = 1500
export class RealtimeConversation implements AgentSession {
  readonly transcript = new CallTranscript()
  readonly phrases: Phrases
  readonly #options: RealtimeConversationOptions
  readonly #briefing: Briefing
  readonly #answeredMs: number
  readonly #disclosure: Disclosure
  readonly #speechOutput: SpeechOutput
  readonly #toolbox: Toolbox
  readonly #answers: RealtimeAnswers
  readonly #caller: RealtimeCaller
  readonly #stopped = new AbortController()
  #stream: RealtimeStream
  #reopenedMs = Number.NEGATIVE_INFINITY
  #failures = 0
  /**
   * The pipeline conversation: after the session is lost for the second time, or while a person speaks instead of the
   * agent.
   */
  #next: Conversation | null = null
  #aside: 'no' | 'session closed' | 'as ordinary' = 'no'
  readonly #subtitles: Subtitles
  /** The session is lost, but answering detection has not finished: switch to the pipeline afterwards. */
  #fallbackPending: ProviderError['code'] | null = null
  #opening: RealtimeOpening | null = null
  #answeredBy: AnsweredBy = 'unknown'
  #keys: { digits: string; lastMs: number } | null = null
  #quietSinceMs: number
  #tickedMs: number
  #prompts = 0
  #ulaw: Uint8Array | null = null
  #stoppedMs: number | null = null
  #ending = false
  #cancelReading = () => {}
  #onRead = () => {}

  constructor(options: RealtimeConversationOptions) {
    const { plan, sampleRate, clock, log, tts } = options
    const { transcript } = this
    this.#subtitles = new Subtitles(options.show)
    const emit = (body: CallEventBody) => this.#emit(body)
    this.#options = options
    this.phrases = phrasesFor(plan.language)
    this.#answeredMs = clock.now()
    this.#quietSinceMs = this.#answeredMs
    this.#tickedMs = this.#answeredMs
    this.#disclosure = new Disclosure(plan.disclosure)
    const shared = { clock, transcript, answeredMs: this.#answeredMs, signal: this.#stopped.signal, log }
    this.#speechOutput = new SpeechOutput({
      ...shared,
      sampleRate,
      tts,
      voice: plan.voice,
      language: plan.language,
      emit: body => {
        this.#disclosure.note(body)
        emit(body)
      },
      onStarted: () => {},
      onVoiceFailed: () => {}, // the model may still be audible
      onSaid: text => this.#tellOwnWords(text),
      onFinished: () => this.#speechOutput.settle(),
    })
    this.#toolbox = new Toolbox({
      ...options,
      ...shared,
      phrases: this.phrases,
      warm: text => void this.#speechOutput.warm(text),
    })
    this.#briefing = new Briefing({ plan, clock, transcript, tools: () => this.#toolbox.declared })
    this.#answers = new RealtimeAnswers({
      ...shared,
      sampleRate,
      speechOutput: this.#speechOutput,
      toolbox: this.#toolbox,
      disclosure: this.#disclosure,
      phrases: this.phrases,
      stream: () => this.#stream,
      emit,
      onFailed: error => this.#onFailed(error),
      onAnswered: () => (this.#failures = 0),
      onStalled: () => this.#onStalled(),
      endWith: (text, reason) => this.endWith(text, reason),
      onHangup: reason => options.onHangup(reason),
    })
    this.#caller = new RealtimeCaller({ ...shared, emit })
    this.#stream = this.#openSession()
    if (plan.direction === 'out' && plan.voicemail.action !== 'ignore') this.#opening = this.#waitForAnswer()
  }

  start(): void {
    if (this.#opening)
      for (const text of openingLines(this.#options.plan, this.phrases)) void this.#speechOutput.warm(text)
    else this.#greet()
  }

  // ---- the leg's side ----

  pull(atMs: number): Int16Array | null {
    this.#ulaw = null
    if (!this.#next) this.#showState()
    if (!this.#next) this.#tick(this.#options.clock.now())
    // Check again: the tick may have handed the call over. Speech that has started plays to its end.
    if (this.#speechOutput.active && !this.#answers.begun) return this.#speechOutput.pull(atMs)
    const frame = this.#answers.pull(atMs)
    this.#ulaw = frame?.ulaw ?? null
    if (frame || this.#answers.speaking || !this.#next) return frame?.pcm ?? null
    return this.#next.pull(atMs)
  }

  ulaw(): Uint8Array | null {
    return this.#ulaw
  }

  push(frame: AudioFrame): void {
    if (this.#next) {
      this.#next.push(frame)
      return
    }
    this.#caller.push(frame)
    this.#opening?.push(frame)
    if (!this.#opening?.holding && !this.#ending) this.#stream.push(frame)
  }

  dtmf(digit: string): void {
    if (this.#next) {
      this.#next.dtmf(digit)
      return
    }
    const { emit, clock } = this.#options
    emit({ type: 'dtmf.received', digit })
    if (this.#ending || this.#opening?.holding) return
    this.#takeTurn()
    this.#stream.cancel()
    const digits = (this.#keys?.digits ?? '') + (digit === '#' ? '' : digit)
    this.#keys = { digits, lastMs: clock.now() }
    if (digit === '#' || digits.length >= KEYS_MOST) this.#commitKeys()
  }

  text(text: string): void {
    if (this.#next) {
      this.#next.text(text)
      return
    }
    if (this.#ending || this.#opening?.holding) return
    const atMs = this.#options.clock.now()
    this.#takeTurn()
    this.#stream.cancel()
    this.#note({ text, keys: false, startMs: atMs, endMs: atMs })
    this.#prompts = 0
    this.#answers.expect({ endMs: atMs, committedMs: atMs })
    this.#stream.respond()
  }

  // ---- the call's side ----

  get doNotCall(): boolean {
    return this.#answers.doNotCall || (this.#next?.doNotCall ?? false)
  }

  get answeredBy(): AnsweredBy {
    return this.#answeredBy
  }

  get talkedMs(): number {
    return Math.round((this.#stoppedMs ?? this.#options.clock.now()) - this.#answeredMs)
  }

  endWith(text: string, reason: EndedReason): void {
    if (this.#ending) return
    const { clock, onHangup } = this.#options
    this.#ending = true
    this.#answers.abort()
    this.#stream.cancel()
    this.#speechOutput.cut()
    this.#speechOutput.settle()
    if (this.#next) {
      this.#next.endWith(text, reason)
      return
    }
    this.#speechOutput.say(text)
    this.#speechOutput.finish()
    this.#speechOutput.whenQuiet(() => clock.after(LAST_WORD_MS, () => onHangup(reason)))
  }

  stepAside(): boolean {
    if (this.#ending) return false
    if (this.#aside !== 'no') return true
    this.#opening?.giveWay()
    this.#closeOpening()
    this.#fallbackPending = null
    this.#aside = this.#next ? 'as ordinary' : 'session closed'
    return this.#next ? this.#next.stepAside() : this.#listenOn()
  }

  /** Listens without the session, because its model would answer. */
  #listenOn(): boolean {
    const unheard = this.#caller.talking || this.#caller.unread ? [...this.#caller.recent] : []
    this.#takeTurn()
    this.#stream.close()
    this.#answers.hold()
    this.#caller.forget()
    this.#next = this.#ordinary()
    this.#next.stepAside()
    for (const frame of unheard) this.#next.push(frame)
    return true
  }

  stepIn(): void {
    if (this.#aside === 'no' || this.#ending) return
    if (this.#aside === 'as ordinary') this.#next!.stepIn()
    else {
      this.#next!.stop()
      this.#next = null
      this.#stream = this.#openSession()
      this.#answers.release()
      this.#quietSinceMs = this.#options.clock.now()
      this.#prompts = 0
    }
    this.#aside = 'no'
  }

  operatorSaid({ text, startMs, endMs }: { text: string; startMs: number; endMs: number }): void {
    const fromAnswer = (atMs: number) => Math.max(0, Math.round(atMs - this.#answeredMs))
    const turn = this.transcript.operator({ text, started_ms: fromAnswer(startMs), ended_ms: fromAnswer(endMs) })
    this.#emit({ type: 'turn.finished', turn, latency: null })
  }

  instruct(text: string): void {
    if (this.#next) {
      this.#next.instruct(text)
      return
    }
    this.#briefing.add(text)
    this.#stream.instruct(text)
  }

  stop(atMs?: number): void {
    if (this.#stopped.signal.aborted) return
    this.#stoppedMs = atMs ?? this.#options.clock.now()
    this.#ending = true
    this.#stopped.abort()
    this.#speechOutput.cut()
    this.#answers.abort()
    this.#speechOutput.settle()
    this.#closeOpening()
    this.#next?.stop()
    if (!this.#caller.unread) this.#stream.close()
    else this.#cancelReading = this.#options.clock.after(LAST_WORDS_MS, () => this.#endReading())
  }

  async settled(): Promise<void> {
    await this.#answers.settled()
    if (this.#caller.unread) await new Promise<void>(resolve => (this.#onRead = resolve))
    await this.#next?.settled()
  }

  request(): LlmRequest {
    return this.#briefing.request()
  }

  #emit(body: CallEventBody): void {
    this.#subtitles.note(body)
    this.#options.emit(body)
  }

  /** The caller's last words are transcribed, or will not be. */
  #endReading(): void {
    this.#cancelReading()
    this.#caller.forget()
    this.#stream.close()
    this.#onRead()
  }

  // ---- the session ----

  #openSession(): RealtimeStream {
    const { realtime, sampleRate, plan } = this.#options
    return realtime.open({
      sampleRate,
      instructions: this.#briefing.system,
      language: plan.language,
      tools: this.#toolbox.declared,
      history: this.transcript.messages(),
      onEvent: event => this.#on(event),
    })
  }

  #on(event: RealtimeEvent): void {
    if (this.#next) return
    if (event.type === 'caller_said') this.#caller.said(event.item, event.text)
    if (this.#stopped.signal.aborted && (event.type === 'ended' || !this.#caller.unread)) this.#endReading()
    // Until answering detection has finished, the model does not talk to anybody.
    if (this.#ending || (this.#opening?.holding && event.type !== 'ended')) return
    switch (event.type) {
      case 'ready':
      case 'caller_said':
        return
      case 'caller_started':
        this.#caller.started()
        this.#takeTurn()
        return
      case 'caller_done':
        this.#prompts = 0
        this.#answers.expect(this.#caller.done(event.item))
        return
      case 'ended':
        this.#onLost(event.error)
        return
      default:
        this.#answers.on(event)
    }
  }

  /** An answer failed: the first time the agent apologises, then the pipeline takes over. */
  #onFailed(error: unknown): void {
    const { log } = this.#options
    log.warn({ err: error }, 'realtime model returned no answer')
    const failure = error as Partial<ProviderError> | null
    if (++this.#failures >= MAX_FAILURES || failure?.code === 'unauthorized') {
      this.#stream.close()
      this.#answers.lost()
      this.#handOver(failure?.code ?? 'bad_answer', true)
      return
    }
    this.#speechOutput.say(this.phrases.trouble)
    this.#speechOutput.finish()
  }

  #onStalled(): void {
    this.#stream.close()
    const error = Object.assign(new Error('the realtime model stopped responding'), {
      code: 'timeout',
      retryable: true,
    } as const)
    this.#onLost(error)
  }

  #onLost(error: ProviderError): void {
    const { clock, log } = this.#options
    const nowMs = clock.now()
    const again = error.retryable && nowMs - this.#reopenedMs > REOPEN_AGAIN_MS
    log.warn({ err: error, again }, 'realtime session lost')
    const unheard = this.#caller.talking || (this.#caller.unread && this.#answers.owed)
    const unanswered = this.#answers.lost()
    if (!again) {
      this.#handOver(error.code, unanswered || unheard)
      return
    }
    this.#reopenedMs = nowMs
    this.#caller.forget()
    this.#stream = this.#openSession()
    // Untranscribed speech is in no history: send it again, and the model answers it as any turn.
    if (unheard) for (const frame of this.#caller.recent) this.#stream.push(frame)
    else if (unanswered) this.#stream.respond()
    if (unanswered) this.#answers.expect({ endMs: this.#caller.lastLoudMs || nowMs, committedMs: nowMs })
  }

  /** `apologise`: the caller is waiting for something that was lost. */
  #handOver(code: ProviderError['code'], apologise: boolean): void {
    const { emit, realtime } = this.#options
    if (this.#next || this.#ending) return
    this.#caller.forget()
    if (this.#opening?.holding) {
      this.#fallbackPending = code
      return
    }
    emit({ type: 'provider.switched', kind: 'llm', from: realtime.name, to: 'pipeline', code })
    this.#closeOpening()
    this.#next = this.#ordinary()
    this.#next.takeOver(apologise ? this.phrases.trouble : null)
  }

  #ordinary(): Conversation {
    return new Conversation({
      ...this.#options,
      onHangup: reason => this.#options.onHangup(reason),
      continues: {
        transcript: this.transcript,
        briefing: this.#briefing,
        answeredMs: this.#answeredMs,
        disclosure: this.#disclosure,
        subtitles: this.#subtitles,
      },
    })
  }

  // ---- the caller's turn ----

  #takeTurn(): void {
    this.#answers.cut()
    this.#speechOutput.cut()
    this.#speechOutput.settle()
  }

  #commitKeys(): void {
    const { digits: text, lastMs } = this.#keys!
    this.#keys = null
    if (text === '') return
    this.#prompts = 0
    this.#note({ text, keys: true, startMs: lastMs, endMs: lastMs })
    this.#answers.expect({ endMs: lastMs, committedMs: this.#options.clock.now() })
    this.#stream.respond()
  }

  /** Adds what the caller typed or pressed to the transcript and to the model's context. */
  #note(said: Parameters<RealtimeCaller['note']>[0]): void {
    this.#caller.note(said)
    this.#stream.addMessage({ role: 'caller', text: said.text, ...(said.keys ? { keys: true } : {}) })
  }

  /** Adds to the model's context what was played of a phrase spoken by TTS. */
  #tellOwnWords(text: string): void {
    const said = this.transcript.messages().findLast(message => message.role === 'agent' && message.text === text)
    if (said) this.#stream.addMessage(said)
  }

  #greet(): void {
    for (const text of openingLines(this.#options.plan, this.phrases)) this.#speechOutput.say(text)
    this.#speechOutput.finish()
    if (this.#fallbackPending) this.#handOver(this.#fallbackPending, false)
  }

  #waitForAnswer(): RealtimeOpening {
    const { plan, sampleRate, clock, log, onHangup } = this.#options
    const options = {
      plan,
      sampleRate,
      clock,
      signal: this.#stopped.signal,
      note: ({ result, rule, atMs }) =>
        log.info({ result, rule, ms: Math.round(atMs - this.#answeredMs) }, 'answering machine detection finished'),
      onHeard: words => this.#note({ ...words, keys: false }),
      greet: () => this.#greet(),
      listen: () => {
        if (this.#fallbackPending) this.#handOver(this.#fallbackPending, false)
      },
      hush: () => {
        this.#takeTurn()
        this.#stream.cancel()
      },
      leaveMessage: text => this.endWith(text, 'voicemail_left'),
      hangUp: () => onHangup('voicemail_hangup'),
    } satisfies Omit<OpeningOptions, 'stt'>
    return new RealtimeOpening(this.#options, options, () => this.#caller.lastLoudMs)
  }

  #detectMachine(nowMs: number): void {
    this.#opening?.tick(nowMs)
    if (!this.#opening) return
    this.#answeredBy = this.#opening.answeredBy
    if (this.#opening.done) this.#closeOpening()
  }

  #closeOpening(): void {
    this.#opening?.close()
    this.#opening = null
  }

  #showState(): void {
    const speaking = this.#speechOutput.sounding || this.#answers.speaking
    const active = this.#speechOutput.active
    this.#subtitles.tick({ active, sounding: speaking, heard: '' }, this.#answers.busy)
  }

  // ---- time ----

  #tick(nowMs: number): void {
    if (this.#ending) return
    if (nowMs - this.#tickedMs > HELD_MS) this.#quietSinceMs = nowMs
    this.#tickedMs = nowMs
    this.#detectMachine(nowMs)
    if (this.#ending || this.#next) return
    this.#hearSilence(nowMs)
    if (this.#keys && nowMs - this.#keys.lastMs >= KEYS_END_MS) this.#commitKeys()
    const talking = this.#caller.isHeard(nowMs)
    this.#answers.tick(nowMs, talking)
    const busy = this.#speechOutput.active || this.#answers.busy || this.#answers.speaking || talking
    if (busy || this.#keys || this.#opening?.holding) this.#quietSinceMs = nowMs
    else if (nowMs - this.#quietSinceMs >= SILENCE_PROMPT_MS) this.#onSilence(nowMs)
  }

  #onSilence(nowMs: number): void {
    this.#quietSinceMs = nowMs
    if (++this.#prompts > SILENCE_PROMPTS) {
      this.endWith(this.phrases.noAnswer, 'silence_timeout')
      return
    }
    this.#speechOutput.say(this.phrases.stillThere)
    this.#speechOutput.finish()
  }

  /** Sends silence to the session when the far end suppresses it, since the vendor's turn detection needs audio. */
  #hearSilence(nowMs: number): void {
    if (!this.#caller.isMissing(nowMs)) return
    const pcm = new Int16Array(this.#options.sampleRate / 50)
    this.#stream.push({ pcm, atMs: nowMs, concealed: true })
  }
}
