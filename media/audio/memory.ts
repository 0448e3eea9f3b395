/** The last minute of a caller's sound, by wire time: what a recogniser may be asked to read again. */

import type { AudioFrame } from '../ports/leg.ts'
import { concatPcm } from './frames.ts'

export class SoundMemory {
  readonly #keepMs: number
  #frames: AudioFrame[] = []

  constructor(keepMs = 60_000) {
    this.#keepMs = keepMs
  }

  push(frame: AudioFrame): void {
    this.#frames.push(frame)
    const oldest = frame.atMs - this.#keepMs
    // In steps, so that the array is not moved for every frame.
    if (this.#frames.length % 500 === 0) this.#frames = this.#frames.filter(kept => kept.atMs >= oldest)
  }

  /** Frames that arrived within the stretch, joined. */
  slice(fromMs: number, toMs: number): Int16Array {
    return concatPcm(this.#frames.filter(frame => frame.atMs >= fromMs && frame.atMs <= toMs).map(frame => frame.pcm))
  }
}
