/** What turns sound into packets and back, of whatever codec. */

export interface OpusSending {
  /** The far end uses redundancy against loss (`useinbandfec`). */
  fec: boolean
  /** In bit/s (`maxaveragebitrate`); null: it did not say. */
  maxBitrate: number | null
}

export interface Encoder {
  /** One packet of a length that the codec knows; null while the codec is not there yet. */
  encode(pcm: Int16Array): Uint8Array | null
  /** What the far end said it loses, 0 to 1. */
  expectLoss(fraction: number): void
  close(): void
}

export interface Decoder {
  /** Never throws; what can't be read is empty. */
  decode(payload: Uint8Array): Int16Array
  /** Sound for a packet that is lost, of so many samples. `next`: the packet behind it, where it is the last of the hole. */
  conceal(samples: number, next: Uint8Array | null): Int16Array
  /** The sender has fallen silent on purpose with this packet, and sends no more for a while (DTX). */
  pauses(payload: Uint8Array): boolean
  close(): void
}
