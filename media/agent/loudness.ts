/**
 * When the caller's sound was last loud. A voice detector says "speech" for some 150 ms after its end (measured with
 * Silero v5), which would flatter every latency and lengthen every answer; the sound itself tells the end to a frame. Pure.
 */
import { rms } from '../audio/frames.ts'
import type { AudioFrame } from '../ports.ts'

/** About −52 dBFS. */
const MIN_LEVEL = 80
const OVER_FLOOR = 3
/** 26 dB below the loudest of the last seconds is breath and room. */
const UNDER_PEAK = 0.05
const FLOOR_RISE = 0.01
const FLOOR_FALL = 0.3
/** Halves in about three seconds of 20 ms frames. */
const PEAK_DECAY = 0.9954

export interface LoudnessState {
  floor: number
  peak: number
  /** Wire time of the last loud frame's end; 0 before any. */
  lastMs: number
}

export const quiet: LoudnessState = { floor: MIN_LEVEL / OVER_FLOOR, peak: 0, lastMs: 0 }

export function listenLevel(state: LoudnessState, { pcm, atMs }: AudioFrame): LoudnessState {
  const level = rms(pcm)
  const peak = Math.max(level, state.peak * PEAK_DECAY)
  const loud = level > Math.max(MIN_LEVEL, state.floor * OVER_FLOOR, peak * UNDER_PEAK)
  // Speech must not become the floor that it is judged by, so loud frames raise it a hundred times slower.
  const rate = level > state.floor ? (loud ? FLOOR_RISE / 100 : FLOOR_RISE) : FLOOR_FALL
  return { floor: state.floor + (level - state.floor) * rate, peak, lastMs: loud ? atMs : state.lastMs }
}
