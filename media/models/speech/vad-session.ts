/** The speech process' half of a VAD session: converts one line's audio to windows of the model. */
import { createChunker } from '../../audio/frames.ts'
import { createResampler } from '../../audio/resample.ts'
import type { ToModel } from './gate.ts'
import { type Detector, MODEL_RATE, VAD_WINDOW } from './silero.ts'

export interface VadSession {
  stepVad(pcm: Int16Array, to: ToModel): void
  close(): void
}

export function openVadSession(sampleRate: number, detector: Detector): VadSession {
  let resampler = createResampler(sampleRate, MODEL_RATE)
  let chunker = createChunker(VAD_WINDOW)
  let forgets = false
  return {
    stepVad(pcm, { atMs, fresh }) {
      if (fresh) {
        resampler = createResampler(sampleRate, MODEL_RATE)
        chunker = createChunker(VAD_WINDOW)
        forgets = true
      }
      for (const window of chunker.push(resampler.push(pcm))) {
        detector.stepVad(window, { atMs, fresh: forgets })
        forgets = false
      }
    },
    close: () => detector.release(),
  }
}
