/** Reduces audio to 16 kHz for models and recordings, which use nothing above 8 kHz. */
import type { AudioFrame } from '../ports/leg.ts'
import { createResampler } from './resample.ts'

/** Sample rate in Hz that ITU-T G.722 calls wideband. */
const WIDEBAND = 16_000

export const narrowRate = (sampleRate: number) => Math.min(sampleRate, WIDEBAND)

/** Converts frames of `sampleRate` to `narrowRate(sampleRate)`; frames at or below that rate pass unchanged. */
export function createNarrower(sampleRate: number): (frame: AudioFrame) => AudioFrame {
  const rate = narrowRate(sampleRate)
  if (rate === sampleRate) return frame => frame
  const resampler = createResampler(sampleRate, rate)
  return frame => ({ ...frame, pcm: resampler.push(frame.pcm) })
}
