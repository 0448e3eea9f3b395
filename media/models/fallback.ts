/**
 * Combines several providers behind one port, in the project's order. When one fails before its first audio or word,
 * the next gets the same request within the turn. Afterwards nothing is repeated, since the caller would hear the words
 * twice. Another TTS continues with the words that were not played; no other text model can complete an answer that one
 * has begun.
 */
import { heardText } from '../agent/heard.ts'
import type { ProviderSwitch } from '../contract/messages.ts'
import type { AudioFrame } from '../ports/leg.ts'
import type { Llm, LlmEvent, LlmRequest, WrapUp, WrapUpRequest } from '../ports/llm.ts'
import type { SpokenWord, Stt, SttStream, Transcript, Tts } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import { afterFailure, type CircuitBreaker, inOrder, toVendorError } from './circuit-breaker.ts'
import { VendorError } from './vendor-error.ts'

export type Switch = ProviderSwitch

export interface FallbackOptions {
  clock: Clock
  /** Reports a switch for the call record. */
  onSwitch(event: Switch): void
  /** Circuit breakers by provider; calls that share the map learn from each other. */
  breakers?: Map<string, CircuitBreaker>
  /** Milliseconds to the first item after which a provider has failed, unless it is the last one. */
  firstMs?: number
}

const FIRST_SOUND_MS = 2500
const FIRST_WORD_MS = 6000
/** Timeout in ms for a call record, which is returned as a whole. */
const WHOLE_ANSWER_MS = 7000

/** Text without letters or digits may have no audio. */
const SPEAKABLE = /[\p{L}\p{N}]/u

/** `id`: key of its breaker, when the name does not suffice because the vendor may work with one API key only. */
type Provider = { name: string; id?: string }
/** `voice`: the voice's name at this vendor, which replaces the call's. */
export type TtsProvider = Provider & { tts: Tts; voice?: string | null }
export type SttProvider = Provider & { stt: Stt }
export type LlmProvider = Provider & { llm: Llm }

export function fallbackTts(list: readonly TtsProvider[], options: FallbackOptions): Tts {
  const chain = createChain('tts', list, options)
  const firstMs = options.firstMs ?? FIRST_SOUND_MS
  return {
    async *speak(asked, signal) {
      let soundMs = 0
      /** Start of the current provider's audio in ms. */
      let fromMs = 0
      const words: SpokenWord[] = []
      const rest = () => asked.text.slice(givenText(asked.text, soundMs, words).length).trim()
      const begin = ({ tts, voice = asked.voice }: TtsProvider, inner: AbortSignal) => {
        fromMs = soundMs
        const part = soundMs === 0 ? {} : { text: rest(), keep: false }
        return tts.speak({ ...asked, voice, ...part }, inner)
      }
      const afterBreak = () => (rest() === '' ? 'done' : 'go on')
      const how = { firstMs, stallMs: firstMs, mustSay: SPEAKABLE.test(asked.text), afterBreak }
      for await (const { pcm, sampleRate, words: timings } of chain.stream(begin, signal, how)) {
        const timed = timings?.map(({ text, startMs, endMs }) => ({
          text,
          startMs: startMs + fromMs,
          endMs: endMs + fromMs,
        }))
        soundMs += (pcm.length * 1000) / sampleRate
        if (timed) words.push(...timed)
        yield timed ? { pcm, sampleRate, words: timed } : { pcm, sampleRate }
      }
    },
  }
}

/** Text covered by that much audio: by the vendor's timings where there are any, else estimated. */
function givenText(text: string, soundMs: number, words: readonly SpokenWord[]): string {
  const timedMs = Math.min(soundMs, (words.at(-1)?.endMs ?? 0) - 1)
  const sure = timedMs > 0 ? heardText({ text, playedMs: timedMs, totalMs: null, words }) : ''
  const likely = heardText({ text, playedMs: soundMs, totalMs: null })
  return words.length > 0 ? sure : likely
}

