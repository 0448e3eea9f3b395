/**
 * Produces the agent's answers: queries the model, speaks its sentences, runs its tools, plays fillers during waits,
 * and apologises when a model fails. An answer may be prepared before the caller's turn is certain; it is played, and
 * has effects, only after `commit`.
 */
import type { CallEventBody, EndedReason } from '../contract/messages.ts'
import type { Llm, LlmRequest } from '../ports/llm.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import type { Disclosure } from './disclosure.ts'
import type { Phrases } from './phrases.ts'
import { type Reply, startReply, type Voice } from './reply.ts'
import type { SpeechOutput } from './speech-output.ts'
import type { Toolbox, ToolStep } from './toolbox.ts'
import { joinCallers } from './transcript.ts'

export interface AnswersOptions {
  llm: Llm
  voice: Voice
  speechOutput: SpeechOutput
  toolbox: Toolbox
  disclosure: Disclosure
  phrases: Phrases
  clock: Clock
  log: Log
  request(): LlmRequest
  emit(body: CallEventBody): void
  /** Called when nothing more will be said or done about this turn. */
  onDone(): void
  /** Speaks this text as the last one and hangs up. */
  endWith(text: string, reason: EndedReason): void
  onHangup(reason: EndedReason): void
}

export const TAKEN_OVER = 'A colleague has taken the call over.'
export const MAX_TOOL_ROUNDS = 6
const MAX_FAILURES = 2
/** Milliseconds after the caller's turn until the agent says "one moment", once per turn. */
export const THINKING_MS = 2500
/** Milliseconds between the last word and the hang-up, so that the word is not cut off in the far end's buffer. */
export const LAST_WORD_MS = 200
/**
 * Longest wait in ms for sound before hanging up: a caller who speaks cancels the hang-up, noise does not delay it
 * further.
 */
const HANGUP_WAIT_MS = 4000

export class Answers {
  doNotCall = false
  readonly #options: AnswersOptions
  #speculative: Reply | null = null
  #reply: Reply | null = null
  /** Its tools are running, or more of them may follow. */
  #step: ToolStep | null = null
  /** The reply spoken last: the model may have finished it while TTS has not. */
  #voiced: Reply | null = null
  /** The caller interrupted this reply: its further text is dropped, its tool calls still run. */
  #muted: Reply | null = null
  #failures = 0
  /** A pending hang-up by the agent; speech of the caller cancels it. */
  #pendingHangup: { step: ToolStep; quietMs: number | null } | null = null
  #waiting: { sinceMs: number; bridged: boolean } | null = null
  #finished: Promise<unknown> = Promise.resolve()
  #over = false
  #held = false

  constructor(options: AnswersOptions) {
    this.#options = options
  }

  /** True while an answer is in progress. */
  get busy(): boolean {
    return this.#reply !== null || this.#step !== null
  }

