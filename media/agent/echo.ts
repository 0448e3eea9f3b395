/**
 * Whether what comes in is the agent's own voice, sent back by the far end (ITU-T G.168 calls it echo). A delayed copy
 * of what was played correlates with it sample by sample, a person does not. Loudspeakers and mobile codecs bend the
 * copy; what gets through is known by its words. Pure arithmetic over what was played and heard.
 */

const RATE = 4000
const PLAYED_MS = 1400
const HEARD_MS = 160
/** Longest way there and back that is looked at. */
const DELAY_MS = 800
const PER_MS = RATE / 1000
/** Of an unknown delay; by chance, speech of two people reaches about 0.5 somewhere. */
const SURE = 0.65
/** Near the delay that was found before. */
const LIKELY = 0.4
/** Packets come early and late. */
const NEAR_MS = 30
/** What comes back is hardly louder than what went out: 3 dB at the most. */
const MIN_RETURN = 0.5
/** An echo that was not met for so long may have another delay. */
const FORGET_MS = 5000

export class EchoDetector {
  readonly #playedStep: number
  readonly #heardStep: number
  readonly #played = new Track(PLAYED_MS * PER_MS)
  readonly #heard = new Track(HEARD_MS * PER_MS)
  #lag: { samples: number; seenMs: number } | null = null

  /** Rates in Hz of the sound that goes out and of what comes in. */
  constructor(playedRate: number, heardRate = playedRate) {
    this.#playedStep = playedRate / RATE
    this.#heardStep = heardRate / RATE
  }

  /** What goes on the wire at `atMs`; null is silence. */
  played(pcm: Int16Array | null, atMs: number): void {
    this.#played.write(pcm === null ? null : thin(pcm, this.#playedStep), atMs, (pcm?.length ?? 0) / this.#playedStep)
  }

  /** What came off the wire: its last sample at `atMs`. */
  heard(pcm: Int16Array, atMs: number): void {
    this.#heard.write(thin(pcm, this.#heardStep), atMs, pcm.length / this.#heardStep)
  }

  /** Of the last 160 ms that came in. */
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

/** Every n-th sample of the difference to the sample before: without it, any two voices of one pitch look alike. */
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

/** The last utterance of a sound, and when its end is. */
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
   * By how many samples `sound` follows this track where their normalised correlation is highest, or null when it is
   * nowhere `atLeast` that. `offset`: by how much the end of `sound` is later than this track's.
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
      // The other half can add no more than this (Cauchy and Schwarz): most lags need not be looked at further.
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

/** Four sums side by side: one would wait for itself. It is asked for a million times a window, on the loop of RTP. */
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

/** Of all samples before the n-th. */
function runningPower(sound: Float32Array): Float64Array {
  const sums = new Float64Array(sound.length + 1)
  for (let i = 0; i < sound.length; i++) sums[i + 1] = sums[i]! + sound[i]! * sound[i]!
  return sums
}

const MANY_WORDS = 3
const MOSTLY = 0.75
/** Words of the agent's that the recogniser may have missed. */
const SKIPPED = 2

/** Whether these words are what the agent is saying, in its order. One or two may be said by anybody. */
export function isOwnWords(text: string, said: string): boolean {
  const words = wordsOf(text)
  if (words.length < MANY_WORDS) return false
  const own = wordsOf(said)
  return own.some((_, start) => inOrder(words, own.slice(start, start + words.length + SKIPPED)) >= MOSTLY)
}

/** Share of the words that come in this order. */
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
