/**
 * The offline models through sherpa-onnx (its only importer): Silero VAD v5, Moonshine tiny for English, a Piper voice.
 * Loaded in the speech process only; decoding runs on libuv's threads, so the process's loop stays free.
 */

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { floatToPcm, pcmToFloat } from '../../audio/frames.ts'

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
interface SherpaVad {
  acceptWaveform(samples: Float32Array): void
  isDetected(): boolean
  isEmpty(): boolean
  pop(): void
  reset(): void
}
interface Sherpa {
  OfflineRecognizer: { createAsync(config: object): Promise<SherpaRecognizer> }
  OfflineTts: { createAsync(config: object): Promise<SherpaTts> }
  Vad: new (config: object, bufferSeconds: number) => SherpaVad
}

export const MODEL_RATE = 16_000
const READY_DETECTORS = 4
const VAD_BUFFER_SECONDS = 35
/** Silero's window at 16 kHz. */
export const VAD_WINDOW = 512

export interface SpeechModels {
  /** 16 kHz. */
  transcribe(pcm: Int16Array): Promise<string>
  synthesize(text: string, speed: number): Promise<{ pcm: Int16Array; sampleRate: number }>
  detector(): Detector
}

/** For one call: windows of `VAD_WINDOW` samples in, speech or not out. */
export interface Detector {
  detect(window: Int16Array): boolean
  /** The call is over; the next may have it. */
  release(): void
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

/** Names of the files that are not there; empty when the models can be loaded. */
export const missingModels = (folder: string) => Object.values(FILES).filter(file => !existsSync(join(folder, file)))

export async function loadModels(folder: string, threads: number): Promise<SpeechModels> {
  const sherpa = createRequire(import.meta.url)('sherpa-onnx-node') as Sherpa
  const path = (name: keyof typeof FILES) => join(folder, FILES[name])
  const [recognizer, tts] = await Promise.all([
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
  ])
  const createVad = () =>
    new sherpa.Vad(
      {
        // Smallest durations: the raw decision of each window; how long speech or silence must last is not its business.
        sileroVad: {
          model: path('vad'),
          threshold: 0.5,
          minSilenceDuration: 0.03,
          minSpeechDuration: 0.03,
          windowSize: VAD_WINDOW,
          maxSpeechDuration: 30,
        },
        sampleRate: MODEL_RATE,
        numThreads: 1,
      },
      VAD_BUFFER_SECONDS,
    )
  // Each loads the model anew (66 ms, 10 MB), so the first calls find theirs ready and later ones inherit.
  const idle = Array.from({ length: READY_DETECTORS }, createVad)
  return {
    async transcribe(pcm) {
      const stream = recognizer.createStream()
      stream.acceptWaveform({ samples: pcmToFloat(pcm), sampleRate: MODEL_RATE })
      return (await recognizer.decodeAsync(stream)).text.trim()
    },
    async synthesize(text, speed) {
      const sound = await tts.generateAsync({ text, sid: 0, speed, enableExternalBuffer: false })
      return { pcm: floatToPcm(sound.samples), sampleRate: sound.sampleRate }
    },
    detector() {
      const vad = idle.pop() ?? createVad()
      return {
        detect(window) {
          vad.acceptWaveform(pcmToFloat(window))
          while (!vad.isEmpty()) vad.pop()
          return vad.isDetected()
        },
        release() {
          vad.reset()
          while (!vad.isEmpty()) vad.pop()
          idle.push(vad)
        },
      }
    },
  }
}
