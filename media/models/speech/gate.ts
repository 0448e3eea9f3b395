/**
 * Which windows of a line are worth a model's work. The model itself says what is no speech; as long as the line is no
 * louder than what it has called so, it is not asked again. Pure.
 */

/** Of 32768; about −66 dBFS, the lowest steps of G.711. */
const INAUDIBLE = 16
/** Lower than any offset: the model has no doubt. */
const NO_SPEECH = 0.15
/** In a row, half a second: the model's own memory of the last word is gone by then. */
const CALM_WINDOWS = 15
/** The loudest of them over their mean. What swings more is no room but clicks, music, a voice far away. */
const STEADY = 1.5
/** 3.9 dB. Windows of a room's rumble differ by 15 % (one sigma); a voice as loud as the room adds 3 dB at its mean. */
const OVER_CALM = 1.56
/** A room that grows quieter is followed in about a third of a second; one that grows louder is judged anew. */
const FOLLOW = 0.1

export interface GateState {
  /** Loudness of the room while the gate is shut; null while it is open. Never above `judged`. */
  room: number | null
  /** As the model heard it. */
  judged: number
  /** Of the last windows that the model called no speech, in a row. */
  calm: readonly number[]
}

/** Open until the model has heard the line. */
export const openGate: GateState = { room: null, judged: 0, calm: [] }

/** Whether a window of this loudness (root mean square) goes to the model. */
export const passes = ({ room }: GateState, level: number) =>
  room === null || level > Math.max(INAUDIBLE, room * OVER_CALM)

/** A window that did not pass. */
export function skip(state: GateState, level: number): GateState {
  const { room, judged } = state
  return room === null ? state : { ...state, room: Math.min(judged, room + (level - room) * FOLLOW) }
}

/** A window that the model has judged. */
export function judge({ calm }: GateState, level: number, probability: number): GateState {
  if (probability >= NO_SPEECH) return openGate
  const levels = [...calm.slice(1 - CALM_WINDOWS), level]
  const mean = levels.reduce((sum, one) => sum + one, 0) / levels.length
  const steady = Math.max(...levels) <= Math.max(INAUDIBLE, mean * STEADY)
  return { room: steady && levels.length === CALM_WINDOWS ? mean : null, judged: mean, calm: levels }
}
