/**
 * Holds the spoken conversation of one call: runs what `turn.ts` decides. The leg pulls 20 ms of the agent's sound and
 * pushes the caller's; everything else follows from that, so no timer of its own is needed.
 */

import type { CallEventBody, EndedReason, ToolCall } from '../contract/messages.ts'
import type { CallPlan, PlanSecrets, ToolPlan } from '../contract/plan.ts'
import type { AudioFrame, Clock, Fetch, LegSink, Llm, Log, Stt, SttStream, Tts, Vad, VadStream } from '../ports.ts'
import { dueFiller, type FillerState } from './filler.ts'
import { Journal } from './journal.ts'
import { Mouth } from './mouth.ts'
import { type Phrases, phrasesFor } from './phrases.ts'
import { systemPrompt } from './prompt.ts'
import { type Reply, type ReplyItem, startReply } from './reply.ts'
import { runTool } from './tools.ts'
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

interface RunningTool {
  plan: ToolPlan
  filler: FillerState
  spoken: string[]
  done: boolean
}

export class Conversation implements LegSink {
  readonly journal = new Journal()
  doNotCall = false
  readonly #options: ConversationOptions
  readonly #phrases: Phrases
  readonly #system: string
  readonly #mouth: Mouth
  readonly #vad: VadStream
  readonly #stt: SttStream
  readonly #stopped = new AbortController()
  readonly #answeredMs: number
  #turn: TurnState
  #voice: VoiceState = silent
  #lastWindowMs: number
  #sttMs = 0
  #speculative: Reply | null = null
  #reply: Reply | null = null
  #tool: RunningTool | null = null
  #modelFailures = 0
  #ending = false
  #pulls = 0

  constructor(options: ConversationOptions) {
    const { plan, sampleRate, clock, vad, stt } = options
    this.#options = options
    this.#phrases = phrasesFor(plan.language)
    this.#system = systemPrompt(plan)
    this.#answeredMs = clock.now()
    this.#lastWindowMs = this.#answeredMs
    this.#turn = initialTurn(this.#answeredMs)
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
      emit: options.emit,
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
        this.#feed({ type: 'voice', ...heard.reading })
      },
    })
  }

  /** Says the disclosure and the greeting. */
  start(): void {
    const { plan } = this.#options
    const opening = [plan.disclosure, plan.greeting ?? this.#phrases.greeting].filter(text => text !== null)
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
    return Math.round(this.#options.clock.now() - this.#answeredMs)
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

  get phrases(): Phrases {
    return this.#phrases
  }

  /** The far end is gone: whatever runs is given up. */
  stop(): void {
    if (this.#stopped.signal.aborted) return
    this.#ending = true
    this.#stopped.abort()
    this.#speculative?.abort()
    this.#reply?.abort()
    this.#mouth.cut()
    this.#mouth.settle()
    this.#vad.close()
    this.#stt.close()
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
        this.#mouth.say(this.#phrases.stillThere)
        this.#mouth.finish()
        return
      case 'give_up':
        this.endWith(this.#phrases.noAnswer, 'silence_timeout')
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
    try {
      for await (const item of reply.items()) {
        if (reply !== this.#reply) return
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
      this.#modelFailures = 0
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
    if (++this.#modelFailures >= MAX_MODEL_FAILURES) this.endWith(this.#phrases.goodbye, 'model_error')
    else this.#mouth.say(this.#phrases.trouble)
  }

  // ---- tools ----

  async #useTool(item: Extract<ReplyItem, { type: 'tool' }>, round: number): Promise<void> {
    const { plan, secrets, clock, fetch, emit } = this.#options
    const tool = plan.tools.find(candidate => candidate.name === item.name)
    const startedMs = clock.now()
    const running: RunningTool | null = tool
      ? { plan: tool, filler: { startedMs, spoken: 0 }, spoken: [], done: false }
      : null
    this.#tool = running
    emit({ type: 'tool.started', name: item.name })
    const outcome = tool
      ? await runTool(tool, item.arguments, secrets.tool_headers[tool.name] ?? {}, fetch, this.#stopped.signal)
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
    this.#mouth.cut()
    this.#settle()
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
    this.#mouth.whenQuiet(() => this.#options.clock.after(LAST_WORD_MS, () => this.#options.onHangup(reason)))
  }

  // ---- time ----

  #tick(nowMs: number): void {
    if (this.#ending) return
    if (this.#turn.caller && nowMs - this.#lastWindowMs > NO_SOUND_MS) {
      this.#feed({ type: 'voice', voiced: false, atMs: nowMs, windowMs: 0 })
    }
    this.#feed({ type: 'tick', atMs: nowMs })
    const tool = this.#tool
    if (!tool) return
    const soundBusy = this.#mouth.active || this.#turn.caller !== null
    const phrase = dueFiller(tool.plan.filler, tool.filler, { atMs: nowMs, answered: tool.done, soundBusy })
    if (phrase === null) return
    tool.filler.spoken++
    tool.spoken.push(phrase)
    this.#options.emit({ type: 'filler.spoken', name: tool.plan.name, text: phrase })
    this.#mouth.say(phrase, true)
    this.#mouth.finish()
  }

  #fromAnswer(atMs: number): number {
    return Math.max(0, Math.round(atMs - this.#answeredMs))
  }
}
