/** G.711 (ITU-T G.711): conversion between µ-law or A-law bytes and 16-bit linear PCM, by table. */

export type G711 = 'PCMU' | 'PCMA'

const ULAW_BIAS = 0x84
const ULAW_CLIP = 32_635

function ulawToLinear(byte: number): number {
  const u = ~byte & 0xff
  const magnitude = (((u & 0x0f) << 3) + ULAW_BIAS) << ((u >> 4) & 7)
  return u & 0x80 ? ULAW_BIAS - magnitude : magnitude - ULAW_BIAS
}

function linearToUlaw(sample: number): number {
  const sign = sample < 0 ? 0x80 : 0
  const magnitude = Math.min(Math.abs(sample), ULAW_CLIP) + ULAW_BIAS
  const exponent = 31 - Math.clz32(magnitude) - 7
  return ~(sign | (exponent << 4) | ((magnitude >> (exponent + 3)) & 0x0f)) & 0xff
}

function alawToLinear(byte: number): number {
  const a = byte ^ 0x55
  const exponent = (a >> 4) & 7
  const mantissa = a & 0x0f
  const magnitude = exponent === 0 ? (mantissa << 4) + 8 : ((mantissa << 4) + 0x108) << (exponent - 1)
  return a & 0x80 ? magnitude : -magnitude
}

function linearToAlaw(sample: number): number {
  // G.711 uses 13 bits; the complement of a negative sample keeps −0 and +0 apart, as in the tables of the standard.
  const sign = sample >= 0 ? 0x80 : 0
  const magnitude = Math.min(sample >= 0 ? sample >> 3 : ~sample >> 3, 0xfff)
  const exponent = magnitude < 32 ? 0 : 31 - Math.clz32(magnitude) - 4
  const mantissa = exponent === 0 ? (magnitude >> 1) & 0x0f : (magnitude >> exponent) & 0x0f
  return (sign | (exponent << 4) | mantissa) ^ 0x55
}

const DECODE: Record<G711, Int16Array> = {
  PCMU: Int16Array.from({ length: 256 }, (_, byte) => ulawToLinear(byte)),
  PCMA: Int16Array.from({ length: 256 }, (_, byte) => alawToLinear(byte)),
}
const ENCODE: Record<G711, Uint8Array> = {
  PCMU: Uint8Array.from({ length: 65_536 }, (_, i) => linearToUlaw(i - 32_768)),
  PCMA: Uint8Array.from({ length: 65_536 }, (_, i) => linearToAlaw(i - 32_768)),
}

/** The byte that encodes silence. */
export const SILENCE: Record<G711, number> = { PCMU: 0xff, PCMA: 0xd5 }

export function decodeG711(codec: G711, payload: Uint8Array): Int16Array {
  const table = DECODE[codec]
  const pcm = new Int16Array(payload.length)
  for (let i = 0; i < payload.length; i++) pcm[i] = table[payload[i]!]!
  return pcm
}

/** Writes one byte per sample into `into`, from `offset` on. */
export function encodeG711(codec: G711, pcm: Int16Array, into: Uint8Array, offset = 0): void {
  const table = ENCODE[codec]
  for (let i = 0; i < pcm.length; i++) into[offset + i] = table[pcm[i]! + 32_768]!
}
