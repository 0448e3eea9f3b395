/**
 * A caller's sound as a recogniser sees it, samples in a row, beside the wire times of its frames: packets that never
 * came leave a gap in time but none in the stream, so that a time in the stream is found through its frame only.
 */
import type { AudioFrame } from '../ports/leg.ts'

interface PlacedFrame {
  pcm: Int16Array
  atMs: number
  /** Sample of the call at which it begins. */
  start: number
}

/** How much may be asked about or sent again. */
const KEEP_MS = 60_000

export class SoundTimeline {
  #frames: PlacedFrame[] = []
  #end = 0

  /** Samples so far. */
  get end(): number {
    return this.#end
  }

  push(frame: AudioFrame): void {
    this.#frames.push({ pcm: frame.pcm, atMs: frame.atMs, start: this.#end })
    this.#end += frame.pcm.length
    // In steps, so that the array is not moved for every frame.
    if (this.#frames.length % 500 !== 0) return
    this.#frames = this.#frames.filter(kept => kept.atMs >= frame.atMs - KEEP_MS)
  }

  /** The sample behind the last frame that had come by then. */
  endAt(atMs: number): number {
    const last = this.#frames.findLast(frame => frame.atMs <= atMs)
    return last ? last.start + last.pcm.length : (this.#frames[0]?.start ?? 0)
  }

  /** Wire time of the frame that holds the sample; beyond the ends, of the nearest frame. Null before any sound. */
  atMs(sample: number): number | null {
    const frame = this.#frames.findLast(placed => placed.start <= sample) ?? this.#frames[0]
    return frame?.atMs ?? null
  }

  /** Frames that are not wholly before the sample, and where the first begins. */
  since(sample: number): { start: number; pcm: Int16Array[] } {
    const frames = this.#frames.filter(frame => frame.start + frame.pcm.length > sample)
    return { start: frames[0]?.start ?? this.#end, pcm: frames.map(frame => frame.pcm) }
  }
}
