/** When to say something while a tool runs. Pure. */
import type { FillerStage } from '../contract/plan.ts'

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
