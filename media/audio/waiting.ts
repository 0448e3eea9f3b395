/**
 * What a caller hears who waits for somebody: music, made here of a few sines, so that it is nobody's; or the ringing of
 * their telephone, in the cadence of their country (ITU-T E.180 and its supplement of national tones).
 */
import { frameSamples } from './frames.ts'
import { PendingSound } from './pending.ts'

/** Endless; a frame of 20 ms each time. */
export interface WaitingSound {
  next(): Int16Array
}

/** Well below speech: they may say something over it. About −22 dBm0. */
const MUSIC_AMPLITUDE = 1800
/** E.180 recommends −10 dBm0 and less; people hold the phone to their speech-to-text. */
const RINGING_AMPLITUDE = 1400

// ---- music ----

const BEAT_MS = 480
/** Chords of four beats, broken: A minor, F, C, G, in Hz. */
const CHORDS = [
  [220, 261.63, 329.63, 440],
  [174.61, 261.63, 349.23, 440],
  [261.63, 329.63, 392, 523.25],
  [196, 293.66, 392, 493.88],
] as const
const ORDER = [0, 1, 2, 3, 2, 1, 3, 2]
const NOTE_MS = BEAT_MS / 2
/** A struck string: at once there, slowly gone. */
const ATTACK_MS = 8
const DECAY_MS = 260
const LOOP_MS = CHORDS.length * ORDER.length * NOTE_MS

const MUSIC_RATE = 8000
/** Made once, at the start of the process: it takes as long as a frame lasts. */
const LOOP = musicLoop()

/** One round of the music, eight seconds. */
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

/** What sounds beyond the end sounds on at the beginning, so that the loop has no seam. */
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

/** From the first bar. */
export function createMusic(sampleRate: number): WaitingSound {
  const frame = frameSamples(MUSIC_RATE)
  const sound = new PendingSound(sampleRate)
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

// ---- ringing ----

interface Ringing {
  hz: readonly number[]
  /** Sound, silence, sound, … in ms. */
  cadence: readonly number[]
}

/** By the beginning of the number; what E.180 recommends for all others. */
const COUNTRIES: readonly (readonly [string, Ringing])[] = [
  ['+1', { hz: [440, 480], cadence: [2000, 4000] }],
  ['+44', { hz: [400, 450], cadence: [400, 200, 400, 2000] }],
  ['+81', { hz: [400], cadence: [1000, 2000] }],
  ['+61', { hz: [400, 450], cadence: [400, 200, 400, 2000] }],
  ['+33', { hz: [440], cadence: [1500, 3500] }],
]
const RECOMMENDED: Ringing = { hz: [425], cadence: [1000, 4000] }

/** As it sounds to who has dialled `to`. */
export function createRinging(sampleRate: number, to: string): WaitingSound {
  const { hz, cadence } = COUNTRIES.find(([prefix]) => to.startsWith(prefix))?.[1] ?? RECOMMENDED
  const frame = frameSamples(sampleRate)
  const period = cadence.reduce((sum, ms) => sum + ms, 0)
  let at = 0
  /** When each part of the cadence ends. */
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
