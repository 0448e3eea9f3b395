/** From probabilities of speech to "the caller speaks": hysteresis over Silero's or any other windows. Pure. */
import type { VoiceFrame } from '../ports/speech.ts'

export const ONSET = 0.5
export const OFFSET = 0.35
/** Shorter bursts are clicks. */
const ONSET_WINDOWS = 2

export interface VoiceState {
  speaking: boolean
  /** Windows in a row above the onset. */
  above: number
}

export interface VoiceReading {
  voiced: boolean
  atMs: number
  windowMs: number
}

export const silent: VoiceState = { speaking: false, above: 0 }

/** `speaking` falls as soon as a window is below the offset; how long silence must last is the turn's business. */
export function hear(state: VoiceState, frame: VoiceFrame): { state: VoiceState; reading: VoiceReading } {
  const above = frame.probability >= ONSET ? state.above + 1 : 0
  const voiced = state.speaking ? frame.probability >= OFFSET : above >= ONSET_WINDOWS
  return {
    state: { speaking: voiced, above },
    reading: { voiced, atMs: frame.atMs, windowMs: frame.windowMs },
  }
}
