/** Plays a clip of the corpus to the detector as a call would, with real or with recorded speech-to-text. */

import { type LoudnessState, listenLevel, quiet } from '../../../media/agent/loudness.ts'
import { silent, stepVad } from '../../../media/agent/vad-hysteresis.ts'
import {
  type AnsweringEffect,
  type AnsweringInput,
  type Evidence,
  initialAnswering,
  stepAnswering,
} from '../../../media/answering/detector.ts'
import { measureTone } from '../../../media/answering/tones.ts'
import { createChunker } from '../../../media/audio/frames.ts'
import type { AudioFrame } from '../../../media/ports/leg.ts'
import type { VoiceFrame } from '../../../media/ports/speech.ts'
import { RATE, type Sound } from '../../corpus/answering/sounds.ts'

export interface SttReader {
  windows: readonly VoiceFrame[]
  /** Null without speech-to-text. */
  transcribe(fromMs: number, toMs: number): Promise<{ text: string; tookMs: number } | null>
}

export interface Judged {
  /** Results of the detector, with times from the far end's first sound. */
  results: (Evidence & { afterMs: number })[]
  asked: number
  speak: { rule: string; atMs: number } | null
}

const TICK_MS = 100

export const framesOf = (pcm: Int16Array): AudioFrame[] =>
  createChunker(RATE / 50)
    .push(pcm)
    .map((frame, i) => ({ pcm: frame, atMs: (i + 1) * 20, concealed: false }))

export async function judgeSound(sound: Sound, stt: SttReader): Promise<Judged> {
  let state = initialAnswering(0)
  let loudness: LoudnessState = quiet
  let voice = silent
  const windows = [...stt.windows]
  const answers: (AnsweringInput & { type: 'transcript' })[] = []
  const judged: Judged = { results: [], asked: 0, speak: null }

  const feed = async (input: AnsweringInput) => {
    const step = stepAnswering(state, input)
    state = step.state
    for (const effect of step.effects) await perform(effect, input.atMs)
  }
  const perform = async (effect: AnsweringEffect, nowMs: number) => {
    if (effect.type === 'result') judged.results.push({ ...effect, afterMs: effect.atMs - sound.voiceMs })
    if (effect.type === 'speak') judged.speak ??= { rule: effect.rule, atMs: effect.atMs }
    if (effect.type !== 'transcribe') return
    judged.asked++
    const read = await stt.transcribe(effect.fromMs, effect.toMs)
    answers.push({ ...effect, type: 'transcript', text: read?.text ?? null, atMs: nowMs + (read?.tookMs ?? 0) })
  }

  for (const frame of framesOf(sound.pcm)) {
    const { atMs } = frame
    loudness = listenLevel(loudness, frame)
    await feed({ type: 'sound', measure: measureTone(frame.pcm, RATE), atMs })
    while (windows.length > 0 && windows[0]!.atMs <= atMs) {
      const heard = stepVad(voice, windows.shift()!)
      voice = heard.state
      await feed({ type: 'voice', ...heard.reading, loudMs: loudness.lastMs })
    }
    while (answers.length > 0 && answers[0]!.atMs <= atMs) await feed({ ...answers.shift()!, atMs })
    if (atMs % TICK_MS === 0) await feed({ type: 'tick', atMs })
  }
  return judged
}

/** Returns the result that was current at this time after the first sound. */
export const resultAt = ({ results }: Judged, afterMs: number) =>
  results.findLast(result => result.afterMs <= afterMs) ?? null
