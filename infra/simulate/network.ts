/** Simulates the network between caller and engine: loss, jitter, noise. Pure and reproducible. */

export interface NetworkOptions {
  loss: number
  jitter_ms: number
  noise_dbfs: number | null
}

export interface SimulatedNetwork {
  /** Starts an utterance. The same utterance loses the same packets each time, whenever it is spoken. */
  begin(): void
  /** The next packet's delay in ms, or null when it is lost. */
  fate(): number | null
  /** Adds background noise. */
  colour(pcm: Int16Array): Int16Array
}

/** Background level of a quiet line, about −70 dBFS. */
const ROOM_RMS = 10
const FULL_SCALE = 32_768

export function createSimulatedNetwork({ loss, jitter_ms, noise_dbfs }: NetworkOptions, seed = 1): SimulatedNetwork {
  const random = createRandom(seed)
  let fates = createRandom(seed)
  let said = 0
  const level = noise_dbfs === null ? ROOM_RMS : FULL_SCALE * 10 ** (noise_dbfs / 20)
  // A uniform distribution over ±1 has an RMS of 1/√3.
  const peak = level * Math.sqrt(3)
  return {
    begin() {
      fates = createRandom(seed + ++said)
    },
    fate() {
      const [lost, late] = [fates() < loss, fates() * jitter_ms]
      return lost ? null : late
    },
    colour: pcm =>
      pcm.map(sample => Math.max(-FULL_SCALE, Math.min(FULL_SCALE - 1, sample + (random() * 2 - 1) * peak))),
  }
}

/** The Mulberry32 generator. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
