/**
 * Holds the spoken conversation of one call: runs what `turn.ts` decides. The leg pulls 20 ms of the agent's sound and
 * pushes the caller's; everything else follows from that, so no timer of its own is needed.
 */

import type { CallEventBody, EndedReason, ToolCall } from '../contract/messages.ts'
import type { CallPlan, PlanSecrets } from '../contract/plan.ts'
import { runTool } from '../contract/tool.ts'
import type { AudioFrame, Clock, Fetch, LegSink, Llm, Log, Stt, SttStream, Tts, Vad, VadStream } from '../ports.ts'
import { Disclosure } from './disclosure.ts'
import { type RunningTool, startTool, takeFiller } from './filler.ts'
import { Journal } from './journal.ts'
import { type LoudnessState, listenLevel, quiet } from './loudness.ts'
import { Mouth } from './mouth.ts'
import { type Phrases, phrasesFor } from './phrases.ts'
import { systemPrompt } from './prompt.ts'
import { type Reply, type ReplyItem, startReply } from './reply.ts'
import { initialTurn, stepTurn, type TurnEffect, type TurnInput, type TurnState } from './turn.ts'
import { hear, silent, type VoiceState } from './voice.ts'

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
  emit(body: CallEventBody): void
  /** The agent has said its last word. */
  onHangup(reason: EndedReason): void
}

const TICK_EVERY = 5
const MAX_TOOL_ROUNDS = 6
const MAX_MODEL_FAILURES = 2
/** Without packets there are no voice windows; then the clock alone tells silence. */
const NO_SOUND_MS = 400
const LAST_WORD_MS = 200

export class Conversation implements LegSink {
  readonly journal = new Journal()
  readonly phrases: Phrases
  doNotCall = false
  readonly #options: ConversationOptions
  readonly #disclosure: Disclosure
  readonly #system: string
  readonly #mouth: Mouth
  readonly #vad: VadStream
  readonly #stt: SttStream
  readonly #stopped = new AbortController()
  readonly #answeredMs: number
  #turn: TurnState
  #voice: VoiceState = silent
  #loudness: LoudnessState = quiet
  #lastWindowMs: number
  #sttMs = 0
  #speculative: Reply | null = null
  #reply: Reply | null = null
  #tool: RunningTool | null = null
  #toolRun: ReturnType<typeof runTool> | null = null
  #modelFailures = 0
  /** Set while the agent is about to hang up of its own accord; words of the caller in between take that back. */
  #leaving: object | null = null
  #stoppedMs: number | null = null
  #ending = false
  #pulls = 0

