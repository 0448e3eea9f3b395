/** TTS over one HTTP response, played while it arrives; every error becomes a `VendorError`. */

import type { SpeechChunk } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import {
  createPcmReader,
  createSpeechQueue,
  isContainer,
  type SpeechDeadlines,
  type SpeechQueue,
} from './speech-queue.ts'
import { errorOfStatus, VendorError } from './vendor-error.ts'

export interface HttpSpeech {
  vendor: string
  url: string
  headers: Record<string, string>
  body: string
  /** Sample rate in Hz, when the response does not state it. */
  sampleRate: number
  clock: Clock
  deadlines?: SpeechDeadlines | undefined
  /** Replaces `fetch` to guard against SSRF when a customer chose the address. */
  fetch?: typeof globalThis.fetch | undefined
}

/** Yields 16-bit little-endian mono samples. Abort closes the connection and ends the iteration without an error. */
export async function* speakOverHttp(request: HttpSpeech, signal: AbortSignal): AsyncGenerator<SpeechChunk> {
  if (signal.aborted) return
  const stop = new AbortController()
  const queue = createSpeechQueue(request.vendor, request.clock, signal, request.deadlines)
  void receive(request, queue, stop.signal)
  try {
    yield* queue.read()
  } finally {
    stop.abort()
  }
}

async function receive(request: HttpSpeech, queue: SpeechQueue, signal: AbortSignal): Promise<void> {
  const { vendor, url, headers, body, clock, fetch = globalThis.fetch } = request
  try {
    // A redirect would carry the key and the text to another server.
    const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' })
    const problem = problemOf(vendor, response, clock)
    if (problem || !response.body) {
      await response.body?.cancel()
      return queue.fail(problem ?? new VendorError(vendor, 'bad_answer', 'sent no audio'))
    }
    const rate = /\brate=(\d{4,6})\b/.exec(response.headers.get('content-type') ?? '')?.[1]
    const sampleRate = rate ? Number(rate) : request.sampleRate
    const read = createPcmReader()
    let first = true
    for await (const bytes of response.body) {
      if (first && isContainer(bytes))
        return queue.fail(new VendorError(vendor, 'bad_answer', 'sent a file instead of raw samples'))
      first = false
      queue.push({ pcm: read(bytes), sampleRate })
    }
    queue.end()
  } catch {
    queue.fail(new VendorError(vendor, 'unavailable', 'connection lost'))
  }
}

function problemOf(vendor: string, response: Response, clock: Clock): VendorError | null {
  if (!response.ok) return errorOfStatus(vendor, response.status, response.headers.get('retry-after'), clock.wall())
  const type = response.headers.get('content-type') ?? ''
  // Some servers name samples application/octet-stream or audio/pcm, some state no type.
  const other = /json|^text\/|mpeg|wav|ogg|opus|aac|flac/i.test(type)
  return other ? new VendorError(vendor, 'bad_answer', 'sent another content type instead of raw samples') : null
}
