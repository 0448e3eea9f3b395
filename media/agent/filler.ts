/** When to say something while a tool runs. No clock, no sound. */
import type { FillerStage } from '../contract/plan.ts'

export interface Filler {
  readonly stages: readonly FillerStage[]
  readonly startedMs: number
  /** Stages that are past, spoken or covered by another phrase. */
  past: number
  spokenMs: number | null
}

/** Two phrases closer together sound like a stutter. */
const APART_MS = 1500
/** After the last stage, so that nobody thinks the line is dead. */
export const PROGRESS_EVERY_MS = 8000

export const startFiller = (stages: readonly FillerStage[], startedMs: number): Filler => ({
  stages,
  startedMs,
  past: 0,
  spokenMs: null,
})

/**
 * The phrase that is due, or null; `progress` is said again and again after the last stage. Never over other sound: a
 * stage that falls due while the agent still speaks waits for its end, and only the last of several is said.
 */
export function dueFiller(filler: Filler, atMs: number, soundBusy: boolean, progress: string): string | null {
  const { stages, startedMs, past, spokenMs } = filler
  if (soundBusy || stages.length === 0) return null
  if (spokenMs !== null && atMs - spokenMs < APART_MS) return null
  const due = stages.filter(stage => atMs - startedMs >= stage.after_ms)
  if (due.length > past) return due.at(-1)!.text
  const waited = spokenMs !== null && atMs - spokenMs >= PROGRESS_EVERY_MS
  return past >= stages.length && waited ? progress : null
}

/** A phrase was said: what was due by now is covered by it. */
export function coverFiller(filler: Filler, atMs: number): void {
  filler.past = filler.stages.filter(stage => atMs - filler.startedMs >= stage.after_ms).length
  filler.spokenMs = atMs
}
