/**
 * Runs the spoken conversation of one call by performing the effects of `turn.ts`. The leg pulls 20 ms of the agent's
 * audio and pushes the caller's, which drives everything else, so no timer is needed.
 */

import { FRAME_MS } from '../audio/frames.ts'
import { createNarrower, narrowRate } from '../audio/wideband.ts'
import type { AnsweredBy, EndedReason } from '../contract/messages.ts'
import type { AudioFrame } from '../ports/leg.ts'
import type { LlmRequest } from '../ports/llm.ts'
import type { SttStream, VadStream, VoiceFrame } from '../ports/speech.ts'
import type { AgentSession } from './agent-session.ts'
import { Answers } from './answers.ts'
import type { ConversationOptions } from './conversation-options.ts'
import { EchoDetector, isOwnWords } from './echo.ts'
import { type LoudnessState, listenLevel, quiet } from './loudness.ts'
import { Opening } from './opening.ts'
import type { Phrases } from './phrases.ts'
import { HELD_MS, type SaidWords, SessionParts } from './session-parts.ts'
import { Transcriber } from './transcriber.ts'
import type { CallTranscript } from './transcript.ts'
import { POSTROLL_MS, stepTurn } from './turn.ts'
import { initialTurn, type TurnEffect, type TurnInput, type TurnState } from './turn-state.ts'
import { silent, stepVad, type VadState } from './vad-hysteresis.ts'

/** Consecutive failures of TTS after which the call ends. */
const MAX_FAILURES = 3
/** A recording may pass for one turn, hardly for two. */
const TURNS_OF_A_PERSON = 2
/** Milliseconds without VAD windows (no packets) after which the clock alone counts as silence. */
const NO_SOUND_MS = 400
/** Milliseconds after the agent's last frame in which its echo may still arrive. */
const ECHO_TAIL_MS = 800

export class Conversation implements AgentSession {
  readonly #options: ConversationOptions
  readonly #parts: SessionParts
  readonly #answers: Answers
  readonly #echo: EchoDetector
  /** Converts the caller's audio to the rate that STT accepts. */
  readonly #narrow: (frame: AudioFrame) => AudioFrame
  readonly #vad: VadStream
  readonly #stt: SttStream
  readonly #reader: Transcriber
  #turn: TurnState
  #voice: VadState = silent
  #loudness: LoudnessState = quiet
  #lastWindowMs: number
  #lastSoundMs = Number.NEGATIVE_INFINITY
  #tickedMs: number
  #voiceFailures = 0
  /** A person speaks instead of the agent. */
  #aside = false
  #opening: Opening | null = null
  #turns = 0
  #answeredBy: AnsweredBy = 'unknown'

