/** The caller's latest audio (one minute by default) by arrival time, for repeated transcriptions. */

import type { AudioFrame } from '../ports/leg.ts'
import { concatPcm } from './frames.ts'

export class AudioHistory {
  readonly #keepMs: number
  #frames: AudioFrame[] = []

  constructor(keepMs = 60_000) {
    this.#keepMs = keepMs
  }

  push(frame: AudioFrame): void {
    this.#frames.push(frame)
    const oldest = frame.atMs - this.#keepMs
    // Remove in batches, so that the array is not copied for every frame.
    if (this.#frames.length % 500 === 0) this.#frames = this.#frames.filter(kept => kept.atMs >= oldest)
  }

  /** Returns the frames that arrived between the two times, joined. */
  slice(fromMs: number, toMs: number): Int16Array {
    return concatPcm(this.#frames.filter(frame => frame.atMs >= fromMs && frame.atMs <= toMs).map(frame => frame.pcm))
  }
}
