/**
 * Comfort noise (RFC 3389): what a listener hears while the far end, silent, sends nothing. Only its level is followed;
 * the colour that a packet may tell too is for speech-to-text that would notice. Pure.
 */

/** RFC 3551 table 4: CN has this number by itself. */
export const COMFORT_NOISE = 13

/** Level in the packet's first byte: 0 to −127 dBov (RFC 3389 §3.1); 0 dBov is a square wave as loud as can be. */
export function noiseLevel(payload: Uint8Array): number {
  const level = payload[0]
  // What came without a level, or is louder than any room, is taken for a quiet one.
  return level === undefined || level < LOUDEST ? QUIET : level & 0x7f
}
const LOUDEST = 20
const QUIET = 70

/** `samples` of white noise, `level` dB below full scale. `random`: 0 to 1. */
export function makeNoise(samples: number, level: number, random: () => number): Int16Array {
  const rms = 32_768 * 10 ** (-level / 20)
  // Uniform between ±a has an RMS of a/√3.
  const span = 2 * rms * Math.sqrt(3)
  return Int16Array.from({ length: samples }, () => Math.round((random() - 0.5) * span))
}
