/** Codecs of a call's audio: encoders, decoders and their rates (RFC 3551, RFC 7587). */

import type { CodecName } from '../contract/plan.ts'
import type { Decoder, Encoder, OpusSending } from './coder.ts'
import { createConcealer } from './conceal.ts'
import { decodeG711, encodeG711, type G711 } from './g711.ts'
import { G722Decoder, G722Encoder } from './g722.ts'
import { createOpusDecoder, createOpusEncoder, OPUS_SAMPLE_RATE } from './opus.ts'

export interface CodecFacts {
  /** Clock rate of RTP timestamps in Hz. G.722 counts half of its samples, a historical error (RFC 3551 §4.5.2). */
  clockRate: number
  /** Sample rate in Hz. */
  sampleRate: number
}

export const CODECS: Readonly<Record<CodecName, CodecFacts>> = {
  PCMU: { clockRate: 8000, sampleRate: 8000 },
  PCMA: { clockRate: 8000, sampleRate: 8000 },
  G722: { clockRate: 8000, sampleRate: 16_000 },
  opus: { clockRate: 48_000, sampleRate: OPUS_SAMPLE_RATE },
}

export function createEncoder(codec: CodecName, opus: OpusSending): Encoder {
  if (codec === 'opus') return createOpusEncoder(opus)
  const encode = codec === 'G722' ? wideEncoder() : narrowEncoder(codec)
  return { encode, expectLoss: () => {}, close: () => {} }
}

export function createDecoder(codec: CodecName): Decoder {
  if (codec === 'opus') return createOpusDecoder()
  const g722 = codec === 'G722' ? new G722Decoder() : null
  const decode = g722
    ? (bytes: Uint8Array) => g722.decode(bytes)
    : (bytes: Uint8Array) => decodeG711(codec as G711, bytes)
  const concealer = createConcealer(CODECS[codec].sampleRate)
  return {
    decode: payload => concealer.good(decode(payload)),
    conceal: samples => concealer.lost(samples),
    pauses: () => false,
    close: () => {},
  }
}

function wideEncoder(): (pcm: Int16Array) => Uint8Array {
  const encoder = new G722Encoder()
  return pcm => encoder.encode(pcm)
}

function narrowEncoder(codec: G711): (pcm: Int16Array) => Uint8Array {
  return pcm => {
    const bytes = new Uint8Array(pcm.length)
    encodeG711(codec, pcm, bytes)
    return bytes
  }
}
