/**
 * The sound of one leg on its way into another, whose frames go by another clock and maybe another rate. Some is kept
 * against jitter and no more, since it is delay: what a faster clock brings too much is let go.
 */
import { FRAME_MS, frameSamples } from './frames.ts'
import { createResampler, type Resampler } from './resample.ts'

/** Before the first frame is taken, and again after a gap. */
const START_MS = 2 * FRAME_MS
const MOST_MS = 6 * FRAME_MS

export class SoundPipe {
  readonly #resampler: Resampler
  readonly #perMs: number
  readonly #frame: number
  #parts: Int16Array[] = []
  #length = 0
  #flowing = false

  /** Rates in Hz. */
  constructor(fromRate: number, toRate: number) {
    this.#resampler = createResampler(fromRate, toRate)
    this.#perMs = toRate / 1000
    this.#frame = frameSamples(toRate)
  }

  push(pcm: Int16Array): void {
    const part = this.#resampler.push(pcm)
    this.#parts.push(part)
    this.#length += part.length
    if (this.#length > MOST_MS * this.#perMs) this.#take(this.#length - START_MS * this.#perMs)
  }

  /** 20 ms; null: there are none. */
  pull(): Int16Array | null {
    this.#flowing ||= this.#length >= START_MS * this.#perMs
    if (!this.#flowing || this.#length < this.#frame) {
      this.#flowing = false
      return null
    }
    return this.#take(this.#frame)
  }

  #take(samples: number): Int16Array {
    const taken = new Int16Array(samples)
    let at = 0
    while (at < samples) {
      const part = this.#parts[0]!
      const piece = part.subarray(0, samples - at)
      taken.set(piece, at)
      at += piece.length
      if (piece.length === part.length) this.#parts.shift()
      else this.#parts[0] = part.subarray(piece.length)
    }
    this.#length -= samples
    return taken
  }
}
