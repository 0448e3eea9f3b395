/** The thread that runs whisper.cpp (@napi-rs/whisper is imported only here). */
import { parentPort, workerData } from 'node:worker_threads'
import { Whisper, WhisperFullParams, WhisperSamplingStrategy } from '@napi-rs/whisper'
import { pcmToFloat } from '../../audio/frames.ts'

const RATE = 16_000
/** Encoder frames (20 ms each); below 512 the decoder starts to loop. */
const LEAST_CONTEXT = 512
const MOST_CONTEXT = 1500
const FRAMES_PER_SECOND = 50
/** Faster than anybody speaks; without a limit a decoder loop takes a minute. */
const TOKENS_PER_SECOND = 12
/** Minimum length: shorter audio contains no word, and whisper.cpp rejects it. */
const LEAST_SAMPLES = RATE * 1.1

const whisper = new Whisper((workerData as { model: string }).model)

parentPort!.on('message', ({ id, pcm, language }: { id: number; pcm: Int16Array; language: string }) => {
  try {
    const sound = new Float32Array(Math.max(pcm.length, LEAST_SAMPLES))
    sound.set(pcmToFloat(pcm))
    const seconds = sound.length / RATE
    const params = new WhisperFullParams(WhisperSamplingStrategy.Greedy)
    params.language = language
    // whisper.cpp's threads wait for each other by spinning: more than one is slower on a busy machine.
    params.nThreads = 1
    params.audioCtx = Math.min(MOST_CONTEXT, Math.max(LEAST_CONTEXT, Math.ceil(seconds * FRAMES_PER_SECOND) + 64))
    params.maxTokens = Math.ceil(seconds * TOKENS_PER_SECOND) + 16
    params.noTimestamps = true
    params.singleSegment = true
    params.noContext = true
    params.suppressNonSpeechTokens = true
    params.printProgress = false
    params.printRealtime = false
    params.printTimestamps = false
    parentPort!.postMessage({ id, text: whisper.full(params, sound) })
  } catch (error) {
    parentPort!.postMessage({ id, error: (error as Error).message })
  }
})