export function fallbackLlm(list: readonly LlmProvider[], options: FallbackOptions): Llm {
  const chain = createChain('llm', list, options)
  const firstMs = options.firstMs ?? FIRST_WORD_MS
  return {
    respond: (request: LlmRequest, signal) =>
      chain.stream<LlmEvent>(({ llm }, inner) => llm.respond(request, inner), signal, { firstMs, mustSay: true }),
    wrapUp: (request: WrapUpRequest, signal) =>
      chain.ask<WrapUp>(({ llm }, inner) => llm.wrapUp(request, inner), signal),
  }
}

/** Stays with the provider that it switched to for the rest of the call, because that one has the audio so far. */
export function fallbackStt(list: readonly SttProvider[], options: FallbackOptions): Stt {
  const chain = createChain('stt', list, options)
  return { open: settings => new FallbackStream(chain, settings) }
}

/** The continuation of a failure after the first audio or word. `done`: nothing was left to say. */
type AfterBreak = 'go on' | 'done' | 'fail'

interface StreamOptions {
  firstMs: number
  /** Milliseconds between two items after which the provider has failed. */
  stallMs?: number
  afterBreak?: () => AfterBreak
  /** An empty answer is a failure. */
  mustSay?: boolean
}

type Chain<P extends Provider> = ReturnType<typeof createChain<P>>

