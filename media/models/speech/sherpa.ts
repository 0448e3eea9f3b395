/**
 * The offline models: Moonshine tiny for English and a Piper voice through sherpa-onnx (imported only here), and Silero
 * VAD v5. Loaded in the speech process only; decoding runs on libuv's threads, so the event loop stays free.
 */

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { floatToPcm, pcmToFloat, rms } from '../../audio/frames.ts'
import { type Detector, loadSilero, MODEL_RATE, type Report } from './silero.ts'

interface SherpaStream {
  acceptWaveform(wave: { samples: Float32Array; sampleRate: number }): void
}
interface SherpaRecognizer {
  createStream(): SherpaStream
  decodeAsync(stream: SherpaStream): Promise<{ text: string }>
}
interface SherpaTts {
  sampleRate: number
  generateAsync(request: {
    text: string
    sid: number
    speed: number
    enableExternalBuffer: boolean
  }): Promise<{ samples: Float32Array; sampleRate: number }>
}
interface Sherpa {
  OfflineRecognizer: { createAsync(config: object): Promise<SherpaRecognizer> }
  OfflineTts: { createAsync(config: object): Promise<SherpaTts> }
}

export interface SpeechModels {
  /** `pcm` has 16 kHz. */
  transcribe(pcm: Int16Array): Promise<string>
  synthesize(text: string, speed: number): Promise<{ pcm: Int16Array; sampleRate: number }>
  detector(report: Report): Detector
}

const FILES = {
  vad: 'vad/silero_vad.onnx',
  encoder: 'moonshine/encoder_model.ort',
  decoder: 'moonshine/decoder_model_merged.ort',
  sttTokens: 'moonshine/tokens.txt',
  voice: 'piper/joe.onnx',
  ttsTokens: 'piper/tokens.txt',
  espeak: 'espeak-ng-data',
} as const

/** Returns the names of missing files; empty when the models can be loaded. */
export const missingModels = (folder: string) => Object.values(FILES).filter(file => !existsSync(join(folder, file)))

export async function loadModels(folder: string, threads: number): Promise<SpeechModels> {
  const sherpa = createRequire(import.meta.url)('sherpa-onnx-node') as Sherpa
  const path = (name: keyof typeof FILES) => join(folder, FILES[name])
  const [recognizer, tts, silero] = await Promise.all([
    sherpa.OfflineRecognizer.createAsync({
      featConfig: { sampleRate: MODEL_RATE, featureDim: 80 },
      modelConfig: {
        moonshine: { encoder: path('encoder'), mergedDecoder: path('decoder') },
        tokens: path('sttTokens'),
        numThreads: threads,
        provider: 'cpu',
      },
    }),
    sherpa.OfflineTts.createAsync({
      model: {
        vits: { model: path('voice'), tokens: path('ttsTokens'), dataDir: path('espeak') },
        numThreads: threads,
      },
      maxNumSentences: 1,
    }),
    loadSilero(path('vad')),
  ])
  return {
    async transcribe(pcm) {
      const texts: string[] = []
      for (const piece of readablePieces(pcm)) {
        const stream = recognizer.createStream()
        stream.acceptWaveform({ samples: pcmToFloat(piece), sampleRate: MODEL_RATE })
        texts.push((await recognizer.decodeAsync(stream)).text.trim())
      }
      return texts.filter(text => text !== '').join(' ')
    },
    async synthesize(text, speed) {
      const sound = await tts.generateAsync({ text, sid: 0, speed, enableExternalBuffer: false })
      return { pcm: floatToPcm(sound.samples), sampleRate: sound.sampleRate }
    },
    detector: report => silero.detector(report),
  }
}

/** Longest piece in seconds: Moonshine's decoder returns nothing from 9 s of audio on. */
const READABLE_S = 8
const LEAST_S = 5
const STEP_S = 0.1

/** Splits audio that is too long for one transcription where it is quietest. */
export function readablePieces(pcm: Int16Array): Int16Array[] {
  const pieces: Int16Array[] = []
  let rest = pcm
  while (rest.length > READABLE_S * MODEL_RATE) {
    let cut = READABLE_S * MODEL_RATE
    let quietest = Number.POSITIVE_INFINITY
    for (let s = LEAST_S; s + STEP_S <= READABLE_S; s += STEP_S) {
      const level = rms(rest.subarray(s * MODEL_RATE, (s + STEP_S) * MODEL_RATE))
      if (level >= quietest) continue
      quietest = level
      cut = Math.round((s + STEP_S / 2) * MODEL_RATE)
    }
    pieces.push(rest.subarray(0, cut))
    rest = rest.subarray(cut)
  }
  pieces.push(rest)
  return pieces
}
