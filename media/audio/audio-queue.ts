/** Audio queue that takes and returns pieces of different lengths, with their µ-law bytes if `keepsUlaw`. */
import { concatPcm } from './frames.ts'
import { encodeG711 } from './g711.ts'

export interface Sound {
  pcm: Int16Array
  /** Null unless the queue keeps µ-law bytes. */
  ulaw: Uint8Array | null
}

export class AudioQueue {
  readonly #keepsUlaw: boolean
  #pcm: Int16Array = new Int16Array(0)
  #ulaw: Uint8Array = new Uint8Array(0)

  constructor(keepsUlaw: boolean) {
    this.#keepsUlaw = keepsUlaw
  }

  /** `ulaw`: the same audio as µ-law, when it was received or created as such; otherwise it is encoded. */
  push(pcm: Int16Array, ulaw: Uint8Array | null): void {
    this.#pcm = this.#pcm.length === 0 ? pcm : concatPcm([this.#pcm, pcm])
    if (!this.#keepsUlaw) return
    const bytes = ulaw?.length === pcm.length ? ulaw : encoded(pcm)
    this.#ulaw = this.#ulaw.length === 0 ? bytes : Buffer.concat([this.#ulaw, bytes])
  }

  /** Returns null when fewer samples are queued. */
  take(samples: number): Sound | null {
    if (this.#pcm.length < samples) return null
    const sound = {
      pcm: this.#pcm.subarray(0, samples),
      ulaw: this.#keepsUlaw ? this.#ulaw.subarray(0, samples) : null,
    }
    this.#pcm = this.#pcm.subarray(samples)
    this.#ulaw = this.#ulaw.subarray(samples)
    return sound
  }

  clear(): void {
    this.#pcm = new Int16Array(0)
    this.#ulaw = new Uint8Array(0)
  }
}

function encoded(pcm: Int16Array): Uint8Array {
  const bytes = new Uint8Array(pcm.length)
  encodeG711('PCMU', pcm, bytes)
  return bytes
}