  constructor(options: ConversationOptions) {
    const { plan, sampleRate, clock, vad, stt, log } = options
    this.#options = options
    this.#lastWindowMs = clock.now()
    this.#tickedMs = clock.now()
    this.#turn = initialTurn(clock.now())
    const sttRate = narrowRate(sampleRate)
    this.#narrow = createNarrower(sampleRate)
    this.#echo = new EchoDetector(sampleRate, sttRate)
    this.#parts = new SessionParts(options, {
      onStarted: atMs => {
        this.#voiceFailures = 0
        this.#feed({ type: 'agent_started', atMs })
      },
      onVoiceFailed: () => this.#onVoiceFailed(),
      onSaid: text => this.#feed({ type: 'agent_said', text }),
      onFinished: () => this.#settle(),
    })
    const { speechOutput, toolbox, disclosure, phrases, signal } = this.#parts
    this.#answers = new Answers({
      llm: options.llm,
      voice: { tts: options.tts, voice: plan.voice, language: plan.language },
      speechOutput,
      toolbox,
      disclosure,
      phrases,
      clock,
      log,
      request: () => this.request(),
      emit: body => this.#parts.emit(body),
      onDone: () => this.#settle(),
      endWith: (text, reason) => this.endWith(text, reason),
      onHangup: reason => options.onHangup(reason),
    })
    this.#stt = stt.open({ sampleRate: sttRate, language: plan.language })
    this.#reader = new Transcriber({ stt: this.#stt, clock, log, signal })
    if (this.#parts.detectsAnswer) this.#opening = this.#waitForAnswer()
    this.#vad = vad.open({ sampleRate: sttRate, onVoice: frame => this.#onVoice(frame) })
  }

  /** Begins to speak: at once, or when answering detection knows who answered. */
  start(): void {
    this.#turn = { ...this.#turn, agent: 'busy' }
    if (this.#opening) this.#parts.warmFirstWords()
    else this.#parts.sayFirstWords()
  }

  /** Continues for another agent that had to stop. Null words: listens. */
  takeOver(words: string | null): void {
    this.#turn = { ...this.#turn, agent: 'busy' }
    if (words !== null) this.#parts.say(words)
    else this.#settle()
  }

  #waitForAnswer(): Opening {
    const options = this.#parts.answerDetection(narrowRate(this.#options.sampleRate), {
      onHeard: words => this.#parts.callerSaid({ ...words, keys: false }),
      greet: () => this.#parts.sayFirstWords(),
      listen: () => this.#settle(),
      hush: () => this.#hush(),
      leaveMessage: text => this.endWith(text, 'voicemail_left'),
    })
    return new Opening({ ...options, stt: this.#stt })
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
    const pcm = this.#parts.speechOutput.pull(atMs)
    this.#echo.played(pcm, atMs + FRAME_MS)
    if (pcm) this.#lastSoundMs = atMs
    this.#parts.subtitles.tick(this.#parts.speechOutput, this.#answers.busy)
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

  get transcript(): CallTranscript {
    return this.#parts.transcript
  }

  get phrases(): Phrases {
    return this.#parts.phrases
  }

  get doNotCall(): boolean {
    return this.#answers.doNotCall
  }

  get answeredBy(): AnsweredBy {
    return this.#answeredBy
  }

  get talkedMs(): number {
    return this.#parts.talkedMs
  }

  endWith(text: string, reason: EndedReason): void {
    if (this.#parts.ending) return
    this.#parts.ending = true
    this.#answers.abort()
    this.#parts.speechOutput.cut()
    this.#parts.sayLast(text, reason)
  }

  stepAside(): boolean {
    if (this.#parts.ending) return false
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

  operatorSaid(said: SaidWords): void {
    this.#parts.operatorSaid(said)
  }

  instruct(text: string): void {
    this.#parts.briefing.add(text)
    this.#answers.discard() // it was prepared without this instruction
  }

  stop(atMs?: number): void {
    if (this.#parts.signal.aborted) return
    this.#parts.stop(atMs, this.#answers)
    this.#vad.close()
    this.#stt.close()
  }

  settled(): Promise<void> {
    return this.#answers.settled()
  }

  request(): LlmRequest {
    return this.#parts.briefing.request()
  }

  // ---- turns ----

  #feed(input: TurnInput): void {
    if (this.#parts.ending) return
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
        this.#parts.speechOutput.pause()
        return
      case 'resume':
        this.#parts.speechOutput.resume()
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
    const { outage, unclear, stillThere, noAnswer } = this.#parts.phrases
    if (this.#aside) this.#feed({ type: 'agent_idle', atMs: this.#options.clock.now() })
    else if (why === 'give_up') this.endWith(noAnswer, 'silence_timeout')
    else if (why === 'prompt') this.#parts.say(stillThere)
    else if (this.#reader.out) this.endWith(outage, 'model_error')
    else this.#parts.say(unclear)
  }

  async #transcribe(fromMs: number, toMs: number): Promise<void> {
    // A caller who repeats our words afterwards confirms them; an echo ends with our audio or shortly after.
    const mayEcho = toMs - POSTROLL_MS - this.#lastSoundMs < ECHO_TAIL_MS
    const read = await this.#reader.read(fromMs, toMs)
    if (read === null) return
    const { text, failed } = read
    const echo = mayEcho && isOwnWords(text, this.#parts.speechOutput.saying)
    if (!echo && this.#turn.caller) this.#parts.subtitles.heard([this.#turn.caller.said, text])
    this.#feed({ type: 'hypothesis', toMs, text, failed, echo, atMs: this.#options.clock.now() })
  }

  #commit(turn: Extract<TurnEffect, { type: 'commit' }>): void {
    // A far end that takes turns with us is not a machine, whatever it says later.
    if (++this.#turns === TURNS_OF_A_PERSON && !this.#opening?.holding) this.#opening = null
    this.#parts.callerSaid(turn)
    if (this.#aside) {
      this.#feed({ type: 'agent_idle', atMs: turn.atMs })
      return
    }
    this.#parts.speechOutput.expect({ endMs: turn.endMs, committedMs: turn.atMs, sttMs: this.#reader.tookMs })
    this.#answers.commit()
  }

  // ---- the end of speaking ----

  /** The agent has fallen silent: resolves waiters and reports it to the turn machine. */
  #settle(): void {
    this.#parts.speechOutput.settle()
    const busy = this.#answers.busy || this.#parts.speechOutput.active
    this.#feed({ type: busy ? 'agent_busy' : 'agent_idle', atMs: this.#options.clock.now() })
  }

  /** Without working TTS the agent cannot apologise, so it hangs up. */
  #onVoiceFailed(): void {
    if (!this.#parts.signal.aborted && ++this.#voiceFailures === MAX_FAILURES) this.#options.onHangup('model_error')
  }

  // ---- time ----

  #tick(nowMs: number): void {
    if (this.#parts.ending) return
    // Silence during a hold does not count as unanswered.
    if (nowMs - this.#tickedMs > HELD_MS) this.#turn = { ...this.#turn, quietSinceMs: nowMs }
    this.#tickedMs = nowMs
    this.#detectMachine(nowMs)
    if (this.#turn.caller && nowMs - this.#lastWindowMs > NO_SOUND_MS) {
      this.#feed({ type: 'voice', voiced: false, atMs: nowMs, windowMs: 0, loudMs: this.#loudness.lastMs })
    }
    this.#feed({ type: 'tick', atMs: nowMs })
    const { caller } = this.#turn
    this.#answers.tick(nowMs, this.#parts.speechOutput.active || (caller !== null && !caller.wordless))
  }

  #detectMachine(nowMs: number): void {
    this.#opening?.tick(nowMs)
    if (!this.#opening) return
    this.#answeredBy = this.#opening.answeredBy
    if (this.#opening.done) this.#opening = null
  }
}
