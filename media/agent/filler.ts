/** Decides when to speak a filler while a tool runs. Pure: time is an argument. */
import type { FillerStage } from '../contract/plan.ts'

export interface Filler {
  stages: readonly FillerStage[]
  startedMs: number
  /** Number of stages that are past, spoken or covered by another phrase. */
  past: number
  spokenMs: number | null
}

/** Minimum distance in ms between two phrases; closer ones sound like a stutter. */
const APART_MS = 1500
/** Interval in ms of the progress phrase after the last stage, so that the line does not seem dead. */
export const PROGRESS_EVERY_MS = 8000

export const startFiller = (stages: readonly FillerStage[], startedMs: number): Filler => ({
  stages,
  startedMs,
  past: 0,
  spokenMs: null,
})

/**
 * Returns the phrase that is due, or null; `progress` repeats after the last stage. Never overlaps other speech: a
 * stage that falls due while somebody speaks waits for the end, and only the last of several due stages is spoken.
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

/** Records that a phrase was spoken; it covers all stages due by now. */
export function coverFiller(filler: Filler, atMs: number): void {
  filler.past = filler.stages.filter(stage => atMs - filler.startedMs >= stage.after_ms).length
  filler.spokenMs = atMs
}
