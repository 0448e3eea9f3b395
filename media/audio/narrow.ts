/** Sound for models and recordings: all that they use of it is below 8 kHz. */
import type { AudioFrame } from '../ports/leg.ts'
import { createResampler } from './resample.ts'

/** Wideband, as ITU-T G.722 calls it. */
const WIDEBAND = 16_000

export const narrowRate = (sampleRate: number) => Math.min(sampleRate, WIDEBAND)

/** Frames of `sampleRate` as frames of `narrowRate(sampleRate)`; those that are narrow already go through untouched. */
export function createNarrower(sampleRate: number): (frame: AudioFrame) => AudioFrame {
  const rate = narrowRate(sampleRate)
  if (rate === sampleRate) return frame => frame
  const resampler = createResampler(sampleRate, rate)
  return frame => ({ ...frame, pcm: resampler.push(frame.pcm) })
}
