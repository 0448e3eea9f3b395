/**
 * Detects DTMF tones of ITU-T Q.23 within the limits of Q.24: 1.5 % frequency error, 40 ms of tone and of pause, up to
 * 8 dB of twist. Speech contains such tones for moments, but no two of them that last 25 ms alone and at the exact
 * frequencies.
 */
import { createResampler } from './resample.ts'

export interface DtmfDetector {
  /** Takes the next samples. Returns a key (`0-9*#A-D`) once per press when it is certain, else null. */
  push(pcm: Int16Array): string | null
}

const RATE = 8000
const LOW = [697, 770, 852, 941]
const HIGH = [1209, 1336, 1477, 1633]
const PAD = ['123A', '456B', '789C', '*0#D']
/** Window of 13 ms in samples, moved by 5 ms. */
const WINDOW = 104
const HOP = 40
/** Number of windows that fit into 40 ms, wherever the tone begins. */
const WINDOWS_OF_KEY = 5
/** A drop-out of 10 ms spoils five windows, a pause of 40 ms nine. */
const WINDOWS_OF_PAUSE = 6
/** RMS of about −35 dBm0 per tone. */
const QUIETEST = 400
/** Minimum share of the power in the two tones: tones that are 1.5 % off have 0.79, a voice hardly ever as much. */
const SHARE = 0.72
/** Minimum power ratio to the other tones of the group: 4 dB, since a tone 8 dB stronger leaks into the other group. */
const ABOVE_OTHERS = 2.5
/** Maximum twist as power ratios: 10 dB, and 5 dB when the high tone is stronger; Q.24 requires 8 and 4. */
const LOW_STRONGER = 10
const HIGH_STRONGER = 3.2
/** Frequency tolerance: Q.24 requires accepting 1.5 % and rejecting 3.5 %. The phases resolve it to a few Hz. */
const OFF = 0.02
const OFF_HZ = 9

interface Tone {
  index: number
  power: number
  phase: number
}

/** Analysis of a window; null when it contains no key. */
interface WindowKey {
  key: string
  low: Tone
  high: Tone
}

/** `sampleRate` in Hz. Detection runs at 8 kHz for every input rate. */
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
      let found: string | null = null
      for (; at + WINDOW <= all.length; at += HOP) {
        const step = stepKey(state, analyse(all.subarray(at, at + WINDOW)))
        state = step.state
        found ??= step.key
      }
      kept = all.slice(at)
      return found
    },
  }
}

function analyse(pcm: Int16Array): WindowKey | null {
  let energy = 0
  for (const sample of pcm) energy += sample * sample
  if (energy < WINDOW * QUIETEST * QUIETEST) return null
  const low = strongest(pcm, LOW)
  const high = low && strongest(pcm, HIGH)
  if (!low || !high) return null
  if (low.power > high.power * LOW_STRONGER || high.power > low.power * HIGH_STRONGER) return null
  // A tone of amplitude A has the power (A·N/2)² and the energy N·A²/2.
  if (low.power + high.power < (SHARE * energy * WINDOW) / 2) return null
  return { key: PAD[low.index]![high.index]!, low, high }
}

/** Returns null when no frequency of the group stands out. */
function strongest(pcm: Int16Array, group: readonly number[]): Tone | null {
  const tones = group.map((hz, index) => ({ index, ...goertzel(pcm, hz) }))
  const best = tones.reduce((most, tone) => (tone.power > most.power ? tone : most))
  return tones.every(tone => tone === best || tone.power * ABOVE_OTHERS < best.power) ? best : null
}

/**
 * Goertzel, Am. Math. Monthly 65 (1958): one bin of a Fourier transform, with the phase of the window's first sample.
 */
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

interface KeyState {
  /** Consecutive windows with the same key. */
  streak: { last: WindowKey; windows: number; lowDrift: number; highDrift: number } | null
  /** The reported key that is still pressed; `silent` counts the windows without it. */
  held: { key: string; silent: number } | null
}

const idle: KeyState = { streak: null, held: null }

function stepKey({ streak, held }: KeyState, window: WindowKey | null): { state: KeyState; key: string | null } {
  if (held && window?.key === held.key) return { state: { streak: null, held: { ...held, silent: 0 } }, key: null }
  const silent = (held?.silent ?? 0) + 1
  const still = held && silent < WINDOWS_OF_PAUSE ? { ...held, silent } : null
  if (!window) return { state: { streak: null, held: still }, key: null }
  const goesOn = streak?.last.key === window.key
  const next = goesOn
    ? {
        last: window,
        windows: streak.windows + 1,
        lowDrift: streak.lowDrift + drift(streak.last.low, window.low, LOW),
        highDrift: streak.highDrift + drift(streak.last.high, window.high, HIGH),
      }
    : { last: window, windows: 1, lowDrift: 0, highDrift: 0 }
  if (next.windows < WINDOWS_OF_KEY) return { state: { streak: next, held: still }, key: null }
  const exact = isExact(next.lowDrift, window.low, LOW) && isExact(next.highDrift, window.high, HIGH)
  if (!exact) return { state: { streak: { ...next, windows: 1, lowDrift: 0, highDrift: 0 }, held: still }, key: null }
  return { state: { streak: null, held: { key: window.key, silent: 0 } }, key: window.key }
}

/** Phase change of a tone between two windows, beyond that of its nominal frequency, in radians. */
function drift(from: Tone, to: Tone, group: readonly number[]): number {
  const expected = (2 * Math.PI * group[to.index]! * HOP) / RATE
  const turned = to.phase - from.phase - expected
  return turned - 2 * Math.PI * Math.round(turned / (2 * Math.PI))
}

function isExact(turned: number, tone: Tone, group: readonly number[]): boolean {
  const seconds = ((WINDOWS_OF_KEY - 1) * HOP) / RATE
  return Math.abs(turned) <= 2 * Math.PI * (group[tone.index]! * OFF + OFF_HZ) * seconds
}
