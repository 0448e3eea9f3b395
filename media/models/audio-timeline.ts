/**
 * A caller's audio as STT receives it, as continuous samples with the arrival times of its frames. A lost packet leaves
 * a gap in time but none in the samples, so a time must be mapped through its frame.
 */
import type { AudioFrame } from '../ports/leg.ts'

interface PlacedFrame {
  pcm: Int16Array
  atMs: number
  /** Position of its first sample in the call. */
  start: number
}

/** Milliseconds of audio that may be requested or sent again. */
const KEEP_MS = 60_000

export class AudioTimeline {
  #frames: PlacedFrame[] = []
  #end = 0

  /** Number of samples so far. */
  get end(): number {
    return this.#end
  }

  push(frame: AudioFrame): void {
    this.#frames.push({ pcm: frame.pcm, atMs: frame.atMs, start: this.#end })
    this.#end += frame.pcm.length
    // Remove in batches, so that the array is not copied for every frame.
    if (this.#frames.length % 500 !== 0) return
    this.#frames = this.#frames.filter(kept => kept.atMs >= frame.atMs - KEEP_MS)
  }

  /** Position after the last frame that had arrived by `atMs`. */
  endAt(atMs: number): number {
    const last = this.#frames.findLast(frame => frame.atMs <= atMs)
    return last ? last.start + last.pcm.length : (this.#frames[0]?.start ?? 0)
  }

  /** Arrival time of the frame that contains the sample, or of the nearest frame. Null before any audio. */
  atMs(sample: number): number | null {
    const frame = this.#frames.findLast(placed => placed.start <= sample) ?? this.#frames[0]
    return frame?.atMs ?? null
  }

  /** Returns the frames that end after the sample, and the position of the first. */
  since(sample: number): { start: number; pcm: Int16Array[] } {
    const frames = this.#frames.filter(frame => frame.start + frame.pcm.length > sample)
    return { start: frames[0]?.start ?? this.#end, pcm: frames.map(frame => frame.pcm) }
  }
}
