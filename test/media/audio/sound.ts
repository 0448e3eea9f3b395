/** Speech of the corpus, for tests that judge audio. */
import { readdirSync, readFileSync } from 'node:fs'
import { createSteadyResampler } from '../../../media/audio/frame-resampler.ts'
import { concatPcm } from '../../../media/audio/frames.ts'
import { decodeG711 } from '../../../media/audio/g711.ts'

const folder = new URL('../../corpus/russian/', import.meta.url)

/** Several people, some seconds each. */
export function speech(sampleRate: number, files = 4): Int16Array {
  const names = readdirSync(folder)
    .filter(name => name.endsWith('.ul'))
    .sort()
    .slice(0, files)
  const narrow = concatPcm(names.map(name => decodeG711('PCMU', readFileSync(new URL(name, folder)))))
  return createSteadyResampler(8000, sampleRate)(narrow)
}

/** Returns a deterministic generator of numbers from 0 to 1. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

export const tone = (hz: number, sampleRate: number, samples: number, amplitude = 8000, from = 0) =>
  Int16Array.from({ length: samples }, (_, i) => amplitude * Math.sin((2 * Math.PI * hz * (from + i)) / sampleRate))

/** Share of one tone in the power of the audio, 0 to 1 (Goertzel). */
export function shareOf(hz: number, pcm: Int16Array, sampleRate: number): number {
  let [re, im, power] = [0, 0, 0]
  for (let i = 0; i < pcm.length; i++) {
    re += pcm[i]! * Math.cos((2 * Math.PI * hz * i) / sampleRate)
    im += pcm[i]! * Math.sin((2 * Math.PI * hz * i) / sampleRate)
    power += pcm[i]! ** 2
  }
  return power === 0 ? 0 : (2 * (re * re + im * im)) / (pcm.length * power)
}
