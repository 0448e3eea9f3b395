/**
 * Caches the audio of repeated phrases (fillers, greetings, apologies), so that they start without delay and are paid
 * for once. In memory only; evicts the least recently used. One cache serves all voices of an engine.
 */

import type { SpeechChunk, Tts } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'

const MOST_BYTES = 24 * 1024 * 1024
/** Maximum size of one phrase, since a longer one would evict many. */
const LONGEST_BYTES = 2 * 1024 * 1024

interface Phrase {
  chunks: SpeechChunk[]
  bytes: number
  state: 'making' | 'made' | 'failed'
  error: unknown
  wake: Set<() => void>
}

/** `maker` identifies the source of the audio: phrases are never shared between makers. */
export type PhraseCache = (tts: Tts, maker: string) => Tts

/** Milliseconds after which stalled synthesis is given up; otherwise no later call could play this phrase. */
const HANGS_MS = 12_000

async function inTime<T>(clock: Pick<Clock, 'after'>, work: Promise<T>): Promise<T> {
  let cancel = () => {}
  const late = new Promise<never>((_, reject) => {
    cancel = clock.after(HANGS_MS, () => reject(new Error('speech synthesis stalled')))
  })
  try {
    return await Promise.race([work, late])
  } finally {
    cancel()
  }
}

export interface PhraseCacheOptions {
  mostBytes?: number
  clock: Pick<Clock, 'after'>
}

export function createPhraseCache({ mostBytes = MOST_BYTES, clock }: PhraseCacheOptions): PhraseCache {
  const phrases = new Map<string, Phrase>()
  let bytes = 0

  const drop = (key: string, phrase: Phrase) => {
    if (phrases.get(key) !== phrase) return
    phrases.delete(key)
    bytes -= phrase.bytes
  }
  const notify = (phrase: Phrase) => {
    for (const wake of phrase.wake) wake()
    phrase.wake.clear()
  }

  /** Synthesises to the end, even when the listener stops: the next one needs it, too. */
  async function make(tts: Tts, key: string, phrase: Phrase, options: Parameters<Tts['speak']>[0]): Promise<void> {
    const controller = new AbortController()
    try {
      const source = tts.speak(options, controller.signal)[Symbol.asyncIterator]()
      for (;;) {
        const { done, value: chunk } = await inTime(clock, source.next())
        if (done) break
        phrase.chunks.push(chunk)
        phrase.bytes += chunk.pcm.byteLength
        if (phrases.get(key) === phrase) bytes += chunk.pcm.byteLength
        notify(phrase)
      }
      phrase.state = 'made'
      if (phrase.bytes > LONGEST_BYTES || phrase.bytes === 0) drop(key, phrase)
    } catch (error) {
      phrase.state = 'failed'
      phrase.error = error
      drop(key, phrase)
    } finally {
      controller.abort()
    }
    notify(phrase)
    for (const [oldest, old] of phrases) {
      if (bytes <= mostBytes) break
      if (old.state === 'made') drop(oldest, old)
    }
  }

  async function* read(phrase: Phrase, signal: AbortSignal): AsyncGenerator<SpeechChunk> {
    const aborted = new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
    for (let at = 0; !signal.aborted; ) {
      const chunk = phrase.chunks[at]
      if (chunk) {
        at++
        yield chunk
      } else if (phrase.state === 'made') return
      else if (phrase.state === 'failed') throw phrase.error
      else await Promise.race([new Promise<void>(resolve => phrase.wake.add(resolve)), aborted])
    }
  }

  return (tts, maker) => ({
    speak(options, signal) {
      if (!options.keep) return tts.speak(options, signal)
      const key = JSON.stringify([maker, options.voice, options.language, options.text])
      let phrase = phrases.get(key)
      if (phrase)
        phrases.delete(key) // moves it to the most recent position
      else {
        phrase = { chunks: [], bytes: 0, state: 'making', error: null, wake: new Set() }
        void make(tts, key, phrase, options)
      }
      phrases.set(key, phrase)
      return read(phrase, signal)
    },
  })
}
