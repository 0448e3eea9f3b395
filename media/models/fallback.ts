/**
 * Several providers behind one port, in the project's order: when one fails before its first sound or word, the next is
 * asked for the same within the turn. After it nothing is begun anew, since the caller would hear the words twice.
 */
import type {
  AudioFrame,
  Clock,
  Llm,
  LlmEvent,
  LlmRequest,
  SpeechChunk,
  Stt,
  SttStream,
  Transcript,
  Tts,
  WrapUp,
  WrapUpRequest,
} from '../ports.ts'
import { afterFailure, type Breaker, inOrder, toVendorError } from './health.ts'
import { VendorError, type VendorErrorCode } from './vendor-error.ts'

export interface Switch {
  kind: 'stt' | 'tts' | 'llm'
  from: string
  /** Null: there is no other left. */
  to: string | null
  code: VendorErrorCode
}

export interface FallbackOptions {
  clock: Clock
  /** For the record of the call. */
  onSwitch(event: Switch): void
  /** By provider's name; the same map for all calls of a project lets each learn from the others. */
  breakers?: Map<string, Breaker>
  /** A provider with nothing to show by then has failed. In ms. */
  firstMs?: number
}

const FIRST_SOUND_MS = 2500
const FIRST_WORD_MS = 6000

/** `voice`: the voice's name at this vendor, instead of the call's. */
export type TtsProvider = { name: string; tts: Tts; voice?: string | null }
export type SttProvider = { name: string; stt: Stt }
export type LlmProvider = { name: string; llm: Llm }

export function fallbackTts(list: readonly TtsProvider[], options: FallbackOptions): Tts {
  const chain = createChain('tts', list, options)
  const firstMs = options.firstMs ?? FIRST_SOUND_MS
  return {
    speak: ({ text, voice, language }, signal) =>
      chain.stream<SpeechChunk>(
        (entry, inner) =>
          entry.tts.speak({ text, language, voice: entry.voice === undefined ? voice : entry.voice }, inner),
        signal,
        firstMs,
      ),
  }
}

export function fallbackLlm(list: readonly LlmProvider[], options: FallbackOptions): Llm {
  const chain = createChain('llm', list, options)
  const firstMs = options.firstMs ?? FIRST_WORD_MS
  return {
    respond: (request: LlmRequest, signal) =>
      chain.stream<LlmEvent>(({ llm }, inner) => llm.respond(request, inner), signal, firstMs),
    wrapUp: (request: WrapUpRequest, signal) => chain.ask<WrapUp>(({ llm }) => llm.wrapUp(request, signal), signal),
  }
}

/** Stays with the provider it switched to for the rest of the call: what was said is known there. */
export function fallbackStt(list: readonly SttProvider[], options: FallbackOptions): Stt {
  const chain = createChain('stt', list, options)
  return { open: settings => new FallbackStream(chain, settings) }
}

type Chain<P> = ReturnType<typeof createChain<P & { name: string }>>

function createChain<P extends { name: string }>(kind: Switch['kind'], list: readonly P[], options: FallbackOptions) {
  if (list.length === 0) throw new RangeError(`no ${kind} provider`)
  const { clock, breakers = new Map<string, Breaker>(), onSwitch } = options
  const order = () => inOrder(list, breakers, clock.now())
  const succeeded = ({ name }: P) => void breakers.delete(name)
  /** Returns the error as it is thrown. */
  const failed = ({ name }: P, thrown: unknown, next: P | undefined): VendorError => {
    const error = toVendorError(name, thrown, clock.wall())
    breakers.set(name, afterFailure(breakers.get(name) ?? { failures: 0, openUntilMs: 0 }, error, clock.now()))
    onSwitch({ kind, from: name, to: next?.name ?? null, code: error.code })
    return error
  }

  async function* stream<T>(
    start: (provider: P, signal: AbortSignal) => AsyncIterable<T>,
    signal: AbortSignal,
    firstMs: number,
  ): AsyncGenerator<T> {
    const providers = order()
    for (const [i, provider] of providers.entries()) {
      let begun = false
      try {
        for await (const item of startInTime(provider.name, inner => start(provider, inner), signal, clock, firstMs)) {
          if (signal.aborted) return
          begun = true
          yield item
        }
        if (!signal.aborted) succeeded(provider)
        return
      } catch (thrown) {
        if (signal.aborted) return
        const next = begun ? undefined : providers[i + 1]
        const error = failed(provider, thrown, next)
        if (!next) throw error
      }
    }
  }

  async function ask<T>(run: (provider: P) => Promise<T>, signal: AbortSignal): Promise<T> {
    const providers = order()
    for (const [i, provider] of providers.entries()) {
      try {
        const answer = await run(provider)
        succeeded(provider)
        return answer
      } catch (thrown) {
        if (signal.aborted) throw thrown
        const error = failed(provider, thrown, providers[i + 1])
        if (!providers[i + 1]) throw error
      }
    }
    throw new RangeError(`no ${kind} provider`)
  }
  return { order, succeeded, failed, stream, ask }
}

/** The iteration, or a `timeout` when its first item does not come; what was started is aborted whenever it is left. */
async function* startInTime<T>(
  name: string,
  start: (signal: AbortSignal) => AsyncIterable<T>,
  outer: AbortSignal,
  clock: Clock,
  firstMs: number,
): AsyncGenerator<T> {
  const controller = new AbortController()
  const iterator = start(AbortSignal.any([outer, controller.signal]))[Symbol.asyncIterator]()
  let cancel = () => {}
  try {
    const late = new Promise<null>(resolve => (cancel = clock.after(firstMs, () => resolve(null))))
    const first = iterator.next()
    first.catch(() => {}) // when it fails after it was given up
    let result = await Promise.race([first, late])
    cancel()
    if (result === null) throw new VendorError(name, 'timeout', 'nothing came in time')
    while (!result.done) {
      yield result.value
      result = await iterator.next()
    }
  } finally {
    cancel()
    controller.abort()
    // Not awaited: one that hangs would hold the next provider up. It ends by the abort.
    void iterator.return?.()?.catch(() => {})
  }
}

const KEEP_MS = 60_000
/** Sound before the stretch that the next recogniser gets too: an onset is easier to read with what was before it. */
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
        // Another stretch may have failed before this one and have switched already.
        if (this.#stream === stream) this.#switch(thrown, fromMs, tried)
        else if (tried.has(this.#provider.name)) throw thrown
      }
    }
  }

  close(): void {
    this.#closed = true
    this.#stream.close()
  }

  /** Throws when all were tried. */
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
