/**
 * Sound that is made faster than it is played: it comes in pieces of any rate and is taken in frames of one. Converted as
 * it is taken, since a whole sentence at once would hold up the frames of all other calls.
 */
import { concatPcm, frameSamples } from './frames.ts'
import { createResampler, type Resampler, resamplerLag } from './resample.ts'

interface Piece {
  pcm: Int16Array
  sampleRate: number
}

export class PendingSound {
  readonly #rate: number
  readonly #pieces: Piece[] = []
  #resampler: Resampler | null = null
  #pieceRate = 0
  #converted: Int16Array = new Int16Array(0)
  /** In samples of our rate, fractional: of all that was written. */
  #written = 0
  #taken = 0
  #ended = false

  constructor(sampleRate: number) {
    this.#rate = sampleRate
  }

  write(pcm: Int16Array, sampleRate: number): void {
    if (pcm.length === 0) return
    this.#pieces.push({ pcm, sampleRate })
    this.#written += (pcm.length * this.#rate) / sampleRate
  }

  /** No more is written: what the filter holds back can be taken. */
  end(): void {
    this.#ended = true
  }

  /** Of all that was written, in samples. */
  get length(): number {
    return Math.floor(this.#written)
  }

  /** Samples that can be taken now. */
  get available(): number {
    const last = this.#pieces.at(-1)?.sampleRate ?? this.#pieceRate
    const lag = last === 0 ? 0 : (resamplerLag(last, this.#rate) * this.#rate) / last
    // One more: where the filter stands between two samples is its own business.
    const held = this.#ended || lag === 0 ? 0 : Math.ceil(lag + this.#rate / last)
    return Math.max(0, this.length - held - this.#taken)
  }

  /** The next `samples`, no more than are available. */
  take(samples: number): Int16Array {
    while (this.#converted.length < samples && this.#convert());
    const frame = new Int16Array(samples)
    frame.set(this.#converted.subarray(0, samples))
    this.#converted = this.#converted.slice(samples)
    this.#taken += samples
    return frame
  }

  /** A frame's worth of the next piece; false when there is none. */
  #convert(): boolean {
    const [piece] = this.#pieces
    if (!piece && !this.#ended) return false
    if (!piece || piece.sampleRate !== this.#pieceRate) {
      const tail = this.#resampler?.flush()
      this.#resampler = piece ? createResampler(piece.sampleRate, this.#rate) : null
      this.#pieceRate = piece?.sampleRate ?? this.#pieceRate
      if (tail) this.#converted = concatPcm([this.#converted, tail])
      return piece !== undefined
    }
    const part = piece.pcm.subarray(0, Math.ceil(frameSamples(piece.sampleRate)))
    if (part.length === piece.pcm.length) this.#pieces.shift()
    else piece.pcm = piece.pcm.subarray(part.length)
    this.#converted = concatPcm([this.#converted, this.#resampler!.push(part)])
    return true
  }
}
