/**
 * Runs the spoken conversation of one call by performing the effects of `turn.ts`. The leg pulls 20 ms of the agent's
 * audio and pushes the caller's, which drives everything else, so no timer is needed.
 */

import { FRAME_MS } from '../audio/frames.ts'
import { createNarrower, narrowRate } from '../audio/wideband.ts'
import type { AnsweredBy, CallEventBody, EndedReason } from '../contract/messages.ts'
import type { CallPlan, PlanSecrets } from '../contract/plan.ts'
import type { AudioFrame, DisplayUpdate } from '../ports/leg.ts'
import type { Llm, LlmRequest } from '../ports/llm.ts'
import type { Stt, SttStream, Tts, Vad, VadStream, VoiceFrame } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import type { Fetch } from '../shared/fetch.ts'
import type { Log } from '../shared/log.ts'
import type { AgentSession } from './agent-session.ts'
import { Answers, LAST_WORD_MS } from './answers.ts'
import { Briefing } from './briefing.ts'
import { Disclosure } from './disclosure.ts'
import { EchoDetector, isOwnWords } from './echo.ts'
import { type LoudnessState, listenLevel, quiet } from './loudness.ts'
import { Opening, openingLines } from './opening.ts'
import type { Abilities } from './own-tools.ts'
import { type Phrases, phrasesFor } from './phrases.ts'
import { SpeechOutput } from './speech-output.ts'
import { Subtitles } from './subtitles.ts'
import { Toolbox } from './toolbox.ts'
import { Transcriber } from './transcriber.ts'
import { CallTranscript } from './transcript.ts'
import { initialTurn, POSTROLL_MS, stepTurn, type TurnEffect, type TurnInput, type TurnState } from './turn.ts'
import { silent, stepVad, type VadState } from './vad-hysteresis.ts'

export interface ConversationOptions {
  plan: CallPlan
  secrets: PlanSecrets
  sampleRate: number
  clock: Clock
  log: Log
  vad: Vad
  stt: Stt
  tts: Tts
  llm: Llm
  fetch: Fetch
  abilities: Abilities
  emit(body: CallEventBody): void
  /** Called after the agent's last word. */
  onHangup(reason: EndedReason): void
  /** Sends live updates to a far end with a screen. */
  show?(shown: DisplayUpdate): void
  /** State of this call's conversation that another agent had begun. */
  continues?: {
    transcript: CallTranscript
    briefing: Briefing
    answeredMs: number
    disclosure: Disclosure
    subtitles: Subtitles
  }
}

/** Consecutive failures of STT or TTS after which the call ends. */
const MAX_FAILURES = 3
/** A recording may pass for one turn, hardly for two. */
const TURNS_OF_A_PERSON = 2
/** Milliseconds without a pull after which the far end had the call on hold or was away; our own stalls are shorter. */
const HELD_MS = 1000
/** Milliseconds without VAD windows (no packets) after which the clock alone counts as silence. */
const NO_SOUND_MS = 400
/** Milliseconds after the agent's last frame in which its echo may still arrive. */
const ECHO_TAIL_MS = 800

export class Conversation implements AgentSession {
  readonly transcript: CallTranscript
  readonly phrases: Phrases
  readonly #options: ConversationOptions
  readonly #briefing: Briefing
  readonly #speechOutput: SpeechOutput
  readonly #toolbox: Toolbox
  readonly #answers: Answers
  readonly #echo: EchoDetector
  /** Converts the caller's audio to the rate that STT accepts. */
  readonly #narrow: (frame: AudioFrame) => AudioFrame
  readonly #vad: VadStream
  readonly #stt: SttStream
  readonly #reader: Transcriber
  readonly #stopped = new AbortController()
  readonly #answeredMs: number
  #turn: TurnState
  #voice: VadState = silent
  #loudness: LoudnessState = quiet
  #lastWindowMs: number
  #lastSoundMs = Number.NEGATIVE_INFINITY
  #tickedMs: number
  #voiceFailures = 0
  #stoppedMs: number | null = null
  #ending = false
  /** A person speaks instead of the agent. */
  #aside = false
  readonly #subtitles: Subtitles
  #opening: Opening | null = null
  #turns = 0
  #answeredBy: AnsweredBy = 'unknown'

