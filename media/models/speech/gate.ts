/**
 * Which frames of a line are worth a model's work, and the way to it. The model itself says what is no speech; as long as
 * the line is no louder than what it has called so, it is not asked again. This is the engine's half of a detector, so that
 * a silent line costs neither a message nor a run of the model.
 */
import { concatPcm, rms } from '../../audio/frames.ts'
import type { AudioFrame } from '../../ports/leg.ts'
import type { VoiceFrame } from '../../ports/speech.ts'

/** Of 32768; about −66 dBFS, the lowest steps of G.711. */
const INAUDIBLE = 16
/** Lower than any offset: the model has no doubt. */
const NO_SPEECH = 0.15
/** In a row, half a second: the model's own memory of the last word is gone by then. */
const CALM_WINDOWS = 15
/** The loudest of them over their mean. What swings more is no room but clicks, music, a voice far away. */
const STEADY = 1.5
/** 3.9 dB. Forty milliseconds of a room's rumble differ by 15 % (one sigma); a voice as loud as the room adds 3 dB. */
const OVER_CALM = 1.56
/** A frame: a room that grows quieter is followed in about a third of a second; one that grows louder is judged anew. */
const FOLLOW = 0.065
/** Heard by the model before the frame that opened the gate, 200 ms: without them an onset comes a window late. */
const LEAD_FRAMES = 10
/** After it has opened, 120 ms: the two windows in which the model finds a voice, and what they wait for each other. */
const ONSET_FRAMES = 6
/** Two seconds: a model that is further behind is judged by what comes. */
const MOST_UNJUDGED = 100

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

/** Whether a frame of this loudness (root mean square) goes to the model. */
export const passes = ({ room }: GateState, level: number) =>
  room === null || level > Math.max(INAUDIBLE, room * OVER_CALM)

/** A frame that did not pass. */
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

export interface ToModel {
  /** Wire time; null: lead, of which nothing is to be told. */
  atMs: number | null
  /** More was left out before it than the model remembers. */
  fresh: boolean
}

export interface Gate {
  push(frame: AudioFrame): void
  /** What the model says of a window, in the order in which their sound was sent. */
  answered(voice: VoiceFrame): void
  /** The model has lost all that it heard of this line. */
  reset(): void
}

const power = (levels: readonly number[]) => Math.sqrt(levels.reduce((sum, one) => sum + one * one, 0) / levels.length)

/**
 * `onVoice` is told of each window that was sent, and of each frame that was not, in the order of their times. `onset`: a
 * voice may be beginning after silence, and somebody waits for the model's word.
 */
export function createGate(options: {
  sampleRate: number
  send(pcm: Int16Array, to: ToModel, onset: boolean): void
  onVoice(voice: VoiceFrame): void
}): Gate {
  const { sampleRate, send, onVoice } = options
  let state = openGate
  let before = 0
  let skipped: Int16Array[] = []
  let gap = false
  let skippedMs = Number.NEGATIVE_INFINITY
  let onsetFrames = 0
  let unjudged: { level: number; atMs: number }[] = []

  return {
    push({ pcm, atMs }) {
      const level = rms(pcm)
      // Two frames, since one alone swings too much.
      const loudness = power([before, level])
      before = level
      if (!passes(state, loudness)) {
        state = skip(state, loudness)
        gap ||= skipped.length === LEAD_FRAMES
        skipped = [...skipped.slice(1 - LEAD_FRAMES), pcm]
        skippedMs = atMs
        onVoice({ probability: 0, atMs, windowMs: (pcm.length / sampleRate) * 1000 })
        return
      }
      // Open until the model has spoken again.
      if (state.room !== null) {
        state = openGate
        onsetFrames = ONSET_FRAMES
      }
      const onset = onsetFrames > 0
      if (onset) onsetFrames--
      if (skipped.length > 0) send(concatPcm(skipped), { atMs: null, fresh: gap }, onset)
      skipped = []
      gap = false
      unjudged.push({ level, atMs })
      if (unjudged.length > MOST_UNJUDGED) unjudged.shift()
      send(pcm, { atMs, fresh: false }, onset)
    },
    answered(voice) {
      const later = unjudged.findIndex(({ atMs }) => atMs > voice.atMs)
      const judged = unjudged.splice(0, later < 0 ? unjudged.length : later)
      if (judged.length > 0) state = judge(state, power(judged.map(({ level }) => level)), voice.probability)
      // It was on the way while the gate was shut, and what came after it has been told.
      if (voice.atMs > skippedMs) onVoice(voice)
    },
    reset() {
      state = openGate
      skipped = []
      gap = false
      unjudged = []
    },
  }
}
