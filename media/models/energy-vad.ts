/**
 * VAD by energy over an adaptive noise floor: the fallback without a model, and a VAD without delay for tests. It
 * cannot distinguish speech from music.
 */
import { rms } from '../audio/frames.ts'
import type { Vad } from '../ports/speech.ts'

/** RMS of about −50 dBFS: quieter sound on a telephone is never speech. */
const MIN_RMS = 100
const OVER_FLOOR = 4
const FLOOR_RISE = 0.002
const FLOOR_FALL = 0.2

export function createEnergyVad(): Vad {
  return {
    open({ sampleRate, onVoice }) {
      let floor = MIN_RMS / OVER_FLOOR
      return {
        push({ pcm, atMs }) {
          const level = rms(pcm)
          floor += (level - floor) * (level > floor ? FLOOR_RISE : FLOOR_FALL)
          const speech = level > Math.max(MIN_RMS, floor * OVER_FLOOR)
          onVoice({ probability: speech ? 1 : 0, atMs, windowMs: (pcm.length / sampleRate) * 1000 })
        },
        close() {},
      }
    },
  }
}
