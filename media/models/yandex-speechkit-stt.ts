/**
 * Yandex SpeechKit STT: synchronous recognition of API v1, one POST per utterance. Streaming (v2, v3) requires gRPC,
 * which is not worth the dependency: so the text arrives one request after the utterance's end.
 *
 * Sources: yandex.cloud/en/docs/speechkit/stt/api/request-api (query, `result`), stt/request (30 s, 1 MB, mono) and
 * concepts/response (error codes). It does not use the Fetch port, whose body is a string.
 */
import { z } from 'zod'
import { AudioHistory } from '../audio/audio-history.ts'
import type { Stt, SttStream, Transcript } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import { errorOfStatus, VendorError } from './vendor-error.ts'
import { parseJson } from './vendor-socket.ts'
import { yandexLanguage } from './yandex-speechkit-tts.ts'

const VENDOR = 'yandex-stt'

export interface YandexSttOptions {
  /** API key of a service account, which implies the folder. */
  apiKey: string
  clock: Clock
  baseUrl?: string
  /** Milliseconds to wait for the answer to `transcribe`; 5000 by default. */
  deadlineMs?: number
  fetch?: typeof globalThis.fetch
}

const DEADLINE_MS = 5000
const MIN_UTTERANCE_MS = 80
/** Longest piece: the API allows 30 s and 1 MB; at 48 kHz the bytes are the tighter limit. */
const MAX_PIECE_MS = 25_000
const MAX_PIECE_SAMPLES = 500_000
/** Milliseconds before the limit in which a pause is searched, so that no word is cut. */
const PAUSE_WINDOW_MS = 5000
const PAUSE_MS = 100
const Answer = z.object({ result: z.string() })

export function createYandexStt(options: YandexSttOptions): Stt {
  return {
    open({ sampleRate, language }): SttStream {
      const memory = new AudioHistory()
      const closed = new AbortController()
      const query = new URLSearchParams({
        lang: yandexLanguage(language),
        topic: 'general',
        format: 'lpcm',
        sampleRateHertz: String(sampleRate),
      })
      const url = `${options.baseUrl ?? 'https://stt.api.cloud.yandex.net'}/speech/v1/stt:recognize?${query}`
      return {
        push: frame => memory.push(frame),
        close: () => closed.abort(),
        async transcribe(fromMs, toMs, signal): Promise<Transcript> {
          const pcm = memory.slice(fromMs, toMs)
          if (pcm.length < (sampleRate / 1000) * MIN_UTTERANCE_MS) return { text: '', confidence: null }
          const stop = AbortSignal.any([signal, closed.signal])
          const pieces = cutAtPauses(pcm, sampleRate)
          const texts = await Promise.all(pieces.map(piece => recognise(options, url, piece, stop)))
          return { text: texts.filter(Boolean).join(' '), confidence: null }
        },
      }
    },
  }
}

/** Throws a `VendorError`, or a plain Error when aborted. */
async function recognise(options: YandexSttOptions, url: string, pcm: Int16Array, stop: AbortSignal): Promise<string> {
  const { apiKey, clock, fetch = globalThis.fetch, deadlineMs = DEADLINE_MS } = options
  const late = new AbortController()
  const cancelDeadline = clock.after(deadlineMs, () => late.abort())
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Api-Key ${apiKey}`, 'content-type': 'application/octet-stream' },
      body: bytesOf(pcm),
      signal: AbortSignal.any([stop, late.signal]),
      redirect: 'error', // it would carry the key and the audio to another server
    })
    const text = await response.text()
    if (!response.ok) {
      throw errorOfStatus(VENDOR, response.status, response.headers.get('retry-after'), clock.wall())
    }
    const answer = Answer.safeParse(parseJson(text))
    if (!answer.success) throw new VendorError(VENDOR, 'bad_answer', 'sent an invalid answer')
    return answer.data.result.trim()
  } catch (error) {
    if (stop.aborted) throw new Error('transcription aborted')
    if (error instanceof VendorError) throw error
    if (late.signal.aborted) throw new VendorError(VENDOR, 'timeout', 'did not answer in time')
    throw new VendorError(VENDOR, 'unavailable', 'connection lost')
  } finally {
    cancelDeadline()
  }
}

function bytesOf(pcm: Int16Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(pcm.length * 2)
  const view = new DataView(bytes.buffer)
  for (let i = 0; i < pcm.length; i++) view.setInt16(i * 2, pcm[i]!, true)
  return bytes
}

/** Splits audio into pieces of at most 25 s and 1 MB, each cut where its last 5 s are quietest. */
export function cutAtPauses(pcm: Int16Array, sampleRate: number): Int16Array[] {
  const perMs = sampleRate / 1000
  const most = Math.min(MAX_PIECE_MS * perMs, MAX_PIECE_SAMPLES)
  const pieces: Int16Array[] = []
  let rest = pcm
  while (rest.length > most) {
    let cut = most
    let quietest = Number.POSITIVE_INFINITY
    for (let at = most - PAUSE_WINDOW_MS * perMs; at + PAUSE_MS * perMs <= most; at += PAUSE_MS * perMs) {
      const loudness = rest.subarray(at, at + PAUSE_MS * perMs).reduce((sum, sample) => sum + Math.abs(sample), 0)
      if (loudness >= quietest) continue
      quietest = loudness
      cut = at + (PAUSE_MS / 2) * perMs
    }
    pieces.push(rest.subarray(0, cut))
    rest = rest.subarray(cut)
  }
  return [...pieces, rest]
}
