/**
 * When the caller's sound was last loud. A voice detector says "speech" for some 150 ms after its end (measured with
 * Silero v5), which would flatter every latency and lengthen every answer; the sound itself tells the end to a frame. Pure.
 */
import { rms } from '../audio/frames.ts'
import type { AudioFrame } from '../ports/leg.ts'

/** About −52 dBFS. */
const MIN_LEVEL = 80
const OVER_FLOOR = 2.2
/** 26 dB below the loudest of the last seconds is breath and room. */
const UNDER_PEAK = 0.05
/** Speech has a gap within so long; the quietest frame of the last two utterances is the room (minimum statistics). */
const UTTERANCE_MS = 1500
/** Halves in about three seconds of 20 ms frames. */
const PEAK_DECAY = 0.9954

export interface LoudnessState {
  peak: number
  /** Quietest of the utterance before, and of the one that ends at `untilMs`. */
  before: number
  lowest: number
  untilMs: number
  /** Wire time of the last loud frame's end; 0 before any. */
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
