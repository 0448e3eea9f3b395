/**
 * Answers of a speech-to-speech model: each has its audio, its turn in the transcript, and its tool calls. They play
 * one after the other. When the caller interrupts, the audio is cut and the model learns how much of it was played.
 */
import type { CallEventBody, EndedReason, TurnLatency } from '../contract/messages.ts'
import type { RealtimeEvent, RealtimeStream } from '../ports/realtime-model.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import { LAST_WORD_MS, MAX_TOOL_ROUNDS, TAKEN_OVER, THINKING_MS } from './answers.ts'
import type { Disclosure } from './disclosure.ts'
import type { Phrases } from './phrases.ts'
import { type LiveFrame, RealtimeAudio } from './realtime-audio.ts'
import type { SpeechOutput } from './speech-output.ts'
import type { Toolbox, ToolStep } from './toolbox.ts'
import type { CallTranscript, OpenTurn } from './transcript.ts'

export interface LiveAnswersOptions {
  sampleRate: number
  transcript: CallTranscript
  speechOutput: SpeechOutput
  toolbox: Toolbox
  disclosure: Disclosure
  phrases: Phrases
  clock: Clock
  log: Log
  answeredMs: number
  /** Returns the session that is open now. */
  stream(): RealtimeStream
  emit(body: CallEventBody): void
  /** An answer failed; `null`: the vendor gave no reason. */
  onFailed(error: unknown): void
  /** An answer was played or has an effect: the session works. */
  onAnswered(): void
  /** The model has stopped responding. */
  onStalled(): void
  endWith(text: string, reason: EndedReason): void
  onHangup(reason: EndedReason): void
}

/** Reference times for the latency of the next answer. */
export interface Asked {
  endMs: number
  committedMs: number
}

type AnswerEvent = Exclude<
  RealtimeEvent,
  { type: 'ready' | 'caller_started' | 'caller_done' | 'caller_said' | 'ended' }
>

interface Answer {
  stream: RealtimeStream
  voice: RealtimeAudio
  step: ToolStep
  called: string[]
  /** Ids of tool calls whose results a new session already has in its history. */
  known: ReadonlySet<string>
  turn: OpenTurn | null
  latency: TurnLatency | null
  spoke: boolean
  /** Its further audio is dropped. */
  muted: boolean
}

/** Milliseconds without an answer after which a new session is opened: such a model normally starts within a second. */
const STALLED_MS = 8000
const CALLER_SPOKE = 'The caller spoke; the call goes on.'

export class RealtimeAnswers {
  doNotCall = false
  readonly #options: LiveAnswersOptions
  /** Answers that are in progress or whose tools run. */
  readonly #open = new Map<string, Answer>()
  /** Answers with audio, played one after the other. */
  #speaking: Answer[] = []
  readonly #working = new Set<Answer>()
  #waiting: { sinceMs: number; bridged: boolean } | null = null
  #asked: Asked | null = null
  /** An answer that will hang up; speech of the caller cancels it. */
  #pendingHangup: Answer | null = null
  #hangingUp = false
  #rounds = 0
  #finished: Promise<unknown> = Promise.resolve()
  #over = false
  #held = false

  constructor(options: LiveAnswersOptions) {
    this.#options = options
  }

  /** True while model audio is playing, or expected by an answer that has begun. */
  get speaking(): boolean {
    return this.#speaking.length > 0
  }

  /** True when the first answer's audio has started playing. */
  get begun(): boolean {
    return this.#speaking[0]?.voice.begun ?? false
  }

  /** True while an answer is expected or in progress, or tools run. */
  get busy(): boolean {
    return this.#waiting !== null || this.#open.size > 0 || this.#working.size > 0 || this.#pendingHangup !== null
  }

  /** True until something of the awaited answer is played. */
  get owed(): boolean {
    return this.#waiting !== null
  }

  /** Called when the caller's turn is over. */
  expect(asked: Asked): void {
    this.#rounds = 0
    this.#asked = asked
    this.#wait()
  }

