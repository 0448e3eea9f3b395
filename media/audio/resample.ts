/** Streaming sample-rate conversion by a windowed-sinc polyphase filter (Crochiere and Rabiner, 1983, ch. 4). */

const LOBES = 12
/** Share of the narrower Nyquist band that passes; the rest is the filter's slope. */
const PASS_BAND = 0.92

export interface Resampler {
  /** Converts the next samples; the output lags by half the filter's length. */
  push(pcm: Int16Array): Int16Array
  /** Returns the samples that the filter holds back. */
  flush(): Int16Array
}

interface Filter {
  up: number
  down: number
  half: number
  /** One row of `2·half` taps for each of the `up` phases. */
  taps: Float32Array
}

const filters = new Map<string, Filter>()

function filterFor(fromHz: number, toHz: number): Filter {
  const key = `${fromHz}/${toHz}`
  const known = filters.get(key)
  if (known) return known
  const divisor = gcd(fromHz, toHz)
  const up = toHz / divisor
  const cutoff = Math.min(1, toHz / fromHz) * PASS_BAND
  const half = Math.ceil(LOBES / cutoff)
  const taps = new Float32Array(up * 2 * half)
  for (let phase = 0; phase < up; phase++) {
    let sum = 0
    for (let k = 0; k < 2 * half; k++) {
      const x = k - half + 1 - phase / up
      const tap = sinc(cutoff * x) * blackman(x / half)
      taps[phase * 2 * half + k] = tap
      sum += tap
    }
    // Normalise each phase, so that a constant offset does not become a hum.
    for (let k = 0; k < 2 * half; k++) taps[phase * 2 * half + k]! /= sum
  }
  const filter = { up, down: fromHz / divisor, half, taps }
  filters.set(key, filter)
  return filter
}

/** Number of source samples that a resampler holds back. */
export const resamplerLag = (fromHz: number, toHz: number): number =>
  fromHz === toHz ? 0 : filterFor(fromHz, toHz).half

export function createResampler(fromHz: number, toHz: number): Resampler {
  if (fromHz === toHz) return { push: pcm => pcm, flush: () => new Int16Array(0) }
  const { up, down, half, taps } = filterFor(fromHz, toHz)
  const width = 2 * half
  let kept = new Float32Array(half - 1) // silence before the first sample
  /** Position of the next output in units of 1/up input samples, from the start of `kept`. */
  let position = (half - 1) * up

  function push(pcm: Int16Array): Int16Array {
    const input = new Float32Array(kept.length + pcm.length)
    input.set(kept)
    input.set(pcm, kept.length)
    const out = new Int16Array(Math.max(0, Math.ceil(((input.length - half) * up - position) / down)))
    let n = 0
    for (; Math.floor(position / up) + half < input.length; position += down) {
      const base = Math.floor(position / up) - half + 1
      const row = (position % up) * width
      const sum = product(taps, row, input, base, width)
      out[n++] = sum > 32_767 ? 32_767 : sum < -32_768 ? -32_768 : Math.round(sum)
    }
    const drop = Math.max(0, Math.floor(position / up) - half + 1)
    kept = input.slice(drop)
    position -= drop * up
    return n === out.length ? out : out.subarray(0, n)
  }
  return { push, flush: () => push(new Int16Array(half)) }
}

/** Four independent sums avoid a serial dependency. */
function product(taps: Float32Array, row: number, input: Float32Array, base: number, width: number): number {
  let a = 0
  let b = 0
  let c = 0
  let d = 0
  let k = 0
  for (; k + 3 < width; k += 4) {
    a += taps[row + k]! * input[base + k]!
    b += taps[row + k + 1]! * input[base + k + 1]!
    c += taps[row + k + 2]! * input[base + k + 2]!
    d += taps[row + k + 3]! * input[base + k + 3]!
  }
  for (; k < width; k++) a += taps[row + k]! * input[base + k]!
  return a + b + c + d
}

const sinc = (x: number) => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x))
const blackman = (x: number) =>
  Math.abs(x) >= 1 ? 0 : 0.42 + 0.5 * Math.cos(Math.PI * x) + 0.08 * Math.cos(2 * Math.PI * x)
const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b))
