/**
 * One answer of the agent, from the model to speech. It may start before the turn is certain: until its items are read,
 * no tool runs and nothing is played, and `abort` has no side effects.
 */

import type { Llm, LlmEvent, LlmRequest } from '../ports/llm.ts'
import type { SpeechChunk, Tts } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import { createSplitter } from './sentences.ts'

export type ReplyItem =
  | { type: 'sentence'; text: string; sound: AsyncIterable<SpeechChunk> }
  | Exclude<LlmEvent, { type: 'text' }>

export interface ReplyTimes {
  startedMs: number
  firstTokenMs: number | null
  firstSoundMs: number | null
}

export interface Reply {
  times: ReplyTimes
  /**
   * Items in order. Reading them commits: the reader speaks the sentences and runs the tools. Ends without error on
   * abort.
   */
  items(): AsyncIterable<ReplyItem>
  abort(): void
  signal: AbortSignal
}

export interface Voice {
  tts: Tts
  voice: string | null
  language: string
}

/** About five minutes of speech, as characters; a longer answer is cut, since such a model will not finish. */
const MAX_CHARS = 4000
/** Milliseconds without output after which a model has failed, so that the caller does not wait in silence. */
export const MODEL_SILENT_MS = 15_000

export function startReply(llm: Llm, request: LlmRequest, voice: Voice, clock: Clock): Reply {
  const controller = new AbortController()
  const { signal } = controller
  const patience = new AbortController()
  const times: ReplyTimes = { startedMs: clock.now(), firstTokenMs: null, firstSoundMs: null }
  const queue = createQueue<ReplyItem>()

  const speak = (text: string) => {
    const sound = buffered(voice.tts.speak({ text, voice: voice.voice, language: voice.language }, signal), () => {
      times.firstSoundMs ??= clock.now()
    })
    queue.push({ type: 'sentence', text, sound })
  }

  let cancelWait = () => {}
  const waitForModel = () => {
    cancelWait()
    cancelWait = clock.after(MODEL_SILENT_MS, () => {
      queue.fail(new Error('the text model does not respond'))
      patience.abort()
    })
  }

  void (async () => {
    const splitter = createSplitter()
    let chars = 0
    waitForModel()
    try {
      for await (const event of llm.respond(request, AbortSignal.any([signal, patience.signal]))) {
        times.firstTokenMs ??= clock.now()
        if (signal.aborted) break
        waitForModel()
        if (event.type === 'text') {
          // Cut before speaking: each sentence is a TTS request.
          const delta = event.delta.slice(0, MAX_CHARS + 1 - chars)
          chars += delta.length
          for (const sentence of splitter.push(delta)) speak(sentence)
          if (chars > MAX_CHARS) break
        } else {
          const rest = splitter.flush()
          if (rest) speak(rest)
          queue.push(event)
        }
      }
      const rest = splitter.flush()
      if (rest && !signal.aborted) speak(rest)
      queue.end()
    } catch (error) {
      if (signal.aborted) queue.end()
      else queue.fail(error)
    } finally {
      cancelWait()
    }
  })()

  return { times, signal, items: () => queue.read(signal), abort: () => controller.abort() }
}

/** Consumes `source` at once, so that synthesis starts before anybody reads the chunks. */
export function buffered(
  source: AsyncIterable<SpeechChunk>,
  onFirst: () => void = () => {},
): AsyncIterable<SpeechChunk> {
  const queue = createQueue<SpeechChunk>()
  void (async () => {
    try {
      let first = true
      for await (const chunk of source) {
        if (first) onFirst()
        first = false
        queue.push(chunk)
      }
      queue.end()
    } catch (error) {
      queue.fail(error)
    }
  })()
  return queue.read()
}

interface Queue<T> {
  push(item: T): void
  end(): void
  fail(error: unknown): void
  read(signal?: AbortSignal): AsyncIterable<T>
}

function createQueue<T>(): Queue<T> {
  const items: T[] = []
  let state: { done: false } | { done: true; error?: unknown } = { done: false }
  let wake = () => {}
  const change = (next: () => void) => {
    if (state.done) return // only the first end has an effect
    next()
    wake()
  }
  return {
    push: item => change(() => items.push(item)),
    end: () => change(() => (state = { done: true })),
    fail: error => change(() => (state = { done: true, error: error ?? new Error('failed') })),
    async *read(signal) {
      const aborted = signal ? new Promise<void>(resolve => signal.addEventListener('abort', () => resolve())) : null
      for (;;) {
        if (signal?.aborted) return
        if (items.length > 0) {
          yield items.shift()!
          continue
        }
        if (state.done) {
          if (state.error !== undefined) throw state.error
          return
        }
        const changed = new Promise<void>(resolve => (wake = resolve))
        await (aborted ? Promise.race([changed, aborted]) : changed)
      }
    },
  }
}
