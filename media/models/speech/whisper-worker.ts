/** The thread that runs whisper.cpp (only importer of @napi-rs/whisper). */
import { parentPort, workerData } from 'node:worker_threads'
import { Whisper, WhisperFullParams, WhisperSamplingStrategy } from '@napi-rs/whisper'
import { pcmToFloat } from '../../audio/frames.ts'

const RATE = 16_000
/** Frames of the encoder are 20 ms; fewer than 512 and the decoder begins to loop. */
const LEAST_CONTEXT = 512
const MOST_CONTEXT = 1500
const FRAMES_PER_SECOND = 50
/** Nobody speaks faster; without a bound a loop takes a minute. */
const TOKENS_PER_SECOND = 12
/** Less is no word, and whisper.cpp refuses it. */
const LEAST_SAMPLES = RATE * 1.1

const whisper = new Whisper((workerData as { model: string }).model)

parentPort!.on('message', ({ id, pcm, language }: { id: number; pcm: Int16Array; language: string }) => {
  try {
    const sound = new Float32Array(Math.max(pcm.length, LEAST_SAMPLES))
    sound.set(pcmToFloat(pcm))
    const seconds = sound.length / RATE
    const params = new WhisperFullParams(WhisperSamplingStrategy.Greedy)
    params.language = language
    // Threads of whisper.cpp wait for one another by spinning: more than one is slower on a busy machine.
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
