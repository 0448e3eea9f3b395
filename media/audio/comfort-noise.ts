/**
 * Comfort noise (RFC 3389): what a listener hears while the far end suppresses silence. Only the level is applied; the
 * spectral information that a packet may contain matters to human listeners alone. Pure.
 */

/** Static payload type of CN (RFC 3551 table 4). */
export const COMFORT_NOISE = 13

/**
 * Returns the level in the packet's first byte, 0 to −127 dBov (RFC 3389 §3.1); 0 dBov is a square wave at full scale.
 */
export function noiseLevel(payload: Uint8Array): number {
  const level = payload[0]
  // A missing level, or one louder than any background, is replaced by a quiet one.
  return level === undefined || level < LOUDEST ? QUIET : level & 0x7f
}
const LOUDEST = 20
const QUIET = 70

/** Returns `samples` samples of white noise, `level` dB below full scale. `random`: 0 to 1. */
export function makeNoise(samples: number, level: number, random: () => number): Int16Array {
  const rms = 32_768 * 10 ** (-level / 20)
  // A uniform distribution between ±a has an RMS of a/√3.
  const span = 2 * rms * Math.sqrt(3)
  return Int16Array.from({ length: samples }, () => Math.round((random() - 0.5) * span))
}
