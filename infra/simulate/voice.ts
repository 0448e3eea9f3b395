/** The caller's audio: a recording when the scenario names one, otherwise the offline voice. */
import { readFileSync } from 'node:fs'
import { extname, resolve } from 'node:path'
import { concatPcm, createChunker, rms } from '../../media/audio/frames.ts'
import { decodeG711 } from '../../media/audio/g711.ts'
import { createResampler } from '../../media/audio/resample.ts'
import { decodeWav } from '../../media/audio/wav.ts'
import type { Tts } from '../../media/ports/speech.ts'
import { PHONE_FRAME, PHONE_RATE } from '../telephone/audio.ts'
import { ScenarioError, type Speech } from './scenario.ts'

/** Level relative to the peak (−26 dB) below which frames are trimmed from both ends of a clip. */
const UNDER_PEAK = 0.05
const ULAW = 7
const PCM16 = 1

export interface Voices {
  /** The words as whole frames, with the requested pauses. */
  sound(speech: Partial<Speech>, language: string, folder: string): Promise<Int16Array>
}

/** `tts` is called for the first line without a recording. */
export function createVoices(tts: () => Promise<Tts>): Voices {
  const part = async (words: string, language: string) => trimmed(await synthesise(await tts(), words, language))
  return {
    async sound({ say = '', file, pause_ms = 0 }, language, folder) {
      if (file) return trimmed(readClip(resolve(folder, file)))
      const parts: Int16Array[] = []
      for (const [i, words] of say
        .split('…')
        .filter(text => text.trim() !== '')
        .entries()) {
        if (i > 0) parts.push(wholeFrames(new Int16Array((PHONE_RATE / 1000) * pause_ms)))
        parts.push(await part(words, language))
      }
      return concatPcm(parts)
    },
  }
}

async function synthesise(tts: Tts, text: string, language: string): Promise<Int16Array> {
  const parts: Int16Array[] = []
  let resampler: ReturnType<typeof createResampler> | null = null
  for await (const { pcm, sampleRate } of tts.speak({ text, voice: null, language }, AbortSignal.timeout(60_000))) {
    resampler ??= createResampler(sampleRate, PHONE_RATE)
    parts.push(resampler.push(pcm).slice())
  }
  if (resampler) parts.push(resampler.flush().slice())
  return concatPcm(parts)
}

export function readClip(file: string): Int16Array {
  try {
    const bytes = readFileSync(file)
    if (extname(file) === '.ul') return decodeG711('PCMU', bytes)
    const format = bytes.readUInt16LE(20)
    if (format === ULAW) return decodeG711('PCMU', bytes.subarray(bytes.indexOf('data') + 8))
    if (format !== PCM16) throw new Error('not 16-bit PCM or µ-law')
    const { pcm, sampleRate, channels } = decodeWav(bytes)
    if (channels !== 1) throw new Error('not mono')
    const resampler = createResampler(sampleRate, PHONE_RATE)
    return concatPcm([resampler.push(pcm).slice(), resampler.flush().slice()])
  } catch (error) {
    throw new ScenarioError(`${file}: cannot play the file: ${(error as Error).message}`)
  }
}

function trimmed(pcm: Int16Array): Int16Array {
  const frames = createChunker(PHONE_FRAME).push(wholeFrames(pcm))
  const levels = frames.map(rms)
  const limit = Math.max(...levels) * UNDER_PEAK
  const loud = (level: number) => level > limit
  return concatPcm(frames.slice(levels.findIndex(loud), levels.findLastIndex(loud) + 1))
}

function wholeFrames(pcm: Int16Array): Int16Array {
  const whole = new Int16Array(Math.ceil(pcm.length / PHONE_FRAME) * PHONE_FRAME)
  whole.set(pcm)
  return whole
}
