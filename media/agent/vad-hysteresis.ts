/** VAD hysteresis: converts speech probabilities of windows (Silero or any other) to "the caller speaks". Pure. */
import type { VoiceFrame } from '../ports/speech.ts'

export const ONSET = 0.5
export const OFFSET = 0.35
/** Consecutive windows above the onset that start speech; shorter bursts are clicks. */
const ONSET_WINDOWS = 2

export interface VadState {
  speaking: boolean
  /** Consecutive windows above the onset. */
  above: number
}

export interface VadReading {
  voiced: boolean
  atMs: number
  windowMs: number
}

export const silent: VadState = { speaking: false, above: 0 }

/** `speaking` ends with the first window below the offset; turn detection decides how long silence must last. */
export function stepVad(state: VadState, frame: VoiceFrame): { state: VadState; reading: VadReading } {
  const above = frame.probability >= ONSET ? state.above + 1 : 0
  const voiced = state.speaking ? frame.probability >= OFFSET : above >= ONSET_WINDOWS
  return {
    state: { speaking: voiced, above },
    reading: { voiced, atMs: frame.atMs, windowMs: frame.windowMs },
  }
}
