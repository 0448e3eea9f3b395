/** The interface of encoders and decoders of all codecs. */

export interface OpusSending {
  /** The far end uses in-band FEC (`useinbandfec`). */
  fec: boolean
  /** Maximum in bit/s (`maxaveragebitrate`); null when the far end did not limit it. */
  maxBitrate: number | null
}

export interface Encoder {
  /** Encodes one packet of a length that the codec supports; null while the codec is still loading. */
  encode(pcm: Int16Array): Uint8Array | null
  /** Sets the loss that the far end reported, 0 to 1. */
  expectLoss(fraction: number): void
  close(): void
}

export interface Decoder {
  /** Never throws; invalid data decodes to an empty array. */
  decode(payload: Uint8Array): Int16Array
  /** Returns `samples` samples for a lost packet. `next`: the packet after it, if it is the last of the gap. */
  conceal(samples: number, next: Uint8Array | null): Int16Array
  /** True when the sender starts DTX with this packet: it sends no more for a while. */
  pauses(payload: Uint8Array): boolean
  close(): void
}
