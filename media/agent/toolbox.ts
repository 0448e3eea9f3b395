/**
 * Tool calls of one model answer: runs them concurrently, records each with arguments, duration and result, and
 * provides fillers while they run.
 */
import { FRAME_MS } from '../audio/frames.ts'
import type { CallEventBody, ToolCall } from '../contract/messages.ts'
import { isOwnTool } from '../contract/own-tools.ts'
import type { CallPlan, PlanSecrets, ToolPlan } from '../contract/plan.ts'
import type { LlmTool } from '../ports/llm.ts'
import type { Clock } from '../shared/clock.ts'
import type { Fetch } from '../shared/fetch.ts'
import { argumentProblem, runTool, type ToolOutcome } from '../tools/http-tool.ts'
import { coverFiller, dueFiller, type Filler, startFiller } from './filler.ts'
import { type Abilities, ownTools, runOwnTool } from './own-tools.ts'
import type { Phrases } from './phrases.ts'
import type { CallTranscript } from './transcript.ts'

export interface ToolboxOptions {
  plan: CallPlan
  secrets: PlanSecrets
  abilities: Abilities
  phrases: Phrases
  clock: Clock
  fetch: Fetch
  transcript: CallTranscript
  answeredMs: number
  /** Aborts running tools when the call is over. */
  signal: AbortSignal
  emit(body: CallEventBody): void
  /** Prepares a phrase that may be spoken soon. */
  warm(text: string): void
}

export interface CalledTool {
  id: string
  name: string
  arguments: Record<string, unknown>
  problem?: string
}

/** Maximum of tool calls in one answer; a model that makes more is out of control. */
const MOST_CALLS = 8
const OWN_FILLER_MS = 1200
/** Tools without a result worth telling: if the model spoke beside them, it is not queried again. */
const QUIET: ReadonlySet<string> = new Set(['do_not_call', 'take_message'])
/**
 * Built-in tools that wait for an answer and so get a filler. `send_digits` gets none: it must not speak over a menu.
 */
const BRIDGED: ReadonlySet<string> = new Set(['search_knowledge', 'transfer_call'])

interface Run {
  called: CalledTool
  filler: Filler | null
  spoken: string[]
  done: Promise<ToolOutcome>
  running: boolean
}

export class Toolbox {
  readonly #options: ToolboxOptions
  readonly #own: LlmTool[]
  #steps = 0

  constructor(options: ToolboxOptions) {
    this.#options = options
    this.#own = ownTools(options.plan, options.abilities)
  }

