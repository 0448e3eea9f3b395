/**
 * The agent while a speech-to-speech model runs it. TTS speaks the texts that must be verbatim (the disclosure, the
 * greeting, fillers, apologies, the goodbye): such a model does not guarantee wording, and may be unavailable when the
 * agent must apologise. When the session is lost, a new one is opened with the conversation so far; when that is lost,
 * too, the agent reports it and stops.
 */
import type { AnsweredBy, CallEventBody, EndedReason } from '../contract/messages.ts'
import type { AudioFrame } from '../ports/leg.ts'
import type { ProviderError, RealtimeEvent, RealtimeStream } from '../ports/realtime-model.ts'
import type { RealtimeConversationOptions } from './conversation-options.ts'
import { RealtimeAnswers } from './realtime-answers.ts'
import type { LiveFrame } from './realtime-audio.ts'
import { RealtimeCaller } from './realtime-caller.ts'
import { KeyEntry } from './realtime-keys.ts'
import { RealtimeOpening } from './realtime-opening.ts'
import { SilencePrompts } from './realtime-silence.ts'
import type { SaidWords, SessionParts } from './session-parts.ts'

export interface RealtimeAgentEvents {
  /** Speaks this text as the last one and hangs up. */
  endWith(text: string, reason: EndedReason): void
  /** The session is lost for good. `apologise`: the caller is waiting for something that was lost. */
  onLost(code: ProviderError['code'], apologise: boolean): void
}

const MAX_FAILURES = 2
/** Milliseconds within which a second loss of the session switches to the pipeline instead of reopening it. */
const REOPEN_AGAIN_MS = 60_000
/** Milliseconds after the hang-up in which the last transcripts may arrive. */
const LAST_WORDS_MS = 1500

export class RealtimeAgent {
  readonly #options: RealtimeConversationOptions
  readonly #parts: SessionParts
  readonly #events: RealtimeAgentEvents
  readonly #answers: RealtimeAnswers
  readonly #caller: RealtimeCaller
  readonly #keys = new KeyEntry()
  readonly #silence: SilencePrompts
  #stream: RealtimeStream
  /** True while another conversation holds the call. */
  #away = false
  #reopenedMs = Number.NEGATIVE_INFINITY
  #failures = 0
  #opening: RealtimeOpening | null = null
  #answeredBy: AnsweredBy = 'unknown'
  /** The session is lost for good, but answering detection has not finished: report it afterwards. */
  #fallbackPending: ProviderError['code'] | null = null
  #cancelReading = () => {}
  #onRead = () => {}