  constructor(options: ConversationOptions) {
    const { plan, sampleRate, clock, vad, stt, tts, log, continues } = options
    const transcript = continues?.transcript ?? new CallTranscript()
    this.transcript = transcript
    this.#options = options
    this.phrases = phrasesFor(plan.language)
    this.#answeredMs = continues?.answeredMs ?? clock.now()
    this.#lastWindowMs = clock.now()
    this.#tickedMs = clock.now()
    this.#turn = initialTurn(clock.now())
    const sttRate = narrowRate(sampleRate)
    this.#narrow = createNarrower(sampleRate)
    this.#echo = new EchoDetector(sampleRate, sttRate)
    this.#subtitles = continues?.subtitles ?? new Subtitles(options.show)
    const disclosure = continues?.disclosure ?? new Disclosure(plan.disclosure)
    const shared = { clock, transcript, answeredMs: this.#answeredMs, signal: this.#stopped.signal }
    const voice = { tts, voice: plan.voice, language: plan.language }
    this.#speechOutput = new SpeechOutput({
      ...shared,
      ...voice,
      sampleRate,
      log,
      emit: body => {
        disclosure.note(body)
        this.#emit(body)
      },
      onStarted: atMs => {
        this.#voiceFailures = 0
        this.#feed({ type: 'agent_started', atMs })
      },
      onVoiceFailed: () => this.#onVoiceFailed(),
      onSaid: text => this.#feed({ type: 'agent_said', text }),
      onFinished: () => this.#settle(),
    })
    this.#toolbox = new Toolbox({
      ...options,
      ...shared,
      phrases: this.phrases,
      warm: text => void this.#speechOutput.warm(text),
    })
    const tools = () => this.#toolbox.declared
    this.#briefing = continues?.briefing ?? new Briefing({ plan, clock, transcript, tools })
    this.#answers = new Answers({
      llm: options.llm,
      voice,
      speechOutput: this.#speechOutput,
      toolbox: this.#toolbox,
      disclosure,
      phrases: this.phrases,
      clock,
      log,
      request: () => this.request(),
      emit: options.emit,
      onDone: () => this.#settle(),
      endWith: (text, reason) => this.endWith(text, reason),
      onHangup: reason => options.onHangup(reason),
    })
    this.#stt = stt.open({ sampleRate: sttRate, language: plan.language })
    this.#reader = new Transcriber({ stt: this.#stt, clock, log, signal: this.#stopped.signal })
    const dialed = plan.direction === 'out' && !continues
    if (dialed && plan.voicemail.action !== 'ignore') this.#opening = this.#waitForAnswer()
    this.#vad = vad.open({ sampleRate: sttRate, onVoice: frame => this.#onVoice(frame) })
  }

  /** Begins to speak: at once, or when answering detection knows who answered. */
  start(): void {
    this.#turn = { ...this.#turn, agent: 'busy' }
    if (this.#opening)
      for (const text of openingLines(this.#options.plan, this.phrases)) void this.#speechOutput.warm(text)
    else this.#greet()
  }

  /** Continues for another agent that had to stop. Null words: listens. */
  takeOver(words: string | null): void {
    this.#turn = { ...this.#turn, agent: 'busy' }
    if (words !== null) this.#sayAside(words)
    else this.#settle()
  }

  #greet(): void {
    for (const text of openingLines(this.#options.plan, this.phrases)) this.#speechOutput.say(text)
    this.#speechOutput.finish()
  }

  #waitForAnswer(): Opening {
    const { plan, sampleRate, clock, log, onHangup } = this.#options
    return new Opening({
      plan,
      sampleRate: narrowRate(sampleRate),
      clock,
      stt: this.#stt,
      signal: this.#stopped.signal,
      note: ({ result, rule, atMs }) =>
        log.info({ result, rule, ms: this.#fromAnswer(atMs) }, 'answering machine detection finished'),
      onHeard: ({ text, startMs, endMs }) => this.#note({ text, keys: false, startMs, endMs }),
      greet: () => this.#greet(),
      listen: () => this.#settle(),
      hush: () => this.#hush(),
      leaveMessage: text => this.endWith(text, 'voicemail_left'),
      hangUp: () => onHangup('voicemail_hangup'),
    })
  }

  /** A machine speaks: what it has said so far is not a turn and gets no answer. */
  #hush(): void {
    this.#answers.discard()
    this.#answers.cut()
    this.#turn = { ...initialTurn(this.#options.clock.now()), agent: 'busy' }
  }

  // ---- the leg's side ----

  pull(atMs: number): Int16Array | null {
    this.#tick(this.#options.clock.now())
    const pcm = this.#speechOutput.pull(atMs)
    this.#echo.played(pcm, atMs + FRAME_MS)
    if (pcm) this.#lastSoundMs = atMs
    this.#subtitles.tick(this.#speechOutput, this.#answers.busy)
    return pcm
  }

  push(wide: AudioFrame): void {
    const frame = this.#narrow(wide)
    this.#loudness = listenLevel(this.#loudness, frame)
    this.#echo.heard(frame.pcm, frame.atMs)
    this.#stt.push(frame)
    this.#opening?.sound(frame)
    this.#vad.push(frame)
  }

  dtmf(digit: string): void {
    this.#options.emit({ type: 'dtmf.received', digit })
    this.#feed({ type: 'key', digit, atMs: this.#options.clock.now() })
  }

  text(text: string): void {
    if (!this.#opening?.holding) this.#feed({ type: 'typed', text, atMs: this.#options.clock.now() })
  }

  #onVoice(frame: VoiceFrame): void {
    const { state, reading } = stepVad(this.#voice, frame)
    this.#voice = state
    this.#lastWindowMs = frame.atMs
    const mayEcho = reading.voiced && frame.atMs - this.#lastSoundMs < ECHO_TAIL_MS
    const voiced = reading.voiced && !(mayEcho && this.#echo.isEcho(frame.atMs))
    const loudMs = this.#loudness.lastMs
    this.#opening?.voice({ ...reading, voiced }, loudMs)
    if (!this.#opening?.holding) this.#feed({ type: 'voice', ...reading, voiced, loudMs })
  }

  // ---- the call's side ----

  get doNotCall(): boolean {
    return this.#answers.doNotCall
  }

  get answeredBy(): AnsweredBy {
    return this.#answeredBy
  }

  get talkedMs(): number {
    return Math.round((this.#stoppedMs ?? this.#options.clock.now()) - this.#answeredMs)
  }

  endWith(text: string, reason: EndedReason): void {
    if (this.#ending) return
    this.#ending = true
    this.#answers.abort()
    this.#speechOutput.cut()
    this.#speechOutput.say(text)
    this.#speechOutput.finish()
    this.#speechOutput.whenQuiet(() => this.#options.clock.after(LAST_WORD_MS, () => this.#options.onHangup(reason)))
  }

  stepAside(): boolean {
    if (this.#ending) return false
    if (this.#aside) return true
    this.#aside = true
    this.#opening?.giveWay()
    this.#opening = null
    this.#answers.hold()
    this.#forgetOwnTurn()
    return true
  }

  stepIn(): void {
    if (!this.#aside) return
    this.#aside = false
    this.#answers.release()
    this.#forgetOwnTurn()
  }

  /** Resets the turn but keeps what the caller is saying now. */
  #forgetOwnTurn(): void {
    const { caller, keys } = this.#turn
    this.#turn = { ...initialTurn(this.#options.clock.now()), caller, keys }
  }

  operatorSaid({ text, startMs, endMs }: { text: string; startMs: number; endMs: number }): void {
    const said = { text, started_ms: this.#fromAnswer(startMs), ended_ms: this.#fromAnswer(endMs) }
    this.#emit({ type: 'turn.finished', turn: this.transcript.operator(said), latency: null })
  }

  instruct(text: string): void {
    this.#briefing.add(text)
    this.#answers.discard() // it was prepared without this instruction
  }

  stop(atMs?: number): void {
    if (this.#stopped.signal.aborted) return
    this.#stoppedMs = atMs ?? this.#options.clock.now()
    this.#ending = true
    this.#stopped.abort()
    this.#speechOutput.cut()
    this.#answers.abort()
    this.#speechOutput.settle()
    this.#vad.close()
    this.#stt.close()
  }

  settled(): Promise<void> {
    return this.#answers.settled()
  }

  request(): LlmRequest {
    return this.#briefing.request()
  }

  // ---- turns ----

  #feed(input: TurnInput): void {
    if (this.#ending) return
    const { state, effects } = stepTurn(this.#turn, input)
    this.#turn = state
    for (const effect of effects) this.#perform(effect)
  }

  #perform(effect: TurnEffect): void {
    switch (effect.type) {
      case 'transcribe':
        void this.#transcribe(effect.fromMs, effect.toMs)
        return
      case 'prepare':
        if (!this.#aside) this.#answers.prepare(effect.text)
        return
      case 'discard':
        this.#answers.discard()
        return
      case 'commit':
        this.#commit(effect)
        return
      case 'pause':
        this.#speechOutput.pause()
        return
      case 'resume':
        this.#speechOutput.resume()
        return
      case 'cut':
        this.#answers.cut()
        // The turn machine assumes that the agent is now silent and idle; report that it is still working.
        if (this.#answers.busy) this.#feed({ type: 'agent_busy', atMs: this.#options.clock.now() })
        return
      case 'unclear':
      case 'prompt':
      case 'give_up':
        this.#onNothingSaid(effect.type)
    }
  }

  /** Do not prompt a caller who is talking to an operator. */
  #onNothingSaid(why: 'unclear' | 'prompt' | 'give_up'): void {
    const { outage, unclear, stillThere, noAnswer } = this.phrases
    if (this.#aside) this.#feed({ type: 'agent_idle', atMs: this.#options.clock.now() })
    else if (why === 'give_up') this.endWith(noAnswer, 'silence_timeout')
    else if (why === 'prompt') this.#sayAside(stillThere)
    else if (this.#reader.failures >= MAX_FAILURES) this.endWith(outage, 'model_error')
    else this.#sayAside(unclear)
  }

  #sayAside(text: string): void {
    this.#speechOutput.say(text)
    this.#speechOutput.finish()
  }

  async #transcribe(fromMs: number, toMs: number): Promise<void> {
    // A caller who repeats our words afterwards confirms them; an echo ends with our audio or shortly after.
    const mayEcho = toMs - POSTROLL_MS - this.#lastSoundMs < ECHO_TAIL_MS
    const { text, failed } = await this.#reader.read(fromMs, toMs)
    const echo = mayEcho && isOwnWords(text, this.#speechOutput.saying)
    if (!echo && this.#turn.caller) this.#subtitles.heard([this.#turn.caller.said, text])
    this.#feed({ type: 'hypothesis', toMs, text, failed, echo, atMs: this.#options.clock.now() })
  }

  #commit(turn: Extract<TurnEffect, { type: 'commit' }>): void {
    // A far end that takes turns with us is not a machine, whatever it says later.
    if (++this.#turns === TURNS_OF_A_PERSON && !this.#opening?.holding) this.#opening = null
    this.#note(turn)
    if (this.#aside) {
      this.#feed({ type: 'agent_idle', atMs: turn.atMs })
      return
    }
    this.#speechOutput.expect({ endMs: turn.endMs, committedMs: turn.atMs, sttMs: this.#reader.tookMs })
    this.#answers.commit()
  }

  #note({ text, keys, startMs, endMs }: { text: string; keys: boolean; startMs: number; endMs: number }): void {
    const said = { text, started_ms: this.#fromAnswer(startMs), ended_ms: this.#fromAnswer(endMs) }
    this.#emit({ type: 'turn.finished', turn: this.transcript.caller(said, keys), latency: null })
  }

  #emit(body: CallEventBody): void {
    this.#subtitles.note(body)
    this.#options.emit(body)
  }

  // ---- the end of speaking ----

  /** The agent has fallen silent: resolves waiters and reports it to the turn machine. */
  #settle(): void {
    this.#speechOutput.settle()
    const busy = this.#answers.busy || this.#speechOutput.active
    this.#feed({ type: busy ? 'agent_busy' : 'agent_idle', atMs: this.#options.clock.now() })
  }

  /** Without working TTS the agent cannot apologise, so it hangs up. */
  #onVoiceFailed(): void {
    if (!this.#stopped.signal.aborted && ++this.#voiceFailures === MAX_FAILURES) this.#options.onHangup('model_error')
  }

  // ---- time ----

  #tick(nowMs: number): void {
    if (this.#ending) return
    // Silence during a hold does not count as unanswered.
    if (nowMs - this.#tickedMs > HELD_MS) this.#turn = { ...this.#turn, quietSinceMs: nowMs }
    this.#tickedMs = nowMs
    this.#detectMachine(nowMs)
    if (this.#turn.caller && nowMs - this.#lastWindowMs > NO_SOUND_MS) {
      this.#feed({ type: 'voice', voiced: false, atMs: nowMs, windowMs: 0, loudMs: this.#loudness.lastMs })
    }
    this.#feed({ type: 'tick', atMs: nowMs })
    const { caller } = this.#turn
    this.#answers.tick(nowMs, this.#speechOutput.active || (caller !== null && !caller.wordless))
  }

  #detectMachine(nowMs: number): void {
    this.#opening?.tick(nowMs)
    if (!this.#opening) return
    this.#answeredBy = this.#opening.answeredBy
    if (this.#opening.done) this.#opening = null
  }

  #fromAnswer(atMs: number): number {
    return Math.max(0, Math.round(atMs - this.#answeredMs))
  }
}
