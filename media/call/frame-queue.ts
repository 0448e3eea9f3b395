/** Frames between two 20 ms clocks: keeps a few to absorb jitter, and no more, since each adds delay. */

/** Maximum of frames: 60 ms. */
const MOST = 3

export class FrameQueue {
  readonly #frames: Int16Array[] = []

  add(pcm: Int16Array): void {
    this.#frames.push(pcm)
    if (this.#frames.length > MOST) this.#frames.shift()
  }

  /** Returns null when the queue is empty. */
  take(): Int16Array | null {
    return this.#frames.shift() ?? null
  }

  clear(): void {
    this.#frames.length = 0
  }
}
