/**
 * Speech-to-text and VAD for the corpus: the real models in the speech process, and their recorded output for each
 * clip.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { silent, stepVad } from '../../../media/agent/vad-hysteresis.ts'
import type { SpeechClient } from '../../../media/models/speech/client.ts'
import type { VoiceFrame } from '../../../media/ports/speech.ts'
import { framesOf, type SttReader } from '../../media/answering/listening.ts'
import { until } from '../../support/world.ts'
import { type Clip, FOLDER, RATE, type Sound } from './sounds.ts'

/** One clip a line: `[id, Recorded]`. */
const FILE = join(FOLDER, 'recorded.jsonl')
const never = new AbortController().signal
/** Milliseconds that Moonshine needs for three seconds of speech on one thread, including its queue. */
const RECORDED_TOOK_MS = 150
const GRID_MS = 100
const PREROLL_MS = 320

/** Recorded output of Silero and Moonshine for one clip. */
export interface Recorded {
  window_ms: number
  first_ms: number
  /** Windows: how many are silent, then how many are voice, and so on. */
  runs: number[]
  /** Text of the sound from a little before the first voice to this time, where it changed. */
  texts: [number, string][] | null
}

export function readRecorded(): Record<string, Recorded> {
  if (!existsSync(FILE)) return {}
  const lines = readFileSync(FILE, 'utf8').trim().split('\n')
  return Object.fromEntries(lines.map(line => JSON.parse(line) as [string, Recorded]))
}
export const RECORDED_FILE = FILE

export async function liveStt(client: SpeechClient, clip: Clip, sound: Sound): Promise<SttReader> {
  const windows: VoiceFrame[] = []
  const vad = client.vad.open({ sampleRate: RATE, onVoice: frame => windows.push(frame) })
  const stt = client.stt.open({ sampleRate: RATE, language: clip.language })
  const frames = framesOf(sound.pcm)
  for (const frame of frames) {
    vad.push(frame)
    stt.push(frame)
  }
  const endMs = frames.at(-1)!.atMs
  await until(() => (windows.at(-1)?.atMs ?? 0) > endMs - 64)
  vad.close()
  return {
    windows,
    async transcribe(fromMs, toMs) {
      const startedMs = performance.now()
      try {
        const { text } = await stt.transcribe(fromMs, toMs, never)
        return { text, tookMs: performance.now() - startedMs }
      } catch {
        return null
      }
    },
  }
}

export function recordedStt({ window_ms, first_ms, runs, texts }: Recorded): SttReader {
  const windows: VoiceFrame[] = []
  for (const [i, count] of runs.entries())
    for (let n = 0; n < count; n++) {
      // The engine names a window by the frame that completed it.
      const atMs = Math.ceil((first_ms + windows.length * window_ms) / 20) * 20
      windows.push({ probability: i % 2, atMs, windowMs: window_ms })
    }
  return {
    windows,
    async transcribe(_fromMs, toMs) {
      if (texts === null) return null
      return { text: texts.findLast(([untilMs]) => untilMs <= toMs + GRID_MS / 2)?.[1] ?? '', tookMs: RECORDED_TOOK_MS }
    },
  }
}

/** Listens to a clip once and writes down all that any detector may ask. */
export async function record(stt: SttReader, sound: Sound, hasWords: boolean): Promise<Recorded> {
  const runs: number[] = []
  let voice = silent
  let startMs: number | null = null
  let value = 0
  let count = 0
  for (const window of stt.windows) {
    const heard = stepVad(voice, window)
    voice = heard.state
    if (heard.reading.voiced) startMs ??= window.atMs - 2 * window.windowMs
    if (window.probability !== value) {
      runs.push(count)
      value = window.probability
      count = 0
    }
    count++
  }
  runs.push(count)
  const { windowMs, atMs } = stt.windows[0]!
  const texts: [number, string][] = []
  const lastMs = Math.min(sound.pcm.length / 8, (startMs ?? 0) + 6500)
  for (let toMs = (startMs ?? lastMs) + 300; hasWords && toMs < lastMs; toMs += GRID_MS) {
    const read = await stt.transcribe(startMs! - PREROLL_MS, toMs)
    if (read && read.text !== (texts.at(-1)?.[1] ?? '')) texts.push([Math.round(toMs), read.text])
  }
  return { window_ms: windowMs, first_ms: atMs === 40 ? 32 : atMs, runs, texts: hasWords ? texts : null }
}
