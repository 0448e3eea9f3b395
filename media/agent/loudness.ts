/**
 * Tracks when the caller's audio was last loud. A VAD reports speech for some 150 ms after its end (measured with
 * Silero v5). That would flatter every latency and delay every answer; the energy gives the end to within one frame.
 * Pure.
 */
import { rms } from '../audio/frames.ts'
import type { AudioFrame } from '../ports/leg.ts'

/** RMS of about −52 dBFS. */
const MIN_LEVEL = 80
const OVER_FLOOR = 2.2
/** Share of the peak of the last seconds (26 dB below it); quieter sound is breath and background noise. */
const UNDER_PEAK = 0.05
/**
 * Window in ms that contains a gap in speech; the quietest frame of the last two windows is the noise floor (minimum
 * statistics).
 */
const UTTERANCE_MS = 1500
/** Decay per 20 ms frame; halves in about three seconds. */
const PEAK_DECAY = 0.9954

export interface LoudnessState {
  peak: number
  /** Quietest level of the previous window, and of the one that ends at `untilMs`. */
  before: number
  lowest: number
  untilMs: number
  /** Arrival time of the last loud frame's end; 0 before the first. */
  lastMs: number
}

export const quiet: LoudnessState = { peak: 0, before: 0, lowest: Number.POSITIVE_INFINITY, untilMs: 0, lastMs: 0 }

export function listenLevel(state: LoudnessState, { pcm, atMs }: AudioFrame): LoudnessState {
  const level = rms(pcm)
  const peak = Math.max(level, state.peak * PEAK_DECAY)
  const turned = atMs > state.untilMs
  const before = turned && state.untilMs > 0 ? state.lowest : state.before
  const lowest = turned ? level : Math.min(state.lowest, level)
  const loud = level > Math.max(MIN_LEVEL, Math.min(before, lowest) * OVER_FLOOR, peak * UNDER_PEAK)
  return {
    peak,
    before,
    lowest,
    untilMs: turned ? atMs + UTTERANCE_MS : state.untilMs,
    lastMs: loud ? atMs : state.lastMs,
  }
}
