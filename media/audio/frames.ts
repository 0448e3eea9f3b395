/** Frames of 20 ms, the unit of a call's audio, and helpers for PCM. */

export const FRAME_MS = 20

export const frameSamples = (sampleRate: number) => (sampleRate * FRAME_MS) / 1000

/** Root mean square, 0 to 32768. */
export function rms(pcm: Int16Array): number {
  let sum = 0
  for (const sample of pcm) sum += sample * sample
  return pcm.length === 0 ? 0 : Math.sqrt(sum / pcm.length)
}

export function concatPcm(parts: readonly Int16Array[]): Int16Array {
  const whole = new Int16Array(parts.reduce((total, part) => total + part.length, 0))
  let offset = 0
  for (const part of parts) {
    whole.set(part, offset)
    offset += part.length
  }
  return whole
}

export interface Chunker {
  /** Returns the chunks that are complete now. */
  push(pcm: Int16Array): Int16Array[]
  /** Returns the incomplete chunk, or null. */
  rest(): Int16Array | null
}

export function createChunker(samples: number): Chunker {
  let pending = new Int16Array(0)
  return {
    push(pcm) {
      const all = pending.length === 0 ? pcm : concatPcm([pending, pcm])
      const chunks: Int16Array[] = []
      let offset = 0
      for (; offset + samples <= all.length; offset += samples) chunks.push(all.slice(offset, offset + samples))
      pending = all.slice(offset)
      return chunks
    },
    rest() {
      const rest = pending
      pending = new Int16Array(0)
      return rest.length === 0 ? null : rest
    },
  }
}

export function pcmToFloat(pcm: Int16Array): Float32Array {
  const samples = new Float32Array(pcm.length)
  for (let i = 0; i < pcm.length; i++) samples[i] = pcm[i]! / 32_768
  return samples
}

export function floatToPcm(samples: Float32Array): Int16Array {
  const pcm = new Int16Array(samples.length)
  for (let i = 0; i < samples.length; i++) {
    pcm[i] = Math.max(-32_768, Math.min(32_767, Math.round(samples[i]! * 32_767)))
  }
  return pcm
}
