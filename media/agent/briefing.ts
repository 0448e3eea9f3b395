/** The model's context for a call: its circumstances, instructions that operators add, and the conversation so far. */
import type { CallPlan } from '../contract/plan.ts'
import type { LlmRequest, LlmTool } from '../ports/llm.ts'
import type { Clock } from '../shared/clock.ts'
import { localDate, systemPrompt, withInstructions } from './prompt.ts'
import type { CallTranscript } from './transcript.ts'

export interface BriefingOptions {
  plan: CallPlan
  clock: Clock
  transcript: CallTranscript
  tools(): LlmTool[]
}

export class Briefing {
  readonly #options: BriefingOptions
  readonly #system: string
  readonly #added: string[] = []

  constructor(options: BriefingOptions) {
    this.#options = options
    this.#system = systemPrompt(options.plan, options.clock.wall())
  }

  /** Adds an instruction that applies from the agent's next answer on. */
  add(instruction: string): void {
    this.#added.push(instruction)
  }

  get system(): string {
    return withInstructions(this.#system, this.#added)
  }

  request(): LlmRequest {
    const { plan, clock, transcript, tools } = this.#options
    return {
      system: this.system,
      boundary: plan.boundary,
      language: plan.language,
      messages: transcript.messages(),
      tools: tools(),
      today: localDate(clock.wall(), plan.timezone),
    }
  }
}