function createChain<P extends Provider>(kind: Switch['kind'], list: readonly P[], options: FallbackOptions) {
  if (list.length === 0) throw new RangeError(`No ${kind} provider is configured`)
  const { clock, breakers = new Map<string, CircuitBreaker>(), onSwitch } = options
  const order = () => inOrder(list, breakers, clock.now())
  const succeeded = ({ name, id = name }: P) => void breakers.delete(id)
  /** Records the failure and returns the error to throw. */
  const failed = ({ name, id = name }: P, thrown: unknown, next: P | undefined): VendorError => {
    const error = toVendorError(name, thrown, clock.wall())
    breakers.set(id, afterFailure(breakers.get(id) ?? { failures: 0, openUntilMs: 0 }, error, clock.now()))
    onSwitch({ kind, from: name, to: next?.name ?? null, code: error.code })
    return error
  }

  async function* stream<T>(
    start: (provider: P, signal: AbortSignal) => AsyncIterable<T>,
    signal: AbortSignal,
    { firstMs, stallMs, afterBreak = () => 'fail', mustSay = false }: StreamOptions,
  ): AsyncGenerator<T> {
    const providers = order()
    for (const [i, provider] of providers.entries()) {
      let begun = false
      // The last provider has no time limit, since there is none to switch to.
      const patience = providers[i + 1] ? { firstMs, stallMs: stallMs ?? null } : { firstMs: null, stallMs: null }
      try {
        const begin = (inner: AbortSignal) => start(provider, inner)
        for await (const item of startInTime(provider.name, begin, signal, clock, patience)) {
          if (signal.aborted) return
          begun = true
          yield item
        }
        if (signal.aborted) return
        if (!begun && mustSay) throw new VendorError(provider.name, 'bad_answer', 'returned an empty answer')
        succeeded(provider)
        return
      } catch (thrown) {
        if (signal.aborted) return
        const then = begun ? afterBreak() : 'go on'
        const next = then === 'go on' ? providers[i + 1] : undefined
        const error = failed(provider, thrown, next)
        if (then === 'done') return
        if (!next) throw error
      }
    }
  }

  async function ask<T>(run: (provider: P, signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const providers = order()
    for (const [i, provider] of providers.entries()) {
      const maxWaitMs = providers[i + 1] ? WHOLE_ANSWER_MS : null
      try {
        const answer = await inTime(provider.name, inner => run(provider, inner), signal, clock, maxWaitMs)
        succeeded(provider)
        return answer
      } catch (thrown) {
        if (signal.aborted) throw thrown
        const error = failed(provider, thrown, providers[i + 1])
        if (!providers[i + 1]) throw error
      }
    }
    throw new RangeError(`No ${kind} provider is configured`)
  }
  return { order, succeeded, failed, stream, ask }
}

/** Iterates; throws a `timeout` when an item does not arrive in time. Aborts the source whenever the iteration ends. */
async function* startInTime<T>(
  name: string,
  start: (signal: AbortSignal) => AsyncIterable<T>,
  outer: AbortSignal,
  clock: Clock,
  { firstMs, stallMs }: { firstMs: number | null; stallMs: number | null },
): AsyncGenerator<T> {
  const controller = new AbortController()
  const iterator = start(AbortSignal.any([outer, controller.signal]))[Symbol.asyncIterator]()
  let cancel = () => {}
  const next = async (maxWaitMs: number | null) => {
    if (maxWaitMs === null) return iterator.next()
    const late = new Promise<null>(resolve => {
      cancel = clock.after(maxWaitMs, () => resolve(null))
    })
    const result = await Promise.race([iterator.next(), late])
    cancel()
    if (result === null) throw new VendorError(name, 'timeout', 'did not answer in time')
    return result
  }
  try {
    for (let result = await next(firstMs); !result.done; result = await next(stallMs)) yield result.value
  } finally {
    cancel()
    controller.abort()
    // Not awaited: a stalled source would delay the next provider. The abort ends it.
    void iterator.return?.()?.catch(() => {})
  }
}

/** Runs a request; on timeout rejects with `timeout` and aborts it. */
async function inTime<T>(
  name: string,
  run: (signal: AbortSignal) => Promise<T>,
  outer: AbortSignal,
  clock: Clock,
  maxWaitMs: number | null,
): Promise<T> {
  const controller = new AbortController()
  let cancel = () => {}
  const late = new Promise<never>((_, reject) => {
    const giveUp = () => reject(new VendorError(name, 'timeout', 'did not answer in time'))
    if (maxWaitMs !== null) cancel = clock.after(maxWaitMs, giveUp)
  })
  try {
    return await Promise.race([run(AbortSignal.any([outer, controller.signal])), late])
  } finally {
    cancel()
    controller.abort()
  }
}

const KEEP_MS = 60_000
/** Milliseconds of audio before the utterance that the next STT receives as well, to recognise the onset. */
const LEAD_MS = 500

class FallbackStream implements SttStream {
  readonly #chain: Chain<SttProvider>
  readonly #settings: { sampleRate: number; language: string }
  #frames: AudioFrame[] = []
  #provider: SttProvider
  #stream: SttStream
  #closed = false

  constructor(chain: Chain<SttProvider>, settings: { sampleRate: number; language: string }) {
    this.#chain = chain
    this.#settings = settings
    this.#provider = chain.order()[0]!
    this.#stream = this.#provider.stt.open(settings)
  }

  push(frame: AudioFrame): void {
    this.#frames.push(frame)
    if (this.#frames.length % 500 === 0) {
      this.#frames = this.#frames.filter(kept => kept.atMs >= frame.atMs - KEEP_MS)
    }
    this.#stream.push(frame)
  }

  async transcribe(fromMs: number, toMs: number, signal: AbortSignal): Promise<Transcript> {
    const tried = new Set<string>()
    for (;;) {
      const [provider, stream] = [this.#provider, this.#stream]
      tried.add(provider.name)
      try {
        const transcript = await stream.transcribe(fromMs, toMs, signal)
        this.#chain.succeeded(provider)
        return transcript
      } catch (thrown) {
        if (signal.aborted || this.#closed) throw thrown
        // Another utterance may have failed before and switched already.
        if (this.#stream === stream) this.#switch(thrown, fromMs, tried)
        else if (tried.has(this.#provider.name)) throw thrown
      }
    }
  }

  close(): void {
    this.#closed = true
    this.#stream.close()
  }

  /** Throws when all providers were tried. */
  #switch(thrown: unknown, fromMs: number, tried: ReadonlySet<string>): void {
    const next = this.#chain.order().find(({ name }) => !tried.has(name))
    const error = this.#chain.failed(this.#provider, thrown, next)
    if (!next) throw error
    this.#stream.close()
    this.#provider = next
    this.#stream = next.stt.open(this.#settings)
    for (const frame of this.#frames) if (frame.atMs >= fromMs - LEAD_MS) this.#stream.push(frame)
  }
}