  prepare(callerText: string): void {
    this.discard()
    if (!this.#step) this.#speculative = this.#start(callerText)
  }

  discard(): void {
    this.#speculative?.abort()
    this.#speculative = null
  }

  /** Answers the caller's turn, which is now in the transcript. */
  commit(): void {
    const prepared = this.#speculative
    this.#speculative = null
    // A running tool is not interrupted by speech: its result and the new words get one answer.
    if (this.#step?.running) {
      prepared?.abort()
      return
    }
    this.#step = null
    this.#cancelHangup('The caller spoke; the call goes on.')
    this.#abortReplies()
    this.#options.speechOutput.cut() // an answer that was not audible yet
    this.#wait()
    void this.#speak(prepared ?? this.#start(null), 0)
  }

  /** The caller took the turn: stops the speech; operations with effects continue. */
  cut(): void {
    if (this.#step) this.#muted = this.#reply
    else this.#abortReplies()
    this.#cancelHangup('The caller spoke; the call goes on.')
    this.#options.speechOutput.cut()
    this.#options.speechOutput.settle()
  }

  /** Another person speaks: running tools finish and are recorded, but the agent says nothing about them. */
  hold(): void {
    this.#held = true
    this.discard()
    this.cut()
  }

  release(): void {
    this.#held = false
  }

  abort(): void {
    this.#over = true
    this.discard()
    this.#reply?.abort()
    this.#voiced?.abort()
    this.#cancelHangup('The call was over.')
  }

  /** After `abort`, waits until a running tool is in the transcript: the customer's server has received the request. */
  async settled(): Promise<void> {
    await this.#finished
  }

  /** `soundBusy`: the agent or the caller is speaking. */
  tick(nowMs: number, soundBusy: boolean): void {
    if (this.#held) return
    const { speechOutput, phrases, emit } = this.#options
    this.#hangUpIfDue(nowMs, soundBusy)
    if (this.#step?.running) {
      const filler = this.#step.takeFiller(soundBusy)
      if (!filler) return
      emit({ type: 'filler.spoken', ...filler })
      speechOutput.say(filler.text, true)
      speechOutput.finish()
      return
    }
    const waiting = this.#waiting
    if (!this.#reply || !waiting || waiting.bridged || soundBusy || nowMs - waiting.sinceMs < THINKING_MS) return
    waiting.bridged = true
    speechOutput.say(phrases.oneMoment, true)
    speechOutput.finish()
  }

  #abortReplies(): void {
    this.#reply?.abort()
    this.#voiced?.abort()
    this.#reply = null
  }

  #wait(): void {
    this.#waiting = { sinceMs: this.#options.clock.now(), bridged: false }
  }

  #start(callerText: string | null): Reply {
    const { llm, voice, clock } = this.#options
    const request = this.#options.request()
    const messages = callerText === null ? request.messages : joinCallers([...request.messages, caller(callerText)])
    return startReply(llm, { ...request, messages }, voice, clock)
  }

  /** Consumes a reply to its end: queues its text for speech and starts its tools. */
  async #speak(reply: Reply, round: number): Promise<void> {
    const { speechOutput, toolbox, disclosure, phrases, log } = this.#options
    this.#reply = reply
    this.#voiced = reply
    speechOutput.times = reply.times
    if (disclosure.owed) speechOutput.say(disclosure.owed)
    const step = toolbox.step()
    let spoke = false
    try {
      for await (const item of reply.items()) {
        if (reply !== this.#reply) return
        if (item.type === 'tool') {
          if (round >= MAX_TOOL_ROUNDS) continue
          step.start(item)
          if (!step.empty) this.#step = step
          // Recorded here, since a hang-up ends the reply before its end.
          this.#finished = step.finished().then(() => {
            this.doNotCall ||= step.doNotCall
          })
        } else if (reply !== this.#muted) {
          spoke = true
          speechOutput.queue(item.text, item.sound)
        }
      }
      if (reply.signal.aborted) return
      // Never leave a caller who has spoken without an answer.
      if (!spoke && step.empty && !step.pendingHangup) throw new Error('the text model returned no answer')
      if (!spoke && step.empty) speechOutput.say(phrases.goodbye)
      if (spoke) this.#failures = 0
    } catch (error) {
      if (step.empty) return this.#fail(reply, error)
      log.warn({ err: error }, 'text model failed after calling a tool')
    }
    if (step.empty) this.#end(step)
    else await this.#afterTools(step, spoke, round)
  }

  async #afterTools(step: ToolStep, spoke: boolean, round: number): Promise<void> {
    const { speechOutput } = this.#options
    speechOutput.finish()
    await this.#finished
    if (this.#over) return
    if (this.#held) {
      step.withdrawHangup(TAKEN_OVER)
      this.#reply = null
      this.#step = null
      return
    }
    if (!step.needsAnswer(spoke)) {
      this.#end(step)
      return
    }
    if (step.onlyGoodbyeLeft) {
      this.#options.endWith(this.#options.phrases.goodbye, 'agent_hangup')
      return
    }
    step.withdrawHangup('Not hung up: tell the caller the result first.')
    // The model works while the filler plays out; its answer follows. Without a running tool it is an ordinary answer,
    // which new
    // speech of the caller replaces.
    const next = this.#start(null)
    this.#reply = next
    this.#step = null
    this.#wait()
    await speechOutput.quiet()
    if (next !== this.#reply || next.signal.aborted || this.#over) return
    await this.#speak(next, round + 1)
  }

  /** Ends the answer after everything was said and done. */
  #end(step: ToolStep): void {
    const { speechOutput, clock, onDone } = this.#options
    this.#reply = null
    this.#step = null
    speechOutput.finish()
    if (step.pendingHangup) {
      const pending: { step: ToolStep; quietMs: number | null } = { step, quietMs: null }
      this.#pendingHangup = pending
      speechOutput.whenQuiet(() => {
        pending.quietMs = clock.now()
      })
    }
    if (!speechOutput.active) onDone()
  }

  #hangUpIfDue(nowMs: number, soundBusy: boolean): void {
    const { step, quietMs } = this.#pendingHangup ?? { quietMs: null }
    if (!step || quietMs === null || nowMs < quietMs + (soundBusy ? HANGUP_WAIT_MS : LAST_WORD_MS)) return
    this.#pendingHangup = null
    step.confirmHangup()
    this.#options.onHangup('agent_hangup')
  }

  #cancelHangup(why: string): void {
    this.#pendingHangup?.step.withdrawHangup(why)
    this.#pendingHangup = null
  }

  #fail(reply: Reply, error: unknown): void {
    if (this.#over || reply !== this.#reply) return
    const { log, speechOutput, phrases, endWith, onDone } = this.#options
    log.error({ err: error }, 'text model failed')
    this.#reply = null
    if (++this.#failures >= MAX_FAILURES) {
      endWith(phrases.outage, 'model_error')
      return
    }
    speechOutput.say(phrases.trouble)
    speechOutput.finish()
    if (!speechOutput.active) onDone()
  }
}

const caller = (text: string) => ({ role: 'caller' as const, text })