  /** Declarations for the model. */
  get declared(): LlmTool[] {
    const { tools } = this.#options.plan
    return [...tools.map(({ name, description, parameters }) => ({ name, description, parameters })), ...this.#own]
  }

  step(): ToolStep {
    return new ToolStep(`${++this.#steps}`, this.#options, this.#own)
  }
}

export class ToolStep {
  /** True when the caller asked never to be called again. */
  doNotCall = false
  /** Set by `end_call`; performed after the last word, or withdrawn. */
  pendingHangup: { called: CalledTool; startedMs: number } | null = null
  readonly #id: string
  readonly #options: ToolboxOptions
  readonly #own: readonly LlmTool[]
  readonly #runs: Run[] = []

  constructor(id: string, options: ToolboxOptions, own: readonly LlmTool[]) {
    this.#id = id
    this.#options = options
    this.#own = own
  }

  get running(): boolean {
    return this.#runs.some(run => run.running)
  }

  get empty(): boolean {
    return this.#runs.length === 0
  }

  /** True when the only tool was `do_not_call` and the caller has had no reply yet. */
  get onlyGoodbyeLeft(): boolean {
    return this.doNotCall && this.#runs.every(run => run.called.name === 'do_not_call')
  }

  /** True when the model must receive a result and answer again. */
  needsAnswer(spoke: boolean): boolean {
    return this.#runs.some(run => !spoke || !QUIET.has(run.called.name))
  }

  start(called: CalledTool): void {
    const { plan, clock, emit, warm } = this.#options
    const startedMs = clock.now()
    if (called.name === 'end_call' && this.#isOwn(called.name)) {
      this.pendingHangup ??= { called, startedMs }
      return
    }
    const tool = plan.tools.find(candidate => candidate.name === called.name)
    const run: Run = {
      called,
      filler: tool || BRIDGED.has(called.name) ? startFiller(this.#stages(tool), startedMs) : null,
      spoken: [],
      done: this.#run(called, tool),
      running: true,
    }
    this.#runs.push(run)
    const [first] = run.filler?.stages ?? []
    if (first) warm(first.text)
    emit({ type: 'tool.started', name: called.name })
    run.done = run.done.then(outcome => {
      run.running = false
      if (called.name === 'do_not_call' && outcome.status === 'ok') this.doNotCall = true
      this.#record(called, startedMs, outcome, run.spoken)
      return outcome
    })
  }

  async finished(): Promise<void> {
    await Promise.all(this.#runs.map(run => run.done))
  }

  /** Returns the filler to speak now while tools run, and records it as spoken; null when none is due. */
  takeFiller(soundBusy: boolean): { name: string; text: string } | null {
    const { clock, phrases } = this.#options
    // Speech that starts now is sent with the next frame.
    const atMs = clock.now() + FRAME_MS
    const waiting = this.#runs.filter(run => run.running && run.filler)
    for (const run of waiting) {
      const text = dueFiller(run.filler!, atMs, soundBusy, phrases.stillWorking)
      if (text === null) continue
      run.spoken.push(text)
      for (const other of waiting) coverFiller(other.filler!, atMs)
      return { name: run.called.name, text }
    }
    return null
  }

  /** Records that `end_call` was performed. */
  confirmHangup(): void {
    this.#left({ status: 'ok', http_status: null, result: 'Hung up.' })
  }

  /** Records that `end_call` was withdrawn. */
  withdrawHangup(why: string): void {
    this.#left(failure('aborted', why))
  }

  #left(outcome: ToolOutcome): void {
    if (!this.pendingHangup) return
    this.#record(this.pendingHangup.called, this.pendingHangup.startedMs, outcome, [])
    this.pendingHangup = null
  }

  #isOwn(name: string): boolean {
    return this.#own.some(tool => tool.name === name)
  }

  #stages(tool: ToolPlan | undefined) {
    const own = [{ after_ms: OWN_FILLER_MS, text: this.#options.phrases.oneMoment }]
    return (tool?.filler ?? own).toSorted((a, b) => a.after_ms - b.after_ms)
  }

  async #run(called: CalledTool, tool: ToolPlan | undefined): Promise<ToolOutcome> {
    const { plan, secrets, abilities, fetch, signal } = this.#options
    const { name, arguments: args } = called
    if (called.problem) return failure('bad_arguments', called.problem)
    if (this.#runs.length >= MOST_CALLS) return failure('failed', 'Too many tools were called at once.')
    const same = this.#runs.find(run => run.called.name === name && equal(run.called.arguments, args))
    if (same) return same.done
    if (tool) return runTool(tool, args, secrets.tool_headers[tool.name] ?? {}, fetch, signal)
    const own = this.#own.find(candidate => candidate.name === name)
    if (!own || !isOwnTool(name)) return failure('unknown_tool', `There is no tool named ${name}.`)
    const problem = argumentProblem(own.parameters, args)
    return problem ? failure('bad_arguments', problem) : runOwnTool(name, args, { plan, abilities, signal })
  }

  #record({ id, name, arguments: args }: CalledTool, startedMs: number, outcome: ToolOutcome, filler: string[]): void {
    const { clock, transcript, answeredMs, emit } = this.#options
    const endedMs = clock.now()
    const call: ToolCall = {
      name,
      arguments: args,
      started_ms: Math.max(0, Math.round(startedMs - answeredMs)),
      ms: Math.round(endedMs - startedMs),
      ...outcome,
      filler,
    }
    transcript.tool({
      id,
      step: this.#id,
      call,
      endedMs: Math.max(0, Math.round(endedMs - answeredMs)),
      inTranscript: name !== 'end_call',
    })
    emit({ type: 'tool.finished', tool: call })
  }
}

const failure = (status: ToolOutcome['status'], result: string): ToolOutcome => ({
  status,
  http_status: null,
  result,
})

/** Equality for duplicates as a model writes them, with keys in the same order. */
const equal = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
