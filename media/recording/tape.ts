/** Both sides of a call as stereo samples: the far end left, the agent right. Pure: time is an argument. */
import type { AudioFrame } from '../ports/leg.ts'
import { Track, type TrackOptions } from './track.ts'

/** Milliseconds after which a frame's position is final; see track.ts for the reason. */
export const SETTLE_MS = 3000
const FRAMES_A_SECOND = 50

export class Tape {
  readonly #rate: number
  readonly #startedMs: number
  readonly #caller: Track
  readonly #agent: Track
  readonly #silence: Int16Array
  #taken = 0

  constructor(options: TrackOptions) {
    this.#rate = options.sampleRate
    this.#startedMs = options.startedMs
    this.#caller = new Track(options)
    this.#agent = new Track(options)
    this.#silence = new Int16Array(options.sampleRate / FRAMES_A_SECOND)
  }

  caller({ pcm, atMs, concealed }: AudioFrame): void {
    this.#caller.push(pcm, atMs, concealed)
  }

  /** Null: silence was sent. When nothing was pulled, this is not called, and that is silence, too. */
  agent(pcm: Int16Array | null, atMs: number): void {
    this.#agent.push(pcm ?? this.#silence, atMs)
  }

  /** Returns interleaved left and right samples that are final by now and were not taken yet. */
  take(nowMs: number): Int16Array {
    return this.#until(nowMs - SETTLE_MS)
  }

  /** Returns the rest, up to the end of the call. */
  finish(endMs: number): Int16Array {
    return this.#until(endMs)
  }

  #until(ms: number): Int16Array {
    const until = Math.max(this.#taken, Math.round(((ms - this.#startedMs) * this.#rate) / 1000))
    const left = this.#caller.take(until)
    const right = this.#agent.take(until)
    this.#taken = until
    const both = new Int16Array(left.length * 2)
    for (let i = 0; i < left.length; i++) {
      both[2 * i] = left[i]!
      both[2 * i + 1] = right[i]!
    }
    return both
  }
}
