/**
 * Holds the spoken conversation of one call: runs what `turn.ts` decides. The leg pulls 20 ms of the agent's sound and
 * pushes the caller's; everything else follows from that, so no timer of its own is needed.
 */

import { createResampler } from '../audio/resample.ts'
import type { CallEventBody, EndedReason, ToolCall, TurnLatency } from '../contract/messages.ts'
import type { CallPlan, PlanSecrets, ToolPlan } from '../contract/plan.ts'
import type { AudioFrame, Clock, Fetch, LegSink, Llm, Log, Stt, SttStream, Tts, Vad, VadStream } from '../ports.ts'
import { dueFiller, type FillerState } from './filler.ts'
import { Journal, type OpenTurn } from './journal.ts'
import { type Phrases, phrasesFor } from './phrases.ts'
import { Playout } from './playout.ts'
import { systemPrompt } from './prompt.ts'
import { buffered, type Reply, type ReplyItem, type ReplyTimes, startReply } from './reply.ts'
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

interface Commit {
  endMs: number
  atMs: number
  sttMs: number
}
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
  readonly #playout: Playout
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
  /** The latest commit whose answer has not been heard yet. */
  #awaited: Commit | null = null
  /** Of the reply that is being spoken, or was last. */
  #times: ReplyTimes | null = null
  #tool: RunningTool | null = null
  #run: { turn: OpenTurn; latency: TurnLatency | null; filler: boolean } | null = null
  #idleWaiters: (() => void)[] = []
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
    this.#playout = new Playout(sampleRate, {
      onStarted: atMs => this.#onSpeechStarted(atMs),
      onFinished: () => this.#onSpeechFinished(),
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
    for (const text of opening) this.#say(text)
    this.#playout.finish()
  }

  // ---- the leg's side ----

  pull(atMs: number): Int16Array | null {
    if (++this.#pulls % TICK_EVERY === 0) this.#tick(this.#options.clock.now())
    return this.#playout.pull(atMs)
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
    if (this.#playout.active) this.#closeRun(true)
    this.#say(text)
    this.#playout.finish()
    this.#whenQuiet(() => this.#options.onHangup(reason))
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
    if (this.#playout.active) this.#closeRun(true)
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
        this.#playout.pause()
        return
      case 'resume':
        this.#playout.resume()
        return
      case 'cut':
        this.#cut()
        return
      case 'prompt':
        this.#sayNow(this.#phrases.stillThere)
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
    this.#awaited = { endMs, atMs, sttMs: this.#sttMs }
    const prepared = this.#speculative
    this.#speculative = null
    // A running tool is not cut short by words: its result and the words are answered together.
    if (this.#tool && !this.#tool.done) {
      prepared?.abort()
      return
    }
    this.#tool = null
    this.#reply?.abort()
    if (this.#playout.active) this.#closeRun(true) // an answer that had not begun to sound
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
    this.#times = reply.times
    try {
      for await (const item of reply.items()) {
        if (reply !== this.#reply) return
        if (item.type === 'sentence') this.#queueSentence(item)
        else if (item.type === 'hangup') {
          this.#playout.finish()
          this.#whenQuiet(() => this.#hangUp())
        } else if (item.type === 'do_not_call') this.doNotCall = true
        else if (round < MAX_TOOL_ROUNDS) {
          this.#playout.finish()
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
    this.#playout.finish()
    // Nothing was said at all: nobody's turn is the caller's again.
    if (!this.#playout.active) this.#settle()
  }

  #hangUp(): void {
    if (this.#ending) return
    this.#ending = true
    this.#options.onHangup('agent_hangup')
  }

  #onModelFailure(error: unknown): void {
    if (this.#stopped.signal.aborted) return
    this.#options.log.error({ err: error }, 'text model failed')
    if (++this.#modelFailures >= MAX_MODEL_FAILURES) this.endWith(this.#phrases.goodbye, 'model_error')
    else this.#say(this.#phrases.trouble)
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
    await this.#quiet()
    if (next !== this.#reply || next.signal.aborted || this.#ending) return
    this.#tool = null
    await this.#speak(next, round + 1)
  }

  // ---- speaking ----

  #queueSentence(item: Extract<ReplyItem, { type: 'sentence' }>): void {
    this.#openRun(false)
    void this.#voiceOver(item.text, item.sound)
  }

  #say(text: string, filler = false): void {
    const { tts, plan } = this.#options
    this.#openRun(filler)
    void this.#voiceOver(
      text,
      buffered(tts.speak({ text, voice: plan.voice, language: plan.language }, this.#stopped.signal)),
    )
  }

  #sayNow(text: string): void {
    this.#say(text)
    this.#playout.finish()
  }

  #openRun(filler: boolean): void {
    if (this.#run) this.#run.filler &&= filler
    else this.#run = { turn: this.journal.openAgent(), latency: null, filler }
  }

  async #voiceOver(text: string, sound: AsyncIterable<{ pcm: Int16Array; sampleRate: number }>): Promise<void> {
    const sentence = this.#playout.add(text)
    let resampler: ReturnType<typeof createResampler> | null = null
    try {
      for await (const { pcm, sampleRate } of sound) {
        resampler ??= createResampler(sampleRate, this.#options.sampleRate)
        sentence.write(resampler.push(pcm))
      }
      if (resampler) sentence.write(resampler.flush())
    } catch (error) {
      this.#options.log.error({ err: error }, 'speech synthesis failed')
    }
    sentence.end()
  }

  #onSpeechStarted(atMs: number): void {
    const awaited = this.#awaited
    if (awaited && this.#run) {
      this.#awaited = null
      const times = this.#run.filler ? null : this.#times
      const latency: TurnLatency = {
        total_ms: Math.round(atMs - awaited.endMs),
        endpointing_ms: Math.round(awaited.atMs - awaited.endMs),
        stt_ms: Math.round(awaited.sttMs),
        llm_first_token_ms: times?.firstTokenMs ? Math.round(times.firstTokenMs - times.startedMs) : 0,
        tts_first_byte_ms:
          times?.firstSoundMs && times.firstTokenMs ? Math.round(times.firstSoundMs - times.firstTokenMs) : 0,
        filler: this.#run.filler,
      }
      this.#run.latency = latency
      this.journal.latencies.push(latency)
    }
    this.#feed({ type: 'agent_started', atMs })
  }

  #onSpeechFinished(): void {
    this.#closeRun(false)
    this.#settle()
  }

  /** Ends the agent's turn: whole, or at the word where it was cut. */
  #closeRun(interrupted: boolean): void {
    const spoken = interrupted ? this.#playout.cut() : this.#playout.spoken()
    this.#playout.clear()
    const run = this.#run
    this.#run = null
    if (!run) return
    const turn = this.journal.closeAgent(run.turn, {
      text: spoken.text,
      heard_text: spoken.heardText,
      started_ms: this.#fromAnswer(spoken.startedMs ?? this.#options.clock.now()),
      ended_ms: this.#fromAnswer(spoken.endedMs ?? spoken.startedMs ?? this.#options.clock.now()),
      interrupted,
    })
    if (interrupted && spoken.heardMs > 0 && !this.#stopped.signal.aborted) {
      this.#options.emit({ type: 'barge_in', heard_ms: spoken.heardMs, heard_text: spoken.heardText })
    }
    if (turn) this.#options.emit({ type: 'turn.finished', turn, latency: run.latency })
  }

  #cut(): void {
    if (!this.#tool) {
      this.#reply?.abort()
      this.#reply = null
    }
    this.#closeRun(true)
    this.#settle()
  }

  /** The agent has fallen silent: whoever waited for it goes on, and the turn machine is told. */
  #settle(): void {
    const waiters = this.#idleWaiters
    this.#idleWaiters = []
    for (const resume of waiters) resume()
    const atMs = this.#options.clock.now()
    if (this.#reply || this.#tool || this.#playout.active) this.#feed({ type: 'agent_busy', atMs })
    else this.#feed({ type: 'agent_idle', atMs })
  }

  #whenQuiet(run: () => void): void {
    if (this.#playout.active) this.#idleWaiters.push(run)
    else run()
  }

  #quiet(): Promise<void> {
    return new Promise(resolve => this.#whenQuiet(resolve))
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
    const soundBusy = this.#playout.active || this.#turn.caller !== null
    const phrase = dueFiller(tool.plan.filler, tool.filler, { atMs: nowMs, answered: tool.done, soundBusy })
    if (phrase === null) return
    tool.filler.spoken++
    tool.spoken.push(phrase)
    this.#options.emit({ type: 'filler.spoken', name: tool.plan.name, text: phrase })
    this.#say(phrase, true)
    this.#playout.finish()
  }

  #fromAnswer(atMs: number): number {
    return Math.max(0, Math.round(atMs - this.#answeredMs))
  }
}