  constructor(options: RealtimeConversationOptions, parts: SessionParts, events: RealtimeAgentEvents) {
    const { sampleRate, clock, log } = options
    this.#options = options
    this.#parts = parts
    this.#events = events
    this.#silence = new SilencePrompts(clock.now())
    const { transcript, answeredMs, speechOutput, toolbox, disclosure, phrases } = parts
    const shared = { clock, log, transcript, answeredMs, emit: (body: CallEventBody) => parts.emit(body) }
    this.#answers = new RealtimeAnswers({
      ...shared,
      sampleRate,
      speechOutput,
      toolbox,
      disclosure,
      phrases,
      stream: () => this.#stream,
      onFailed: error => this.#onFailed(error),
      onAnswered: () => (this.#failures = 0),
      onStalled: () => this.#onStalled(),
      endWith: (text, reason) => events.endWith(text, reason),
      onHangup: reason => options.onHangup(reason),
    })
    this.#caller = new RealtimeCaller(shared)
    this.#stream = this.#openSession()
    if (parts.detectsAnswer) this.#opening = this.#waitForAnswer()
  }

  start(): void {
    if (this.#opening) this.#parts.warmFirstWords()
    else this.#greet()
  }

  // ---- the leg's side ----

  /** Call it with each pulled frame while the agent holds the call. */
  tick(nowMs: number): void {
    this.#showState()
    if (this.#parts.ending) return
    this.#detectMachine(nowMs)
    if (this.#parts.ending || this.#away) return
    this.#hearSilence(nowMs)
    this.#commitKeys(nowMs)
    const talking = this.#caller.isHeard(nowMs)
    this.#answers.tick(nowMs, talking)
    const busy = this.#parts.speechOutput.active || this.#answers.busy || this.speaking || talking
    const due = this.#silence.tick(nowMs, busy || this.#keys.open || this.#detecting)
    if (due === 'give_up') this.#events.endWith(this.#parts.phrases.noAnswer, 'silence_timeout')
    else if (due === 'prompt') this.#parts.say(this.#parts.phrases.stillThere)
  }

  /** True when the first answer's audio has started playing. */
  get begun(): boolean {
    return this.#answers.begun
  }

  /** True while audio of the model is playing, or expected by an answer that has begun. */
  get speaking(): boolean {
    return this.#answers.speaking
  }

  /** Returns a frame of the model's audio. */
  pull(atMs: number): LiveFrame | null {
    return this.#answers.pull(atMs)
  }

  push(frame: AudioFrame): void {
    this.#caller.push(frame)
    this.#opening?.push(frame)
    if (!this.#detecting && !this.#parts.ending) this.#stream.push(frame)
  }

  dtmf(digit: string): void {
    const { emit, clock } = this.#options
    emit({ type: 'dtmf.received', digit })
    if (this.#parts.ending || this.#detecting) return
    this.#takeTurn()
    this.#stream.cancel()
    this.#keys.press(digit, clock.now())
    this.#commitKeys(clock.now())
  }

  text(text: string): void {
    if (this.#parts.ending || this.#detecting) return
    const atMs = this.#options.clock.now()
    this.#takeTurn()
    this.#stream.cancel()
    this.#commit({ text, keys: false, startMs: atMs, endMs: atMs }, atMs)
  }

  // ---- the call's side ----

  get doNotCall(): boolean {
    return this.#answers.doNotCall
  }

  get answeredBy(): AnsweredBy {
    return this.#answeredBy
  }

  instruct(text: string): void {
    this.#parts.briefing.add(text)
    this.#stream.instruct(text)
  }

  /** Adds to the model's context what was played of a phrase spoken by TTS. */
  tellOwnWords(text: string): void {
    const messages = this.#parts.transcript.messages()
    const said = messages.findLast(message => message.role === 'agent' && message.text === text)
    if (said) this.#stream.addMessage(said)
  }

  /** Closes the session, because its model would answer. Returns the caller's audio that nobody has answered. */
  leave(): AudioFrame[] {
    this.#opening?.giveWay()
    this.#closeOpening()
    this.#fallbackPending = null
    const unheard = this.#caller.talking || this.#caller.unread ? [...this.#caller.recent] : []
    this.#takeTurn()
    this.#stream.close()
    this.#answers.hold()
    this.#caller.forget()
    this.#away = true
    return unheard
  }

  comeBack(): void {
    this.#away = false
    this.#stream = this.#openSession()
    this.#answers.release()
    this.#silence.restart(this.#options.clock.now())
  }

  /** Stops the answer that the model is making. */
  cancel(): void {
    this.#stream.cancel()
  }

  /** Ends all answers; a running tool finishes. */
  abort(): void {
    this.#answers.abort()
  }

  /** The call is over. Waits for the transcript of the caller's last words. */
  close(): void {
    this.#closeOpening()
    if (!this.#caller.unread) this.#stream.close()
    else this.#cancelReading = this.#options.clock.after(LAST_WORDS_MS, () => this.#endReading())
  }

  /** After `close`, waits until running work is in the transcript. */
  async settled(): Promise<void> {
    await this.#answers.settled()
    if (this.#caller.unread) await new Promise<void>(resolve => (this.#onRead = resolve))
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
      instructions: this.#parts.briefing.system,
      boundary: plan.boundary,
      language: plan.language,
      tools: this.#parts.toolbox.declared,
      history: this.#parts.transcript.messages(),
      onEvent: event => this.#on(event),
    })
  }

  #on(event: RealtimeEvent): void {
    if (this.#away) return
    if (event.type === 'caller_said') this.#caller.said(event.item, event.text)
    if (this.#parts.signal.aborted && (event.type === 'ended' || !this.#caller.unread)) this.#endReading()
    // Until answering detection has finished, the model does not talk to anybody.
    if (this.#parts.ending || (this.#detecting && event.type !== 'ended')) return
    switch (event.type) {
      case 'ready':
      case 'caller_said':
        return
      case 'caller_started':
        this.#caller.started()
        this.#takeTurn()
        return
      case 'caller_done':
        this.#silence.answered()
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
    this.#options.log.warn({ err: error }, 'realtime model returned no answer')
    const failure = error as Partial<ProviderError> | null
    if (++this.#failures >= MAX_FAILURES || failure?.code === 'unauthorized') {
      this.#stream.close()
      this.#answers.lost()
      this.#giveUp(failure?.code ?? 'bad_answer', true)
      return
    }
    this.#parts.say(this.#parts.phrases.trouble)
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
      this.#giveUp(error.code, unanswered || unheard)
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

  #giveUp(code: ProviderError['code'], apologise: boolean): void {
    if (this.#away || this.#parts.ending) return
    this.#caller.forget()
    if (this.#detecting) {
      this.#fallbackPending = code
      return
    }
    this.#closeOpening()
    this.#away = true
    this.#events.onLost(code, apologise)
  }

  #reportPendingLoss(): void {
    if (this.#fallbackPending) this.#giveUp(this.#fallbackPending, false)
  }

  // ---- the caller's turn ----

  #takeTurn(): void {
    this.#answers.cut()
    this.#parts.speechOutput.cut()
    this.#parts.speechOutput.settle()
  }

  #commitKeys(nowMs: number): void {
    const keys = this.#keys.take(nowMs)
    if (!keys || keys.digits === '') return
    this.#commit({ text: keys.digits, keys: true, startMs: keys.lastMs, endMs: keys.lastMs }, nowMs)
  }

  /** Lets the model answer what the caller typed or pressed. */
  #commit(said: SaidWords & { keys: boolean }, nowMs: number): void {
    this.#silence.answered()
    this.#note(said)
    this.#answers.expect({ endMs: said.endMs, committedMs: nowMs })
    this.#stream.respond()
  }

  /** Adds words of the caller that the model did not hear to the transcript and to the model's context. */
  #note(said: SaidWords & { keys: boolean }): void {
    this.#parts.callerSaid(said)
    this.#stream.addMessage({ role: 'caller', text: said.text, ...(said.keys ? { keys: true } : {}) })
  }

  /** Sends silence to the session when the far end suppresses it, since the vendor's turn detection needs audio. */
  #hearSilence(nowMs: number): void {
    if (!this.#caller.isMissing(nowMs)) return
    const pcm = new Int16Array(this.#options.sampleRate / 50)
    this.#stream.push({ pcm, atMs: nowMs, concealed: true })
  }

  #showState(): void {
    const { speechOutput, subtitles } = this.#parts
    const sounding = speechOutput.sounding || this.speaking
    subtitles.tick({ active: speechOutput.active, sounding, heard: '' }, this.#answers.busy)
  }

  // ---- answering detection ----

  get #detecting(): boolean {
    return this.#opening?.holding ?? false
  }

  #greet(): void {
    this.#parts.sayFirstWords()
    this.#reportPendingLoss()
  }

  #waitForAnswer(): RealtimeOpening {
    const options = this.#parts.answerDetection(this.#options.sampleRate, {
      onHeard: words => this.#note({ ...words, keys: false }),
      greet: () => this.#greet(),
      listen: () => this.#reportPendingLoss(),
      hush: () => {
        this.#takeTurn()
        this.#stream.cancel()
      },
      leaveMessage: text => this.#events.endWith(text, 'voicemail_left'),
    })
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
}
