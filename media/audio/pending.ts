/**
 * Audio that is produced faster than it is played: written in pieces of any rate and read in frames of one rate. It is
 * resampled when it is read, since converting a whole sentence at once would delay the frames of all other calls.
 */
import { concatPcm, frameSamples } from './frames.ts'
import { createResampler, type Resampler, resamplerLag } from './resample.ts'

interface Piece {
  pcm: Int16Array
  sampleRate: number
}

export class PendingAudio {
  readonly #rate: number
  readonly #pieces: Piece[] = []
  #resampler: Resampler | null = null
  #pieceRate = 0
  #converted: Int16Array = new Int16Array(0)
  /** Total written, as fractional samples of our rate. */
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

  /** Ends the input: the samples that the filter holds back become available. */
  end(): void {
    this.#ended = true
  }

  /** Total written, in samples. */
  get length(): number {
    return Math.floor(this.#written)
  }

  /** Number of samples that can be taken now. */
  get available(): number {
    const last = this.#pieces.at(-1)?.sampleRate ?? this.#pieceRate
    const lag = last === 0 ? 0 : (resamplerLag(last, this.#rate) * this.#rate) / last
    // One more, since the filter may be between two samples.
    const held = this.#ended || lag === 0 ? 0 : Math.ceil(lag + this.#rate / last)
    return Math.max(0, this.length - held - this.#taken)
  }

  /** Returns the next `samples` samples; must not exceed `available`. */
  take(samples: number): Int16Array {
    while (this.#converted.length < samples && this.#convert());
    const frame = new Int16Array(samples)
    frame.set(this.#converted.subarray(0, samples))
    this.#converted = this.#converted.slice(samples)
    this.#taken += samples
    return frame
  }

  /** Converts a frame of the next piece; false when there is none. */
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
