/**
 * Detects the agent's own voice returned by the far end (acoustic or line echo, ITU-T G.168). A delayed copy of the
 * played audio correlates with it sample by sample; another person's speech does not. Loudspeakers and mobile codecs
 * distort the copy; what escapes correlation is recognised by its words. Pure arithmetic over played and received
 * audio.
 */

const RATE = 4000
const PLAYED_MS = 1400
const HEARD_MS = 160
/** Longest round-trip delay in ms that is searched. */
const DELAY_MS = 800
const PER_MS = RATE / 1000
/** Minimum correlation at an unknown delay; by chance, the speech of two people reaches about 0.5 somewhere. */
const SURE = 0.65
/** Minimum correlation near the delay found before. */
const LIKELY = 0.4
/** Search range in ms around the known delay, for packet jitter. */
const NEAR_MS = 30
/** Minimum energy of the played audio relative to the received: an echo is at most 3 dB louder than its source. */
const MIN_RETURN = 0.5
/** Milliseconds without an echo after which the known delay is discarded. */
const FORGET_MS = 5000

export class EchoDetector {
  readonly #playedStep: number
  readonly #heardStep: number
  readonly #played = new Track(PLAYED_MS * PER_MS)
  readonly #heard = new Track(HEARD_MS * PER_MS)
  #lag: { samples: number; seenMs: number } | null = null

  /** `playedRate`, `heardRate`: sample rates in Hz of the sent and the received audio. */
  constructor(playedRate: number, heardRate = playedRate) {
    this.#playedStep = playedRate / RATE
    this.#heardStep = heardRate / RATE
  }

  /** Adds audio sent at `atMs`; null is silence. */
  played(pcm: Int16Array | null, atMs: number): void {
    this.#played.write(pcm === null ? null : thin(pcm, this.#playedStep), atMs, (pcm?.length ?? 0) / this.#playedStep)
  }

  /** Adds received audio whose last sample arrived at `atMs`. */
  heard(pcm: Int16Array, atMs: number): void {
    this.#heard.write(thin(pcm, this.#heardStep), atMs, pcm.length / this.#heardStep)
  }

  /** True when the last 160 ms received are an echo. */
  isEcho(atMs: number): boolean {
    const heard = this.#heard.last(HEARD_MS * PER_MS)
    const offset = Math.round((this.#heard.endMs - this.#played.endMs) * PER_MS)
    const known = this.#lag && atMs - this.#lag.seenMs < FORGET_MS ? this.#lag.samples : null
    const [from, to] = known === null ? [0, DELAY_MS * PER_MS] : [known - NEAR_MS * PER_MS, known + NEAR_MS * PER_MS]
    const lag = this.#played.bestMatch(heard, offset, from, to, known === null ? SURE : LIKELY)
    if (lag !== null) this.#lag = { samples: lag, seenMs: atMs }
    return lag !== null
  }
}

/** Downsamples by `step` and applies pre-emphasis: without it, any two voices of one pitch correlate. */
function thin(pcm: Int16Array, step: number): Float32Array {
  const out = new Float32Array(Math.floor(pcm.length / step))
  for (let i = 0; i < out.length; i++) {
    let sum = 0
    for (let j = 0; j < step; j++) sum += pcm[Math.floor(i * step + j)]!
    out[i] = sum / step
  }
  for (let i = out.length - 1; i > 0; i--) out[i]! -= 0.9 * out[i - 1]!
  return out
}

/** The latest samples of one direction, and the time of the last one. */
class Track {
  endMs = 0
  readonly #samples: Float32Array

  constructor(length: number) {
    this.#samples = new Float32Array(length)
  }

  write(part: Float32Array | null, atMs: number, length: number): void {
    const size = part?.length ?? Math.max(length, 20 * PER_MS)
    this.#samples.copyWithin(0, size)
    const at = this.#samples.length - size
    if (part) this.#samples.set(part, at)
    else this.#samples.fill(0, at)
    this.endMs = atMs
  }

  last(length: number): Float32Array {
    return this.#samples.subarray(this.#samples.length - length)
  }

  /**
   * Returns the lag in samples by which `sound` follows this track where their normalised correlation is highest, or
   * null when it reaches `atLeast` nowhere. `offset`: samples by which the end of `sound` is later than this track's.
   */
  bestMatch(sound: Float32Array, offset: number, from: number, to: number, atLeast: number): number | null {
    const energy = power(sound)
    if (energy === 0) return null
    let best = atLeast
    let found: number | null = null
    const half = sound.length >> 1
    const energies = [power(sound.subarray(0, half)), power(sound.subarray(half))] as const
    const first = energies[0] > energies[1] ? 0 : half
    const restEnergy = Math.min(...energies)
    const samples = this.#samples
    const powers = runningPower(samples)
    for (let lag = from; lag <= to; lag++) {
      const start = samples.length + offset - lag - sound.length
      if (start < 0 || start + sound.length > samples.length) continue
      const own = powers[start + sound.length]! - powers[start]!
      if (own < energy * MIN_RETURN) continue
      const whole = Math.sqrt(own * energy)
      const loud = product(samples, start, sound, first, first + half)
      // By Cauchy-Schwarz the other half can add no more than this; the bound skips most lags.
      const firstOwn = powers[start + first + half]! - powers[start + first]!
      if (Math.abs(loud) + Math.sqrt(Math.max(0, own - firstOwn) * restEnergy) < best * whole) continue
      const correlation = Math.abs(loud + product(samples, start, sound, half - first, 2 * half - first)) / whole
      if (correlation < best) continue
      best = correlation
      found = lag
    }
    return found
  }
}

/** Four independent sums avoid a serial dependency. It runs about a million times per window, on the RTP event loop. */
function product(samples: Float32Array, start: number, sound: Float32Array, from: number, to: number): number {
  let [a, b, c, d] = [0, 0, 0, 0]
  for (let i = from; i + 3 < to; i += 4) {
    a += samples[start + i]! * sound[i]!
    b += samples[start + i + 1]! * sound[i + 1]!
    c += samples[start + i + 2]! * sound[i + 2]!
    d += samples[start + i + 3]! * sound[i + 3]!
  }
  return a + b + c + d
}

const power = (sound: Float32Array) => sound.reduce((sum, sample) => sum + sample * sample, 0)

/** Prefix sums of the energy: entry n covers all samples before the n-th. */
function runningPower(sound: Float32Array): Float64Array {
  const sums = new Float64Array(sound.length + 1)
  for (let i = 0; i < sound.length; i++) sums[i + 1] = sums[i]! + sound[i]! * sound[i]!
  return sums
}

const MANY_WORDS = 3
const MOSTLY = 0.75
/** Words of the agent that STT may have missed. */
const SKIPPED = 2

/**
 * True when these words follow the agent's current text in order. One or two words prove nothing: anybody may say them.
 */
export function isOwnWords(text: string, said: string): boolean {
  const words = wordsOf(text)
  if (words.length < MANY_WORDS) return false
  const own = wordsOf(said)
  return own.some((_, start) => inOrder(words, own.slice(start, start + words.length + SKIPPED)) >= MOSTLY)
}

/** Share of `words` found in `own` in the same order. */
function inOrder(words: readonly string[], own: readonly string[]): number {
  let at = 0
  let found = 0
  for (const word of words) {
    const next = own.indexOf(word, at)
    if (next < 0) continue
    found++
    at = next + 1
  }
  return found / words.length
}

const wordsOf = (text: string) =>
  text
    .toLowerCase()
    .match(/[\p{L}\p{N}']+/gu)
    ?.map(String) ?? []