  on(event: AnswerEvent): void {
    switch (event.type) {
      case 'answer_started':
        this.#start(event.answer)
        return
      case 'answer_failed':
        if (event.answer !== null) this.#open.delete(event.answer)
        this.#waiting = null
        this.#options.onFailed(event.error)
        return
    }
    const answer = this.#open.get(event.answer)
    if (!answer) return
    switch (event.type) {
      case 'speech':
        if (this.#mayAdd(answer)) answer.voice.write(event.item, event.pcm, event.ulaw)
        return
      case 'words':
        if (this.#mayAdd(answer)) answer.voice.addWords(event.item, event.delta)
        return
      case 'speech_done':
        answer.voice.endItem(event.item)
        return
      case 'tool':
        this.#callTool(answer, event)
        return
      case 'answer_done':
        this.#open.delete(event.answer)
        this.#end(answer, event.broken)
    }
  }

  pull(atMs: number): LiveFrame | null {
    const [answer] = this.#speaking
    if (!answer) return null
    const frame = answer.voice.pull(atMs)
    if (frame || !answer.voice.finished) return frame
    this.#close(answer, false)
    return this.pull(atMs)
  }

  /** The caller took the turn: stops the speech; operations with effects continue. */
  cut(): void {
    this.#cancelHangup(CALLER_SPOKE)
    this.#waiting = null
    for (const answer of this.#open.values()) answer.muted = true
    for (const answer of [...this.#speaking]) this.#close(answer, true)
  }

  /** Handles the loss of the session with its unspoken output. Returns true when the caller lost an answer by it. */
  lost(): boolean {
    const lost = this.owed || this.#open.size > 0
    this.#cancelHangup('The call goes on.')
    const known = new Set(this.#options.transcript.messages().flatMap(one => (one.role === 'tool' ? [one.id] : [])))
    for (const answer of [...this.#open.values(), ...this.#working]) answer.known = known
    for (const answer of this.#open.values()) {
      answer.muted = true
      this.#end(answer, true)
    }
    this.#open.clear()
    for (const answer of [...this.#speaking]) {
      if (answer.muted) this.#close(answer, true, false) // complete answers play to their end
    }
    this.#waiting = null
    return lost
  }

  /** Another person speaks: running tools finish and are recorded, but the agent says nothing about them. */
  hold(): void {
    this.#held = true
    this.lost()
  }

  release(): void {
    this.#held = false
  }

  abort(): void {
    this.#over = true
    this.#cancelHangup('The call was over.')
    this.#waiting = null
    for (const answer of [...this.#speaking]) this.#close(answer, true)
    this.#open.clear()
  }

  /** After `abort`, waits until a running tool is in the transcript. */
  async settled(): Promise<void> {
    await this.#finished
  }

  tick(nowMs: number, callerTalks: boolean): void {
    const { speechOutput } = this.#options
    const soundBusy = callerTalks || speechOutput.active || this.speaking
    if (this.#pendingHangup && !this.#hangingUp && !soundBusy) this.#hangUp(this.#pendingHangup)
    if (this.#working.size > 0) this.#bridgeTools(soundBusy)
    else this.#bridgeThinking(nowMs, soundBusy)
  }

  // ---- one answer ----

  #start(id: string): void {
    const { sampleRate, toolbox, disclosure, speechOutput, stream } = this.#options
    if (this.#over) return
    const answer: Answer = {
      stream: stream(),
      voice: new RealtimeAudio(sampleRate, atMs => this.#measure(answer, atMs)),
      step: toolbox.step(),
      called: [],
      known: new Set(),
      turn: null,
      latency: null,
      spoke: false,
      muted: false,
    }
    this.#open.set(id, answer)
    if (!disclosure.owed) return
    speechOutput.say(disclosure.owed)
    speechOutput.finish()
  }

  #mayAdd(answer: Answer): boolean {
    if (answer.muted || this.#over) return false
    if (!answer.spoke) {
      answer.spoke = true
      answer.turn = this.#options.transcript.openAgent()
      this.#speaking.push(answer)
    }
    return true
  }

  #callTool(answer: Answer, { id, name, arguments: args, problem }: Extract<AnswerEvent, { type: 'tool' }>): void {
    if (this.#over) return
    this.#waiting = null
    answer.called.push(id)
    answer.step.start({ id, name, arguments: args, ...(problem === undefined ? {} : { problem }) })
    if (answer.step.empty) return // its only tool is the hang-up
    this.#working.add(answer)
    this.#finished = Promise.all([this.#finished, answer.step.finished()])
  }

  #end(answer: Answer, broken: boolean): void {
    answer.voice.end()
    if (this.#over) return
    const { step, spoke, muted } = answer
    if (!step.empty) {
      void this.#afterTools(answer)
      return
    }
    if (step.pendingHangup && (muted || broken)) this.#refuse(answer, CALLER_SPOKE)
    else if (step.pendingHangup) this.#pendingHangup = answer
    else if (!spoke && !muted && !broken) {
      this.#waiting = null
      this.#options.onFailed(null)
    }
  }

  async #afterTools(answer: Answer): Promise<void> {
    const { endWith, phrases, stream } = this.#options
    const { step, spoke } = answer
    await step.finished()
    this.#working.delete(answer)
    this.doNotCall ||= step.doNotCall
    if (this.#over) return
    if (this.#held) {
      step.withdrawHangup(TAKEN_OVER)
      return
    }
    this.#options.onAnswered()
    const wanted = step.needsAnswer(spoke)
    if (wanted && step.onlyGoodbyeLeft) {
      endWith(phrases.goodbye, 'agent_hangup')
      return
    }
    if (wanted) step.withdrawHangup('Not hung up: tell the caller the result first.')
    else if (answer.muted) step.withdrawHangup(CALLER_SPOKE)
    this.#giveResults(answer)
    if (!wanted) {
      if (step.pendingHangup) this.#pendingHangup = answer
    } else if (++this.#rounds > MAX_TOOL_ROUNDS) this.#options.onFailed(new Error('the model only calls tools'))
    else {
      this.#wait()
      stream().respond()
    }
  }

  /** Sends the results that are in the transcript by now; a new session receives them as messages with their calls. */
  #giveResults({ stream: caller, called, known }: Answer): void {
    const stream = this.#options.stream()
    for (const message of this.#options.transcript.messages()) {
      if (message.role !== 'tool' || !called.includes(message.id) || known.has(message.id)) continue
      if (stream === caller) stream.addToolResult(message)
      else stream.addMessage(message)
    }
  }

  /** Closes the agent's turn, complete or interrupted. */
  #close(answer: Answer, interrupted: boolean, byCaller = interrupted): void {
    const { clock, transcript, emit, stream } = this.#options
    this.#speaking = this.#speaking.filter(other => other !== answer)
    const spoken = answer.voice.close(clock.now())
    if (!spoken || !answer.turn) return
    const turn = transcript.closeAgent(answer.turn, {
      text: spoken.text,
      heard_text: spoken.heardText,
      started_ms: this.#fromAnswer(spoken.startedMs),
      ended_ms: this.#fromAnswer(spoken.endedMs),
      interrupted,
    })
    if (interrupted && !this.#over && answer.stream === stream()) {
      for (const { item, heardMs } of spoken.unheard) answer.stream.truncate(item, heardMs)
    }
    if (byCaller && spoken.heardMs > 0 && !this.#over) {
      emit({ type: 'barge_in', heard_ms: spoken.heardMs, heard_text: spoken.heardText })
    }
    if (turn) emit({ type: 'turn.finished', turn, latency: answer.latency })
  }

  #measure(answer: Answer, atMs: number): void {
    const { transcript, onAnswered } = this.#options
    const waiting = this.#waiting
    this.#waiting = null
    onAnswered()
    const asked = this.#asked
    if (!asked) return
    this.#asked = null
    answer.latency = {
      total_ms: Math.round(atMs - asked.endMs),
      endpointing_ms: Math.round(asked.committedMs - asked.endMs),
      stt_ms: 0,
      llm_first_token_ms: waiting ? Math.round(atMs - waiting.sinceMs) : 0,
      tts_first_byte_ms: 0,
      filler: false,
    }
    transcript.latencies.push(answer.latency)
  }

  // ---- waits ----

  #wait(): void {
    this.#waiting = { sinceMs: this.#options.clock.now(), bridged: false }
  }

  #bridgeTools(soundBusy: boolean): void {
    for (const { step } of this.#working) {
      const filler = step.takeFiller(soundBusy)
      if (!filler) continue
      this.#options.emit({ type: 'filler.spoken', ...filler })
      this.#bridge(filler.text)
      return
    }
  }

  #bridgeThinking(nowMs: number, soundBusy: boolean): void {
    const waiting = this.#waiting
    if (!waiting) return
    if (nowMs - waiting.sinceMs >= STALLED_MS) {
      this.#options.onStalled()
    } else if (!waiting.bridged && !soundBusy && nowMs - waiting.sinceMs >= THINKING_MS) {
      waiting.bridged = true
      this.#bridge(this.#options.phrases.oneMoment)
    }
  }

  #bridge(text: string): void {
    const { speechOutput } = this.#options
    if (this.#asked) speechOutput.expect({ ...this.#asked, sttMs: 0 })
    this.#asked = null
    speechOutput.say(text, true)
    speechOutput.finish()
  }

  // ---- hanging up ----

  #hangUp(answer: Answer): void {
    const { clock, onHangup } = this.#options
    this.#hangingUp = true
    clock.after(LAST_WORD_MS, () => {
      this.#hangingUp = false
      if (this.#pendingHangup !== answer) return
      this.#pendingHangup = null
      answer.step.confirmHangup()
      onHangup('agent_hangup')
    })
  }

  #cancelHangup(why: string): void {
    const answer = this.#pendingHangup
    this.#pendingHangup = null
    if (answer) this.#refuse(answer, why)
  }

  /** Tells the model that it has not hung up. */
  #refuse(answer: Answer, why: string): void {
    const before = new Set(this.#options.transcript.messages().flatMap(one => (one.role === 'tool' ? [one.id] : [])))
    answer.step.withdrawHangup(why)
    if (!this.#over) this.#giveResults({ ...answer, known: new Set([...before, ...answer.known]) })
  }

  #fromAnswer(atMs: number): number {
    return Math.max(0, Math.round(atMs - this.#options.answeredMs))
  }
}
