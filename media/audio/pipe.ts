/**
 * Carries the audio of one leg to another with its own clock and sample rate. Buffers a little against jitter, and no
 * more, since buffering is delay: it drops the surplus of a faster clock.
 */
import { FRAME_MS, frameSamples } from './frames.ts'
import { createResampler, type Resampler } from './resample.ts'

/** Milliseconds buffered before the first frame, and again after a gap. */
const START_MS = 2 * FRAME_MS
const MOST_MS = 6 * FRAME_MS

export class AudioPipe {
  readonly #resampler: Resampler
  readonly #perMs: number
  readonly #frame: number
  #parts: Int16Array[] = []
  #length = 0
  #flowing = false

  /** Sample rates in Hz. */
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

  /** Returns 20 ms, or null when there is too little audio. */
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
