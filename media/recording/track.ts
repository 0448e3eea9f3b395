/**
 * One side of a recording: takes frames with arrival times and returns continuous samples. Consecutive audio stays
 * continuous, however its packets arrived; the track as a whole follows the arrivals, so that it drifts with neither
 * the sender's clock nor the network's delay. Frames are evaluated some seconds after they arrived: only later frames
 * distinguish a pause (the rest is late, too) from a stall (the rest is in time again). Pure: time is in the frames.
 */
import { rms } from '../audio/frames.ts'

export interface TrackOptions {
  sampleRate: number
  /** Time of sample 0. */
  startedMs: number
}

interface Held {
  pcm: Int16Array
  /** Arrival time of its first sample minus its position in the sender's audio, in samples. */
  offset: number
  /** False when the arrival time has no meaning: concealed audio, or the rest of a longer packet. */
  measured: boolean
  /** True when it arrived later after its predecessor than its length explains. */
  late: boolean
}

/** Number of frames evaluated together: three seconds. */
const WINDOW = 150
const MEASURE_EVERY = 10
/** Maximum number of held frames; a flood of packets beyond it is dropped. */
const MAX_HELD = 1000
const GAP_MS = 10
const JUMP_MS = 20
/** Offset in ms at which stretching starts, and at which it ends. */
const BEND_FROM_MS = 4
const BEND_TO_MS = 0.5
/** After this offset for this many frames without a quiet one, a loud frame is dropped. */
const CUT_MS = 100
const CUT_AFTER_FRAMES = 250
const QUIET_RMS = 100
const RAMP_MS = 2.5

export class Track {
  readonly #rate: number
  readonly #startedMs: number
  readonly #ramp: number
  readonly #held: Held[] = []
  /** Number of samples returned so far. */
  #position = 0
  /** Samples of the sender: received, and no longer held. */
  #came = 0
  #gone = 0
  #lastAtMs: number | null = null
  #lastOffset: number | null = null
  #median: number | null = null
  #sinceMeasured = 0
  #bending = false
  #offFrames = 0
  /** Samples that exceeded the last request. */
  #rest = new Int16Array(0)
  #lastSample = 0
  /** Samples of silence since the last audio, at most the ramp's length; null before any audio. */
  #silent: number | null = null
  /** The next audio does not continue where the last one ended. */
  #cut = false

  constructor({ sampleRate, startedMs }: TrackOptions) {
    this.#rate = sampleRate
    this.#startedMs = startedMs
    this.#ramp = Math.round((sampleRate * RAMP_MS) / 1000)
  }

