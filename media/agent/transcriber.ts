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
/** Consecutive failures after which STT is out of order, */
const MOST_FAILURES = 3
/** and milliseconds from the first of them: STT that is overloaded for a moment costs no call. */
const OUT_MS = 10_000

const superseded = new Error('the caller spoke on')

export class Transcriber {
  #failures = 0
  #failingSinceMs = 0
  #current: AbortController | null = null
  /** Milliseconds that the last transcription took. */
  tookMs = 0
  readonly #options: ReaderOptions

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  /** True when nothing could be transcribed for so long that the call has to end. */
  get out(): boolean {
    const { clock } = this.#options
    return this.#failures >= MOST_FAILURES && clock.now() - this.#failingSinceMs >= OUT_MS
  }

  /** Ends a transcription that is pending: it was of a part of the same words. Returns null for that one. Never throws. */
  async read(fromMs: number, toMs: number): Promise<{ text: string; failed: boolean } | null> {
    const { stt, clock, log, signal } = this.#options
    const startedMs = clock.now()
    this.#current?.abort(superseded)
    const patience = new AbortController()
    this.#current = patience
    const cancel = clock.after(RECOGNISE_MS, () => patience.abort(new Error('transcription timed out')))
    const gaveUp = new Promise<never>((_, reject) => {
      patience.signal.addEventListener('abort', () => reject(patience.signal.reason))
    })
    try {
      const { text } = await Promise.race([
        stt.transcribe(fromMs, toMs, AbortSignal.any([signal, patience.signal])),
        gaveUp,
      ])
      this.#failures = 0
      return { text, failed: false }
    } catch (error) {
      if (patience.signal.reason === superseded) return null
      if (this.#failures++ === 0) this.#failingSinceMs = startedMs
      if (!signal.aborted) log.warn({ err: error }, 'transcription failed')
      return { text: '', failed: true }
    } finally {
      cancel()
      if (this.#current === patience) this.#current = null
      this.tookMs = clock.now() - startedMs
    }
  }
}
