/** Frames on their way between two clocks of 20 ms: a few are kept against jitter, and no more, since they are delay. */

/** 60 ms. */
const MOST = 3

export class FrameQueue {
  readonly #frames: Int16Array[] = []

  add(pcm: Int16Array): void {
    this.#frames.push(pcm)
    if (this.#frames.length > MOST) this.#frames.shift()
  }

  /** Null: there is none. */
  take(): Int16Array | null {
    return this.#frames.shift() ?? null
  }

  clear(): void {
    this.#frames.length = 0
  }
}