  push(pcm: Int16Array, atMs: number, concealed = false): void {
    const offset = Math.round(this.#samples(atMs - this.#startedMs)) - this.#came
    const measured = !concealed && atMs !== this.#lastAtMs
    const late = measured && (this.#lastOffset === null || offset - this.#lastOffset >= this.#samples(GAP_MS))
    this.#held.push({ pcm, offset, measured, late })
    this.#came += pcm.length
    if (measured) {
      this.#lastAtMs = atMs
      this.#lastOffset = offset
    }
    if (this.#held.length > MAX_HELD) this.#drop()
  }

  /** Returns the samples from the end of the last take to `until`; missing audio is silence. */
  take(until: number): Int16Array {
    const out = new Int16Array(Math.max(0, until - this.#position))
    let at = Math.min(this.#rest.length, out.length)
    out.set(this.#rest.subarray(0, at))
    this.#rest = this.#rest.slice(at)
    while (at < out.length) {
      const frame = this.#held[0]
      if (!frame) {
        at = this.#silence(out, at, out.length)
        break
      }
      // A frame belongs right behind the audio before it, except for this offset.
      const place = this.#position + at - this.#gone
      const off = this.#measure(frame) - place
      if (this.#shouldWait(frame, off, place)) {
        at = this.#silence(out, at, Math.min(out.length, at + off))
        continue
      }
      if (this.#shouldGo(frame, off, place)) {
        this.#drop()
        this.#cut = true
        continue
      }
      this.#held.shift()
      this.#gone += frame.pcm.length
      this.#sinceMeasured++
      const sound = this.#join(this.#bend(frame, off, place))
      const fits = Math.min(sound.length, out.length - at)
      out.set(sound.subarray(0, fits), at)
      this.#rest = sound.slice(fits)
      at += fits
    }
    this.#position += out.length
    return out
  }

  #samples(ms: number): number {
    return (ms * this.#rate) / 1000
  }

  #drop(): void {
    this.#gone += this.#held.shift()!.pcm.length
    this.#sinceMeasured++
  }

  /** Median of the offsets from here on; it stays stable while up to half of the packets are late. */
  #measure(head: Held): number {
    if (this.#median !== null && !head.late && this.#sinceMeasured < MEASURE_EVERY) return this.#median
    const offsets: number[] = []
    for (const [index, frame] of this.#held.entries()) {
      if (index === WINDOW) break
      if (frame.measured) offsets.push(frame.offset)
    }
    this.#sinceMeasured = 0
    if (offsets.length > 0) {
      const sorted = Float64Array.from(offsets).sort()
      this.#median = sorted[sorted.length >> 1]!
    }
    return this.#median ?? head.offset
  }

  /** True when a pause preceded the frame, or the track is ahead and waiting is inaudible here. */
  #shouldWait(frame: Held, off: number, place: number): boolean {
    if (frame.late) return off >= (this.#silent === 0 ? this.#samples(GAP_MS) : 1)
    const jump = this.#samples(JUMP_MS)
    return off >= jump && frame.measured && frame.offset - place >= jump && rms(frame.pcm) < QUIET_RMS
  }

  /** True when the track is behind and skipping is inaudible here, or it has been behind for too long. */
  #shouldGo(frame: Held, off: number, place: number): boolean {
    const jump = this.#samples(JUMP_MS)
    this.#offFrames = off <= -this.#samples(CUT_MS) ? this.#offFrames + 1 : 0
    if (off > -jump || !frame.measured || frame.offset - place > -jump) return false
    return this.#offFrames > CUT_AFTER_FRAMES || rms(frame.pcm) < QUIET_RMS
  }

  /**
   * Adds or removes one sample, spread over the frame: no step in the audio, and a tenth of a semitone for 20 ms. Only
   * when the frame itself is off: what arrives after a later pause says nothing about the audio before it.
   */
  #bend({ pcm, measured, offset }: Held, off: number, place: number): Int16Array {
    this.#bending = Math.abs(off) > this.#samples(this.#bending ? BEND_TO_MS : BEND_FROM_MS)
    if (!this.#bending || !measured || Math.sign(offset - place) !== Math.sign(off) || pcm.length < 3) return pcm
    return stretched(pcm, pcm.length + Math.sign(off))
  }

  /** Silence fades in from the last sample, since a step would click. */
  #silence(out: Int16Array, from: number, to: number): number {
    if (this.#silent !== null) {
      for (let i = from; i < to && this.#silent < this.#ramp; i++) {
        this.#silent++
        out[i] = this.#lastSample * (1 - this.#silent / this.#ramp)
      }
    }
    this.#cut ||= to > from
    return to
  }

  /** Audio after a silence or a cut starts at the level where that ended. */
  #join(pcm: Int16Array): Int16Array {
    let sound = pcm
    if (this.#cut) {
      const faded = this.#silent === null ? 1 : Math.min(1, this.#silent / this.#ramp)
      const before = this.#lastSample * (1 - faded)
      sound = pcm.slice()
      for (let i = 0; i < Math.min(this.#ramp, sound.length); i++) {
        const share = (i + 1) / this.#ramp
        sound[i] = before * (1 - share) + pcm[i]! * share
      }
    }
    this.#cut = false
    this.#silent = 0
    this.#lastSample = sound.at(-1) ?? 0
    return sound
  }
}

/** Resamples to another number of samples by cubic Hermite interpolation; first and last sample stay. */
export function stretched(pcm: Int16Array, length: number): Int16Array {
  const out = new Int16Array(length)
  const last = pcm.length - 1
  const step = last / (length - 1)
  for (let i = 0; i < length; i++) {
    const x = i * step
    const k = Math.min(Math.floor(x), last - 1)
    const t = x - k
    const [a, b, c, d] = [pcm[Math.max(0, k - 1)]!, pcm[k]!, pcm[k + 1]!, pcm[Math.min(last, k + 2)]!]
    const value = b + (t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)))) / 2
    out[i] = Math.max(-32_768, Math.min(32_767, Math.round(value)))
  }
  return out
}
