/**
 * Audio for a waiting caller: hold music or a ringing tone. The music is synthesised from a few sines and thus free of
 * rights. The ringing tone has the cadence of the country called (ITU-T E.180 and its supplement of national tones).
 */
import { frameSamples } from './frames.ts'
import { PendingAudio } from './pending.ts'

/** Endless audio; each call of `next` returns 20 ms. */
export interface WaitingAudio {
  next(): Int16Array
}

/** About −22 dBm0: well below speech, since the caller may speak over it. */
const MUSIC_AMPLITUDE = 1800
/** E.180 recommends at most −10 dBm0; the caller holds the receiver to the ear. */
const RINGING_AMPLITUDE = 1400

const BEAT_MS = 480
/** Arpeggiated chords of four beats: A minor, F, C, G, in Hz. */
const CHORDS = [
  [220, 261.63, 329.63, 440],
  [174.61, 261.63, 349.23, 440],
  [261.63, 329.63, 392, 523.25],
  [196, 293.66, 392, 493.88],
] as const
const ORDER = [0, 1, 2, 3, 2, 1, 3, 2]
const NOTE_MS = BEAT_MS / 2
/** Envelope of a plucked string: immediate attack, slow decay. */
const ATTACK_MS = 8
const DECAY_MS = 260
const LOOP_MS = CHORDS.length * ORDER.length * NOTE_MS

const MUSIC_RATE = 8000
/** Synthesised once at the start of the process, because it takes as long as a frame lasts. */
const LOOP = musicLoop()

/** Synthesises one loop of the music, eight seconds. */
function musicLoop(): Int16Array {
  const sum = new Float32Array((LOOP_MS * MUSIC_RATE) / 1000)
  CHORDS.forEach((chord, bar) => {
    ORDER.forEach((note, beat) => {
      strike(sum, chord[note]!, (bar * ORDER.length + beat) * NOTE_MS)
    })
    strike(sum, chord[0] / 2, bar * ORDER.length * NOTE_MS)
  })
  const peak = sum.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0)
  return Int16Array.from(sum, sample => Math.round((sample / peak) * MUSIC_AMPLITUDE))
}

/** Notes that end after the loop continue at its start, so that the loop has no seam. */
function strike(sum: Float32Array, hz: number, atMs: number): void {
  const first = Math.round((atMs * MUSIC_RATE) / 1000)
  const length = Math.round((4 * DECAY_MS * MUSIC_RATE) / 1000)
  for (let i = 0; i < length; i++) {
    const ms = (i * 1000) / MUSIC_RATE
    const strength = Math.min(1, ms / ATTACK_MS) * Math.exp(-ms / DECAY_MS) * Math.min(1, (length - i) / 80)
    const omega = (2 * Math.PI * hz * i) / MUSIC_RATE
    const at = (first + i) % sum.length
    sum[at]! += strength * (Math.sin(omega) + 0.35 * Math.sin(2 * omega) + 0.12 * Math.sin(3 * omega))
  }
}

/** Starts with the first bar. */
export function createMusic(sampleRate: number): WaitingAudio {
  const frame = frameSamples(MUSIC_RATE)
  const sound = new PendingAudio(sampleRate)
  let at = 0
  return {
    next() {
      while (sound.available < frameSamples(sampleRate)) {
        sound.write(LOOP.subarray(at, at + frame), MUSIC_RATE)
        at = (at + frame) % LOOP.length
      }
      return sound.take(frameSamples(sampleRate))
    },
  }
}

interface Ringing {
  hz: readonly number[]
  /** Alternating durations of sound and silence in ms. */
  cadence: readonly number[]
}

/** By the prefix of the number; all others use E.180's recommendation. */
const COUNTRIES: readonly (readonly [string, Ringing])[] = [
  ['+1', { hz: [440, 480], cadence: [2000, 4000] }],
  ['+44', { hz: [400, 450], cadence: [400, 200, 400, 2000] }],
  ['+81', { hz: [400], cadence: [1000, 2000] }],
  ['+61', { hz: [400, 450], cadence: [400, 200, 400, 2000] }],
  ['+33', { hz: [440], cadence: [1500, 3500] }],
]
const RECOMMENDED: Ringing = { hz: [425], cadence: [1000, 4000] }

/** The ringing tone of the country of `to` (E.164). */
export function createRinging(sampleRate: number, to: string): WaitingAudio {
  const { hz, cadence } = COUNTRIES.find(([prefix]) => to.startsWith(prefix))?.[1] ?? RECOMMENDED
  const frame = frameSamples(sampleRate)
  const period = cadence.reduce((sum, ms) => sum + ms, 0)
  let at = 0
  /** End of each part of the cadence in ms. */
  const ends = cadence.map((_, i) => cadence.slice(0, i + 1).reduce((sum, ms) => sum + ms, 0))
  const sounds = (ms: number): boolean => ends.findIndex(end => ms < end) % 2 === 0
  return {
    next() {
      const pcm = new Int16Array(frame)
      for (let i = 0; i < frame; i++, at++) {
        if (!sounds(((at * 1000) / sampleRate) % period)) continue
        const t = (2 * Math.PI * at) / sampleRate
        pcm[i] = Math.round(RINGING_AMPLITUDE * hz.reduce((sum, f) => sum + Math.sin(f * t), 0))
      }
      return pcm
    },
  }
}
