/** Speech for tests: the stack's speech process produces callers' audio and transcribes agents' audio. */
import { writeFileSync } from 'node:fs'
import { systemClock } from '../../infra/adapters/clock.ts'
import { concatPcm, frameSamples, rms } from '../../media/audio/frames.ts'
import { createResampler } from '../../media/audio/resample.ts'
import { encodeWav } from '../../media/audio/wav.ts'
import { createSpeechClient } from '../../media/models/speech/client.ts'
import type { Clock } from '../../media/shared/clock.ts'
import { PATIENCE, quietLog } from './world.ts'

export const RATE = 8000
const FRAME = frameSamples(RATE)
const TAKES = 8

export interface SpeechKit {
  /**
   * The sentence as 8 kHz audio, in the clearest of several takes: the voice varies, and a take that is not recognised
   * directly is not recognised on a call either.
   */
  say(text: string): Promise<Int16Array>
  /** Transcribes the audio, utterance by utterance. */
  read(pcm: Int16Array): Promise<Heard[]>
  close(): void
}

export interface Heard {
  text: string
  /** Milliseconds from the start of the audio. */
  startMs: number
  endMs: number
}

export async function createSpeechKit(port: number): Promise<SpeechKit> {
  // Speech in tests is not part of a call, so its deadlines are longer.
  const clock: Clock = { ...systemClock, after: (ms, run) => systemClock.after(ms * PATIENCE, run) }
  const client = createSpeechClient({ host: '127.0.0.1', port, clock, log: quietLog })
  await client.ready
  const never = new AbortController().signal
  const speak = async (text: string): Promise<Int16Array> => {
    const parts: Int16Array[] = []
    let resampler: ReturnType<typeof createResampler> | null = null
    for await (const { pcm, sampleRate } of client.tts.speak({ text, voice: null, language: 'en' }, never)) {
      resampler ??= createResampler(sampleRate, RATE)
      parts.push(resampler.push(pcm).slice())
    }
    if (resampler) parts.push(resampler.flush().slice())
    return concatPcm(parts)
  }
  const readWhole = async (pcm: Int16Array): Promise<string> => {
    const stt = client.stt.open({ sampleRate: RATE, language: 'en' })
    stt.push({ pcm: padded(pcm), atMs: 0, concealed: false })
    const { text } = await stt.transcribe(0, 0, never)
    stt.close()
    return text
  }
  return {
    async say(text) {
      let best: { pcm: Int16Array; errors: number } = { pcm: new Int16Array(0), errors: Number.POSITIVE_INFINITY }
      for (let take = 0; take < TAKES && best.errors > 0; take++) {
        const pcm = await speak(text)
        const errors = wordErrors(text, await readWhole(pcm))
        if (errors < best.errors) best = { pcm, errors }
      }
      return best.pcm
    },
    async read(pcm) {
      const heard: Heard[] = []
      for (const { from, to } of utterancesIn(pcm)) {
        const text = await readWhole(pcm.subarray(from, to))
        if (text.trim() !== '') heard.push({ text, startMs: (from / RATE) * 1000, endMs: (to / RATE) * 1000 })
      }
      return heard
    },
    close: () => client.close(),
  }
}

/** Adds silence on both sides, which recognition needs. */
const padded = (pcm: Int16Array) => concatPcm([silence(200), pcm, silence(200)])

export const silence = (ms: number) => new Int16Array((RATE / 1000) * ms)
export const wavOf = (file: string, ...parts: Int16Array[]) =>
  writeFileSync(file, encodeWav({ sampleRate: RATE, channels: 1, pcm: concatPcm(parts) }))

export const QUIET = 60
const GAP_MS = 600

/** Utterances, separated by pauses longer than those inside a sentence. */
function utterancesIn(pcm: Int16Array): { from: number; to: number }[] {
  const found: { from: number; to: number }[] = []
  for (let at = 0; at + FRAME <= pcm.length; at += FRAME) {
    if (rms(pcm.subarray(at, at + FRAME)) < QUIET) continue
    const last = found.at(-1)
    if (last && at - last.to < (RATE / 1000) * GAP_MS) last.to = at + FRAME
    else found.push({ from: at, to: at + FRAME })
  }
  return found.filter(({ from, to }) => to - from > (RATE / 1000) * 200)
}

const words = (text: string) =>
  text
    .toLowerCase()
    .replace(/[’']/g, '')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .split(' ')
    .filter(Boolean)

/** Word error rate: edits divided by the number of words spoken. */
export const wordErrors = (said: string, heard: string) => editRate(words(said), words(heard))

/**
 * Letter error rate: edits divided by the number of letters spoken. The synthetic voice is never twice the same, and the small recogniser writes "their" for
 * "they are": half a sentence of wrong words can be a tenth of wrong letters, while a lost word costs as much in both.
 */
export const letterErrors = (said: string, heard: string) =>
  editRate([...words(said).join('')], [...words(heard).join('')])

function editRate(a: readonly string[], b: readonly string[]): number {
  let row = b.map((_, i) => i + 1)
  row.unshift(0)
  for (const [i, one] of a.entries()) {
    const next = [i + 1]
    for (const [j, other] of b.entries())
      next.push(Math.min(row[j + 1]! + 1, next[j]! + 1, row[j]! + (one === other ? 0 : 1)))
    row = next
  }
  return a.length === 0 ? (b.length === 0 ? 0 : 1) : row.at(-1)! / a.length
}
