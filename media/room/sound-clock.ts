/**
 * When sound was made that arrives in bunches: frames of 20 ms follow each other, and the one that came with the least
 * delay says when. Pure.
 */
import { FRAME_MS } from '../audio/frames.ts'

/** A stream that stopped for so long begins anew. */
const GAP_MS = 200
/**
 * In frames. When all of these come late, it is not that they were delayed: the sender's clock is slower, or sound was
 * lost, and the time that is told goes after it.
 */
const WINDOW = 50
/** As RFC 3550 §6.4.1 smooths it. */
const SMOOTH = 16

export class SoundClock {
  /** How late frames come, on average. */
  jitterMs = 0
  #nextMs = 0
  #lastMs = Number.NEGATIVE_INFINITY
  #windowed = 0
  #leastLateMs = Number.POSITIVE_INFINITY

  /** Time of the end of the frame that came at `nowMs`; never later than that, and never turning back. */
  at(nowMs: number): number {
    if (nowMs - this.#lastMs > GAP_MS) this.#begin(nowMs)
    this.#lastMs = nowMs
    const lateMs = nowMs - this.#nextMs
    this.jitterMs += (Math.abs(lateMs) - this.jitterMs) / SMOOTH
    if (lateMs < 0) this.#begin(nowMs)
    this.#leastLateMs = Math.min(this.#leastLateMs, nowMs - this.#nextMs)
    if (++this.#windowed === WINDOW) this.#begin(this.#nextMs + this.#leastLateMs)
    const atMs = this.#nextMs
    this.#nextMs += FRAME_MS
    return atMs
  }

  #begin(atMs: number): void {
    this.#nextMs = atMs
    this.#windowed = 0
    this.#leastLateMs = Number.POSITIVE_INFINITY
  }
}
