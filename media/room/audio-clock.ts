/**
 * Restores the timing of audio that arrives in bursts: frames of 20 ms follow each other, and the least delayed one
 * sets the time. Pure.
 */
import { FRAME_MS } from '../audio/frames.ts'

/** Pause in ms after which the timing restarts. */
const GAP_MS = 200
/**
 * Number of frames. When all of these are late, they were not delayed: the sender's clock is slower, or audio was lost,
 * and the time is adjusted.
 */
const WINDOW = 50
/** Smoothing factor of RFC 3550 §6.4.1. */
const SMOOTH = 16

export class AudioClock {
  /** Average delay of frames in ms. */
  jitterMs = 0
  #nextMs = 0
  #lastMs = Number.NEGATIVE_INFINITY
  #windowed = 0
  #leastLateMs = Number.POSITIVE_INFINITY

  /** Time of the end of the frame that arrived at `nowMs`: never later than that, and monotonic. */
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
