/** When to say something while a tool runs. No clock, no sound. */
import type { FillerStage, ToolPlan } from '../contract/plan.ts'

export interface FillerState {
  startedMs: number
  /** Stages already spoken. */
  spoken: number
}

/**
 * The phrase that is due, or null. Never when the answer is there, and never over other sound: a stage that falls due
 * while the agent still speaks waits for its end.
 */
export function dueFiller(
  stages: readonly FillerStage[],
  state: FillerState,
  now: { atMs: number; answered: boolean; soundBusy: boolean },
): string | null {
  const stage = stages[state.spoken]
  if (!stage || now.answered || now.soundBusy) return null
  return now.atMs - state.startedMs >= stage.after_ms ? stage.text : null
}

export interface RunningTool {
  readonly plan: ToolPlan
  readonly filler: FillerState
  readonly spoken: string[]
  done: boolean
}

export const startTool = (plan: ToolPlan, startedMs: number): RunningTool => ({
  plan,
  filler: { startedMs, spoken: 0 },
  spoken: [],
  done: false,
})

/** What is due now, noted as spoken; or null. */
export function takeFiller(tool: RunningTool, atMs: number, soundBusy: boolean): string | null {
  const phrase = dueFiller(tool.plan.filler, tool.filler, { atMs, answered: tool.done, soundBusy })
  if (phrase === null) return null
  tool.filler.spoken++
  tool.spoken.push(phrase)
  return phrase
}
