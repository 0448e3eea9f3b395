/**
 * Keys as the two tones of ITU-T Q.23, by the limits of Q.24: 1.5 % off frequency, 40 ms of tone and of pause, up to 8 dB
 * of twist. Speech has such tones for moments; it has no two that stand 25 ms long, alone, and exactly where they belong.
 */
import { createResampler } from './resample.ts'

export interface DtmfDetector {
  /** The next samples. The key that they make sure of, once a press: `0-9*#A-D`; else null. */
  push(pcm: Int16Array): string | null
}

const RATE = 8000
const LOW = [697, 770, 852, 941]
const HIGH = [1209, 1336, 1477, 1633]
const PAD = ['123A', '456B', '789C', '*0#D']
/** A window of 13 ms, looked at anew every 5 ms. */
const WINDOW = 104
const HOP = 40
/** Windows that lie whole within 40 ms, wherever it begins. */
const WINDOWS_OF_KEY = 5
/** A drop-out of 10 ms spoils five, a pause of 40 ms nine. */
const WINDOWS_OF_PAUSE = 6
/** About −35 dBm0 a tone. */
const QUIETEST = 400
/** Of the window's power in the two tones: 0.79 is left of tones that are 1.5 % off, of a voice hardly ever so much. */
const SHARE = 0.72
/** Over the others of its group, in power: 4 dB, since a tone 8 dB stronger leaks into the other group. */
const ABOVE_OTHERS = 2.5
/** In power: 10 dB, and 5 dB where the high tone is the stronger one; Q.24 asks for 8 and 4. */
const LOW_STRONGER = 10
const HIGH_STRONGER = 3.2
/** Of the frequency: Q.24 wants 1.5 % taken, and 3.5 % refused. The phases tell it to some Hz. */
const OFF = 0.02
const OFF_HZ = 9

interface Tone {
  index: number
  power: number
  phase: number
}

/** What a window sounds like; null: like no key. `offHz` is filled from one window to the next by the phases. */
interface Look {
  key: string
  low: Tone
  high: Tone
}

/** `sampleRate` in Hz. Detects at 8 kHz, whatever comes in. */
export function createDtmfDetector(sampleRate: number): DtmfDetector {
  const resampler = createResampler(sampleRate, RATE)
  let kept: Int16Array = new Int16Array(0)
  let state: KeyState = idle
  return {
    push(pcm) {
      const narrow = resampler.push(pcm)
      const all = new Int16Array(kept.length + narrow.length)
      all.set(kept)
      all.set(narrow, kept.length)
      let at = 0
      let told: string | null = null
      for (; at + WINDOW <= all.length; at += HOP) {
        const step = stepKey(state, lookAt(all.subarray(at, at + WINDOW)))
        state = step.state
        told ??= step.key
      }
      kept = all.slice(at)
      return told
    },
  }
}

// ---- one window ----

function lookAt(pcm: Int16Array): Look | null {
  let energy = 0
  for (const sample of pcm) energy += sample * sample
  if (energy < WINDOW * QUIETEST * QUIETEST) return null
  const low = strongest(pcm, LOW)
  const high = low && strongest(pcm, HIGH)
  if (!low || !high) return null
  if (low.power > high.power * LOW_STRONGER || high.power > low.power * HIGH_STRONGER) return null
  // A tone of amplitude A has the power (A·N/2)², and the energy N·A²/2.
  if (low.power + high.power < (SHARE * energy * WINDOW) / 2) return null
  return { key: PAD[low.index]![high.index]!, low, high }
}

/** Null when no frequency of the group stands out. */
function strongest(pcm: Int16Array, group: readonly number[]): Tone | null {
  const tones = group.map((hz, index) => ({ index, ...goertzel(pcm, hz) }))
  const best = tones.reduce((most, tone) => (tone.power > most.power ? tone : most))
  return tones.every(tone => tone === best || tone.power * ABOVE_OTHERS < best.power) ? best : null
}

/** Goertzel, Am. Math. Monthly 65 (1958): one bin of a Fourier transform, its phase that of the window's first sample. */
function goertzel(pcm: Int16Array, hz: number): { power: number; phase: number } {
  const omega = (2 * Math.PI * hz) / RATE
  const coefficient = 2 * Math.cos(omega)
  let last = 0
  let before = 0
  for (let i = 0; i < pcm.length; i++) {
    const next = pcm[i]! + coefficient * last - before
    before = last
    last = next
  }
  const real = last - before * Math.cos(omega)
  const imaginary = before * Math.sin(omega)
  const phase = Math.atan2(imaginary, real) - omega * (pcm.length - 1)
  return { power: real * real + imaginary * imaginary, phase }
}

// ---- from windows to presses ----

interface KeyState {
  /** The windows in a row that sound like this key. */
  streak: { last: Look; windows: number; lowDrift: number; highDrift: number } | null
  /** Told, and not let go yet; `silent` counts the windows without it. */
  held: { key: string; silent: number } | null
}

const idle: KeyState = { streak: null, held: null }

function stepKey({ streak, held }: KeyState, look: Look | null): { state: KeyState; key: string | null } {
  if (held && look?.key === held.key) return { state: { streak: null, held: { ...held, silent: 0 } }, key: null }
  const silent = (held?.silent ?? 0) + 1
  const still = held && silent < WINDOWS_OF_PAUSE ? { ...held, silent } : null
  if (!look) return { state: { streak: null, held: still }, key: null }
  const goesOn = streak?.last.key === look.key
  const next = goesOn
    ? {
        last: look,
        windows: streak.windows + 1,
        lowDrift: streak.lowDrift + drift(streak.last.low, look.low, LOW),
        highDrift: streak.highDrift + drift(streak.last.high, look.high, HIGH),
      }
    : { last: look, windows: 1, lowDrift: 0, highDrift: 0 }
  if (next.windows < WINDOWS_OF_KEY) return { state: { streak: next, held: still }, key: null }
  const exact = isExact(next.lowDrift, look.low, LOW) && isExact(next.highDrift, look.high, HIGH)
  if (!exact) return { state: { streak: { ...next, windows: 1, lowDrift: 0, highDrift: 0 }, held: still }, key: null }
  return { state: { streak: null, held: { key: look.key, silent: 0 } }, key: look.key }
}

/** How much more than its nominal frequency turns it, the tone's phase has turned from one window to the next. */
function drift(from: Tone, to: Tone, group: readonly number[]): number {
  const expected = (2 * Math.PI * group[to.index]! * HOP) / RATE
  const turned = to.phase - from.phase - expected
  return turned - 2 * Math.PI * Math.round(turned / (2 * Math.PI))
}

function isExact(turned: number, tone: Tone, group: readonly number[]): boolean {
  const seconds = ((WINDOWS_OF_KEY - 1) * HOP) / RATE
  return Math.abs(turned) <= 2 * Math.PI * (group[tone.index]! * OFF + OFF_HZ) * seconds
}