  constructor(options: ConversationOptions) {
    const { plan, sampleRate, clock, vad, stt } = options
    this.#options = options
    this.phrases = phrasesFor(plan.language)
    this.#system = systemPrompt(plan)
    this.#answeredMs = clock.now()
    this.#lastWindowMs = this.#answeredMs
    this.#turn = initialTurn(this.#answeredMs)
    this.#disclosure = new Disclosure(plan.disclosure)
    this.#mouth = new Mouth({
      sampleRate,
      tts: options.tts,
      voice: plan.voice,
      language: plan.language,
      clock,
      log: options.log,
      journal: this.journal,
      answeredMs: this.#answeredMs,
      signal: this.#stopped.signal,
      emit: body => {
        this.#disclosure.note(body)
        options.emit(body)
      },
      onStarted: atMs => this.#feed({ type: 'agent_started', atMs }),
      onFinished: () => this.#settle(),
    })
    this.#stt = stt.open({ sampleRate, language: plan.language })
    this.#vad = vad.open({
      sampleRate,
      onVoice: frame => {
        const heard = hear(this.#voice, frame)
        this.#voice = heard.state
        this.#lastWindowMs = frame.atMs
        this.#feed({ type: 'voice', ...heard.reading, loudMs: this.#loudness.lastMs })
      },
    })
  }

  /** Says the disclosure and the greeting. */
  start(): void {
    const { plan } = this.#options
    const opening = [plan.disclosure, plan.greeting ?? this.phrases.greeting].filter(text => text !== null)
    this.#turn = { ...this.#turn, agent: 'busy' }
    for (const text of opening) this.#mouth.say(text)
    this.#mouth.finish()
  }

  // ---- the leg's side ----

  pull(atMs: number): Int16Array | null {
    if (++this.#pulls % TICK_EVERY === 0) this.#tick(this.#options.clock.now())
    return this.#mouth.pull(atMs)
  }

  push(frame: AudioFrame): void {
    this.#loudness = listenLevel(this.#loudness, frame)
    this.#stt.push(frame)
    this.#vad.push(frame)
  }

  dtmf(digit: string): void {
    this.#options.emit({ type: 'dtmf.received', digit })
    this.#feed({ type: 'key', digit, atMs: this.#options.clock.now() })
  }

  // ---- the call's side ----

  /** Talked milliseconds by now. */
  get talkedMs(): number {
    return Math.round((this.#stoppedMs ?? this.#options.clock.now()) - this.#answeredMs)
  }

  /** Stops whatever is being said, says this one thing, and calls `onHangup(reason)`. */
  endWith(text: string, reason: EndedReason): void {
    if (this.#ending) return
    this.#ending = true
    this.#speculative?.abort()
    this.#reply?.abort()
    this.#mouth.cut()
    this.#mouth.say(text)
    this.#mouth.finish()
    this.#hangUpAfter(reason)
  }

  /** The far end is gone: whatever runs is given up. */
  stop(): void {
    if (this.#stopped.signal.aborted) return
    this.#stoppedMs = this.#options.clock.now()
    this.#ending = true
    this.#stopped.abort()
    this.#speculative?.abort()
    this.#reply?.abort()
    this.#mouth.cut()
    this.#mouth.settle()
    this.#vad.close()
    this.#stt.close()
  }

  /** After `stop`: a tool that was running is in the journal. The customer's side has been asked, so it belongs there. */
  async settled(): Promise<void> {
    await this.#toolRun
  }

  request() {
    const { plan } = this.#options
    return {
      system: this.#system,
      language: plan.language,
      messages: this.journal.messages(),
      tools: plan.tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
      today: new Date(this.#options.clock.wall()),
    }
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
        this.#speculative?.abort()
        this.#speculative = this.#tool ? null : this.#startReply(effect.text)
        return
      case 'discard':
        this.#speculative?.abort()
        this.#speculative = null
        return
      case 'commit':
        this.#commit(effect)
        return
      case 'pause':
        this.#mouth.pause()
        return
      case 'resume':
        this.#mouth.resume()
        return
      case 'cut':
        this.#cut()
        return
      case 'prompt':
        this.#mouth.say(this.phrases.stillThere)
        this.#mouth.finish()
        return
      case 'give_up':
        this.endWith(this.phrases.noAnswer, 'silence_timeout')
    }
  }

  async #transcribe(fromMs: number, toMs: number): Promise<void> {
    const { clock, log } = this.#options
    const startedMs = clock.now()
    let text = ''
    try {
      text = (await this.#stt.transcribe(fromMs, toMs, this.#stopped.signal)).text
    } catch (error) {
      if (!this.#stopped.signal.aborted) log.warn({ err: error }, 'recognition failed')
    }
    this.#sttMs = clock.now() - startedMs
    this.#feed({ type: 'hypothesis', toMs, text, atMs: clock.now() })
  }

  #commit({ text, startMs, endMs, atMs }: Extract<TurnEffect, { type: 'commit' }>): void {
    const turn = this.journal.caller({ text, started_ms: this.#fromAnswer(startMs), ended_ms: this.#fromAnswer(endMs) })
    this.#options.emit({ type: 'turn.finished', turn, latency: null })
    this.#mouth.expect({ endMs, committedMs: atMs, sttMs: this.#sttMs })
    const prepared = this.#speculative
    this.#speculative = null
    // A running tool is not cut short by words: its result and the words are answered together.
    if (this.#tool && !this.#tool.done) {
      prepared?.abort()
      return
    }
    this.#tool = null
    this.#leaving = null
    this.#reply?.abort()
    this.#mouth.cut() // an answer that had not begun to sound
    void this.#speak(prepared ?? this.#startReply(null), 0)
  }

  #startReply(callerText: string | null): Reply {
    const { llm, tts, plan, clock } = this.#options
    const request = this.request()
    if (callerText !== null) request.messages.push({ role: 'caller', text: callerText })
    return startReply(llm, request, { tts, voice: plan.voice, language: plan.language }, clock)
  }

  /** Reads a reply to its end: what it says is queued, what it wants done is done. */
  async #speak(reply: Reply, round: number): Promise<void> {
    this.#reply = reply
    this.#mouth.times = reply.times
    if (this.#disclosure.owed) this.#mouth.say(this.#disclosure.owed)
    let acted = false
    try {
      for await (const item of reply.items()) {
        if (reply !== this.#reply) return
        acted ||= item.type !== 'tool' && item.type !== 'do_not_call'
        if (item.type === 'sentence') this.#mouth.queue(item.text, item.sound)
        else if (item.type === 'hangup') {
          this.#mouth.finish()
          this.#hangUpAfter('agent_hangup')
        } else if (item.type === 'do_not_call') this.doNotCall = true
        else if (round < MAX_TOOL_ROUNDS) {
          this.#mouth.finish()
          await this.#useTool(item, round)
          return
        }
      }
      if (reply.signal.aborted) return
      if (acted) this.#modelFailures = 0
      else if (this.doNotCall) this.endWith(this.phrases.goodbye, 'agent_hangup')
      // A caller who has spoken is not left in silence.
      else throw new Error('the text model gave no answer')
    } catch (error) {
      this.#onModelFailure(error)
    }
    if (reply !== this.#reply) return
    this.#reply = null
    this.#mouth.finish()
    // Nothing was said at all: the turn is the caller's again.
    if (!this.#mouth.active) this.#settle()
  }

  #onModelFailure(error: unknown): void {
    if (this.#stopped.signal.aborted) return
    this.#options.log.error({ err: error }, 'text model failed')
    if (++this.#modelFailures >= MAX_MODEL_FAILURES) this.endWith(this.phrases.goodbye, 'model_error')
    else this.#mouth.say(this.phrases.trouble)
  }

  // ---- tools ----

  async #useTool(item: Extract<ReplyItem, { type: 'tool' }>, round: number): Promise<void> {
    const { plan, secrets, clock, fetch, emit } = this.#options
    const tool = plan.tools.find(candidate => candidate.name === item.name)
    const startedMs = clock.now()
    const running = tool ? startTool(tool, startedMs) : null
    this.#tool = running
    emit({ type: 'tool.started', name: item.name })
    this.#toolRun = tool
      ? runTool(tool, item.arguments, secrets.tool_headers[tool.name] ?? {}, fetch, this.#stopped.signal)
      : null
    const outcome = this.#toolRun
      ? await this.#toolRun
      : { verdict: 'bad_arguments' as const, http_status: null, result: `There is no tool named ${item.name}.` }
    const call: ToolCall = {
      name: item.name,
      arguments: item.arguments,
      started_ms: this.#fromAnswer(startedMs),
      ms: Math.round(clock.now() - startedMs),
      ...outcome,
      filler: running?.spoken ?? [],
    }
    if (running) running.done = true
    this.journal.tool(item.id, call, this.#fromAnswer(clock.now()))
    emit({ type: 'tool.finished', tool: call })
    if (this.#stopped.signal.aborted || this.#ending) return
    // The model thinks while the filler ends; the answer is spoken after it.
    const next = this.#startReply(null)
    this.#reply = next
    await this.#mouth.quiet()
    if (next !== this.#reply || next.signal.aborted || this.#ending) return
    this.#tool = null
    await this.#speak(next, round + 1)
  }

  // ---- the end of speaking ----

  #cut(): void {
    if (!this.#tool) {
      this.#reply?.abort()
      this.#reply = null
    }
    this.#leaving = null
    this.#mouth.cut()
    this.#mouth.settle()
    // The turn machine knows that the agent is silent; that it works on is news to it.
    if (this.#tool) this.#feed({ type: 'agent_busy', atMs: this.#options.clock.now() })
  }

  /** The agent has fallen silent: whoever waited for it goes on, and the turn machine is told. */
  #settle(): void {
    this.#mouth.settle()
    const atMs = this.#options.clock.now()
    const busy = this.#reply || this.#tool || this.#mouth.active
    this.#feed({ type: busy ? 'agent_busy' : 'agent_idle', atMs })
  }

  /** After the last word; a moment later, so that it is not cut off in the far end's buffer. */
  #hangUpAfter(reason: EndedReason): void {
    const leaving = {}
    this.#leaving = leaving
    const go = () => {
      if (this.#leaving === leaving) this.#options.onHangup(reason)
    }
    this.#mouth.whenQuiet(() => this.#options.clock.after(LAST_WORD_MS, go))
  }

  // ---- time ----

  #tick(nowMs: number): void {
    if (this.#ending) return
    if (this.#turn.caller && nowMs - this.#lastWindowMs > NO_SOUND_MS) {
      this.#feed({ type: 'voice', voiced: false, atMs: nowMs, windowMs: 0, loudMs: this.#loudness.lastMs })
    }
    this.#feed({ type: 'tick', atMs: nowMs })
    const tool = this.#tool
    if (!tool) return
    const phrase = takeFiller(tool, nowMs, this.#mouth.active || this.#turn.caller !== null)
    if (phrase === null) return
    this.#options.emit({ type: 'filler.spoken', name: tool.plan.name, text: phrase })
    this.#mouth.say(phrase, true)
    this.#mouth.finish()
  }

  #fromAnswer(atMs: number): number {
    return Math.max(0, Math.round(atMs - this.#answeredMs))
  }
}
