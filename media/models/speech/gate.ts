/**
 * Selects the frames of a line that the VAD model must evaluate, and sends them. The model itself reports what is not
 * speech; as long as the line is no louder than that, frames are skipped. This is the engine's half of a VAD session,
 * so that a silent line causes neither messages nor model runs.
 */
import { concatPcm, rms } from '../../audio/frames.ts'
import type { AudioFrame } from '../../ports/leg.ts'
import type { VoiceFrame } from '../../ports/speech.ts'

/** RMS of 32768; about −66 dBFS, the lowest steps of G.711. */
const INAUDIBLE = 16
/** Probability below which the model is certain; lower than any offset threshold. */
const NO_SPEECH = 0.15
/**
 * Consecutive windows without speech that close the gate: half a second, after which the model has forgotten the last
 * word.
 */
const CALM_WINDOWS = 15
/**
 * Maximum ratio of the loudest of them to their mean. Larger swings are clicks, music or a distant voice, not
 * background noise.
 */
const STEADY = 1.5
/** 3.9 dB. 40 ms of background noise differ by 15 % (one sigma); a voice as loud as the noise adds 3 dB. */
const OVER_CALM = 1.56
/**
 * Smoothing per frame: a decreasing noise level is followed in a third of a second; an increasing one reopens the gate.
 */
const FOLLOW = 0.065
/** Frames before the one that opened the gate, 200 ms: without them an onset is detected one window late. */
const LEAD_FRAMES = 10
/** Frames after the gate has opened, 120 ms: the two windows in which the model detects a voice, and their delay. */
const ONSET_FRAMES = 6
/** Limit of two seconds: an overloaded model is evaluated by its later answers. */
const MOST_UNJUDGED = 100

export interface GateState {
  /** Noise level while the gate is closed; null while it is open. Never above `judged`. */
  room: number | null
  /** Noise level that the model evaluated as no speech. */
  judged: number
  /** Levels of the latest consecutive windows without speech. */
  calm: readonly number[]
}

/** Open until the model has evaluated the line. */
export const openGate: GateState = { room: null, judged: 0, calm: [] }

/** True when a frame of this level (root mean square) must be sent to the model. */
export const passes = ({ room }: GateState, level: number) =>
  room === null || level > Math.max(INAUDIBLE, room * OVER_CALM)

/** Updates the state with a frame that was not sent. */
export function skip(state: GateState, level: number): GateState {
  const { room, judged } = state
  return room === null ? state : { ...state, room: Math.min(judged, room + (level - room) * FOLLOW) }
}

/** Updates the state with the model's result for a window. */
export function judge({ calm }: GateState, level: number, probability: number): GateState {
  if (probability >= NO_SPEECH) return openGate
  const levels = [...calm.slice(1 - CALM_WINDOWS), level]
  const mean = levels.reduce((sum, one) => sum + one, 0) / levels.length
  const steady = Math.max(...levels) <= Math.max(INAUDIBLE, mean * STEADY)
  return { room: steady && levels.length === CALM_WINDOWS ? mean : null, judged: mean, calm: levels }
}

export interface ToModel {
  /** Arrival time; null for lead frames, which get no answer. */
  atMs: number | null
  /** True when more audio was skipped before it than the model remembers. */
  fresh: boolean
}

export interface Gate {
  push(frame: AudioFrame): void
  /** Takes the model's results, in the order in which their audio was sent. */
  answered(voice: VoiceFrame): void
  /** The model has lost its state for this line. */
  reset(): void
}

const power = (levels: readonly number[]) => Math.sqrt(levels.reduce((sum, one) => sum + one * one, 0) / levels.length)

/**
 * Calls `onVoice` for each window that was sent and each frame that was not, in order of time. `onset`: speech may be
 * starting after silence, so the result is urgent.
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
      // Two frames, since a single one fluctuates too much.
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
      // Stay open until the next result of the model.
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
      // A result for audio sent before the gate closed; later frames were already reported.
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
