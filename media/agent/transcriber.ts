/** Transcribes utterances of the caller by STT that may fail or hang. */

import type { SttStream } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'

export interface ReaderOptions {
  stt: Pick<SttStream, 'transcribe'>
  clock: Clock
  log: Log
  /** Aborts when the call is over. */
  signal: AbortSignal
}

/** Milliseconds after which a pending transcription counts as failed. */
const RECOGNISE_MS = 6000

export class Transcriber {
  /** Number of consecutive failures. */
  failures = 0
  /** Milliseconds that the last transcription took. */
  tookMs = 0
  readonly #options: ReaderOptions

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  /** Never throws. */
  async read(fromMs: number, toMs: number): Promise<{ text: string; failed: boolean }> {
    const { stt, clock, log, signal } = this.#options
    const startedMs = clock.now()
    const patience = new AbortController()
    const cancel = clock.after(RECOGNISE_MS, () => patience.abort(new Error('transcription timed out')))
    const gaveUp = new Promise<never>((_, reject) => {
      patience.signal.addEventListener('abort', () => reject(patience.signal.reason))
    })
    try {
      const { text } = await Promise.race([
        stt.transcribe(fromMs, toMs, AbortSignal.any([signal, patience.signal])),
        gaveUp,
      ])
      this.failures = 0
      return { text, failed: false }
    } catch (error) {
      this.failures++
      if (!signal.aborted) log.warn({ err: error }, 'transcription failed')
      return { text: '', failed: true }
    } finally {
      cancel()
      this.tookMs = clock.now() - startedMs
    }
  }
}
