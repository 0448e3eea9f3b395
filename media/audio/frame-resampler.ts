/** Resamples frames one for one: the filter's lag is filled with silence at the start. */
import { createResampler, resamplerLag } from './resample.ts'

export function createSteadyResampler(fromHz: number, toHz: number): (pcm: Int16Array) => Int16Array {
  if (fromHz === toHz) return pcm => pcm
  const resampler = createResampler(fromHz, toHz)
  resampler.push(new Int16Array(resamplerLag(fromHz, toHz)))
  return pcm => resampler.push(pcm)
}
