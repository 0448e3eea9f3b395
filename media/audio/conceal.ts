/**
 * Packet loss concealment after ITU-T G.711 Appendix I: repeats the last pitch period, more of them the longer the gap
 * lasts, and fades; the audio after the gap is blended in. The Appendix delays all audio by a quarter of a period so
 * that it can blend at the start as well; here a ramp covers the step instead, without delay. Pure.
 */

export interface Concealer {
  /** Takes received audio; blends it when it follows a gap. */
  good(pcm: Int16Array): Int16Array
  /** Returns concealment for as many samples as were lost. */
  lost(samples: number): Int16Array
}

/** Pitch range of the voice: 200 Hz to 66 Hz. */
const SHORTEST_MS = 5
const LONGEST_MS = 15
const COMPARED_MS = 20
/** Interval after which one more period is repeated. The audio fades from the first interval on, until `GONE_MS`. */
const STEP_MS = 10
const GONE_MS = 60
const PERIODS = 3
const BLEND_MS = 5
const MOST_BLEND_MS = 10

export function createConcealer(sampleRate: number): Concealer {
  const per = (ms: number) => Math.round((ms * sampleRate) / 1000)
  const history = new Int16Array(PERIODS * per(LONGEST_MS) + per(COMPARED_MS))
  const blendStep = per(BLEND_MS)
  const mostBlend = per(MOST_BLEND_MS)
  let hole: Hole | null = null

  const remember = (pcm: Int16Array) => {
    if (pcm.length >= history.length) history.set(pcm.subarray(pcm.length - history.length))
    else {
      history.copyWithin(0, pcm.length)
      history.set(pcm, history.length - pcm.length)
    }
  }
  return {
    good(pcm) {
      if (pcm.length === 0) return pcm
      let joined = pcm
      if (hole) {
        const blended = Math.min(pcm.length, mostBlend, blendStep + Math.floor(hole.samples / 4))
        const made = hole.next(blended)
        joined = pcm.slice()
        for (let i = 0; i < blended; i++) {
          const weight = (i + 1) / (blended + 1)
          joined[i] = Math.round(made[i]! * (1 - weight) + pcm[i]! * weight)
        }
        hole = null
      }
      remember(joined)
      return joined
    },
    lost(samples) {
      hole ??= new Hole(history, sampleRate)
      const made = hole.next(samples)
      remember(made)
      return made
    },
  }
}

/** The concealment of one gap. */
class Hole {
  samples = 0
  readonly #past: Float32Array
  readonly #period: number
  readonly #step: number
  readonly #gone: number
  readonly #ramp: number
  /** Number of periods repeated now, and the position in them. */
  #periods = 1
  #at = 0
  /** Remaining step to the last sample before the gap, fading. */
  #jump: number
  #jumpLeft: number

  constructor(history: Int16Array, sampleRate: number) {
    this.#past = Float32Array.from(history)
    this.#period = pitchOf(history, sampleRate)
    this.#step = Math.round((sampleRate * STEP_MS) / 1000)
    this.#gone = Math.round((sampleRate * GONE_MS) / 1000)
    this.#ramp = this.#period >> 2
    this.#jump = this.#gapBefore(1)
    this.#jumpLeft = this.#ramp
  }

  next(samples: number): Int16Array {
    const out = new Int16Array(samples)
    for (let i = 0; i < samples; i++) {
      out[i] = Math.max(-32_768, Math.min(32_767, Math.round(this.#sample() * this.#gain())))
      this.samples++
    }
    return out
  }

  #gain(): number {
    const faded = this.samples - this.#step
    return faded <= 0 ? 1 : Math.max(0, 1 - faded / (this.#gone - this.#step))
  }

  #sample(): number {
    const length = this.#periods * this.#period
    if (this.#at >= length) this.#again()
    const sample = this.#past[this.#past.length - this.#periods * this.#period + this.#at]!
    this.#at++
    if (this.#jumpLeft === 0) return sample
    return sample + (this.#jump * this.#jumpLeft--) / this.#ramp
  }

  /** Adds periods with time, since a single repeated period would hum. */
  #again(): void {
    this.#periods = Math.min(PERIODS, 1 + Math.floor(this.samples / this.#step))
    this.#at = 0
    this.#jump = this.#gapBefore(this.#periods)
    this.#jumpLeft = this.#ramp
  }

  /** Step from the last sample to the start of the repeated periods. */
  #gapBefore(periods: number): number {
    const end = this.#past.length
    return this.#past[end - 1]! - this.#past[end - periods * this.#period - 1]!
  }
}

/** Returns the lag in samples at which the end of the audio correlates best with itself. */
function pitchOf(history: Int16Array, sampleRate: number): number {
  const shortest = (sampleRate * SHORTEST_MS) / 1000
  const longest = (sampleRate * LONGEST_MS) / 1000
  const coarse = bestLag(history, sampleRate, shortest, longest, sampleRate / 4000)
  const near = sampleRate / 4000
  return bestLag(history, sampleRate, Math.max(shortest, coarse - near), Math.min(longest, coarse + near), 1)
}

function bestLag(history: Int16Array, sampleRate: number, from: number, to: number, stride: number): number {
  const compared = (sampleRate * COMPARED_MS) / 1000
  const end = history.length
  let best = from
  let bestLikeness = -Infinity
  for (let lag = from; lag <= to; lag += stride) {
    let product = 0
    let energy = 1
    for (let i = end - compared; i < end; i += stride) {
      const before = history[i - lag]!
      product += history[i]! * before
      energy += before * before
    }
    const likeness = product / Math.sqrt(energy)
    if (likeness > bestLikeness) {
      bestLikeness = likeness
      best = lag
    }
  }
  return best
}
