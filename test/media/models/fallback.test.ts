import { describe, expect, it } from 'vitest'
import {
  afterFailure,
  type CircuitBreaker,
  CLOSED,
  inOrder,
  toVendorError,
} from '../../../media/models/circuit-breaker.ts'
import {
  type FallbackOptions,
  fallbackLlm,
  fallbackStt,
  fallbackTts,
  type Switch,
} from '../../../media/models/fallback.ts'
import { VendorError } from '../../../media/models/vendor-error.ts'
import type { Llm, LlmEvent, LlmRequest } from '../../../media/ports/llm.ts'
import type { SpeechChunk, Stt, Tts } from '../../../media/ports/speech.ts'
import { fakeClock, settle } from '../../fakes/line.ts'

const never = new AbortController().signal
const down = (retryAfterMs: number | null = null) => new VendorError('v', 'unavailable', 'down', { retryAfterMs })
const chunk = (value: number): SpeechChunk => ({ pcm: Int16Array.of(value), sampleRate: 8000 })

/** Gives its values, then throws, hangs until aborted, or ends. */
function voice(values: number[], end: Error | 'hang' | null = null) {
  const spoken: { text: string; voice: string | null }[] = []
  const state = { spoken, aborted: 0, fails: end }
  const tts: Tts = {
    async *speak({ text, voice: name }, signal) {
      spoken.push({ text, voice: name })
      for (const value of values) yield chunk(value)
      if (state.fails instanceof Error) throw state.fails
      if (state.fails === 'hang') {
        await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
        state.aborted++
      }
    },
  }
  return Object.assign(state, { tts })
}

function setUp() {
  const clock = fakeClock()
  const switches: Switch[] = []
  const breakers = new Map<string, CircuitBreaker>()
  const options: FallbackOptions = { clock, breakers, onSwitch: event => switches.push(event) }
  return { clock, switches, breakers, options }
}

async function hear(tts: Tts, signal = never) {
  const values: number[] = []
  try {
    for await (const { pcm } of tts.speak({ text: 'Hi', voice: 'ann', language: 'en' }, signal)) values.push(pcm[0]!)
    return { values, error: null }
  } catch (error) {
    return { values, error: error as VendorError }
  }
}

describe('TTS fallback', () => {
  it('uses the first while it works', async () => {
    const { options, switches } = setUp()
    const [a, b] = [voice([1, 2]), voice([9])]
    const tts = fallbackTts(
      [
        { name: 'a', tts: a.tts },
        { name: 'b', tts: b.tts },
      ],
      options,
    )
    expect(await hear(tts)).toEqual({ values: [1, 2], error: null })
    expect(b.spoken).toEqual([])
    expect(switches).toEqual([])
  })

  it('uses the next when one returns no audio', async () => {
    const { options, switches } = setUp()
    const [a, b] = [voice([]), voice([9])]
    const tts = fallbackTts(
      [
        { name: 'a', tts: a.tts },
        { name: 'b', tts: b.tts },
      ],
      options,
    )
    expect(await hear(tts)).toEqual({ values: [9], error: null })
    expect(switches).toMatchObject([{ from: 'a', to: 'b', code: 'bad_answer' }])
  })

  it('continues with the next when one hangs in mid-sentence', async () => {
    const { clock, options, switches } = setUp()
    const a: Tts = {
      async *speak(_, signal) {
        yield { pcm: new Int16Array(2400), sampleRate: 8000 }
        await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
      },
    }
    const b = voice([9])
    const tts = fallbackTts(
      [
        { name: 'a', tts: a },
        { name: 'b', tts: b.tts },
      ],
      options,
    )
    const heard: number[] = []
    const asked = { text: 'One two three four five six seven.', voice: null, language: 'en' }
    const done = (async () => {
      for await (const { pcm } of tts.speak(asked, never)) heard.push(pcm[0]!)
    })()
    await settle()
    clock.advance(10_000)
    await Promise.race([done, settle()])
    expect(heard).toEqual([0, 9])
    expect(b.spoken[0]!.text).not.toMatch(/^One/)
    expect(switches).toMatchObject([{ from: 'a', to: 'b', code: 'timeout' }])
  })

  it('uses the next before the first audio of a failed one', async () => {
    const { options, switches } = setUp()
    const [a, b] = [voice([], down()), voice([9])]
    const tts = fallbackTts(
      [
        { name: 'a', tts: a.tts },
        { name: 'b', tts: b.tts, voice: 'bob' },
      ],
      options,
    )
    expect(await hear(tts)).toEqual({ values: [9], error: null })
    expect(a.spoken).toEqual([{ text: 'Hi', voice: 'ann' }])
    expect(b.spoken).toEqual([{ text: 'Hi', voice: 'bob' }])
    expect(switches).toEqual([{ kind: 'tts', from: 'a', to: 'b', code: 'unavailable' }])
  })

  describe('failure in mid-word', () => {
    const text = 'The library opens at nine in the morning.'
    /** 100 ms a chunk, a word in each when they are timed. */
    function broken(chunks: number, timed: boolean) {
      const said = text.split(' ')
      const tts: Tts = {
        async *speak() {
          for (let i = 0; i < chunks; i++) {
            const words = [{ text: said[i]!, startMs: i * 100, endMs: (i + 1) * 100 }]
            yield { pcm: new Int16Array(800).fill(1), sampleRate: 8000, ...(timed ? { words } : {}) }
          }
          throw down()
        },
      }
      return tts
    }
    async function collect(tts: Tts) {
      const chunks: SpeechChunk[] = []
      try {
        for await (const chunk of tts.speak({ text, voice: 'ann', language: 'en', keep: true }, never))
          chunks.push(chunk)
        return { chunks, error: null }
      } catch (error) {
        return { chunks, error: error as VendorError }
      }
    }
    const both = (first: Tts, second: Tts, options: FallbackOptions) =>
      fallbackTts(
        [
          { name: 'a', tts: first },
          { name: 'b', tts: second, voice: 'bob' },
        ],
        options,
      )

    it('continues with the unheard words and shifted timestamps', async () => {
      const { options, switches } = setUp()
      const asked: object[] = []
      const second: Tts = {
        async *speak(options) {
          asked.push(options)
          yield { pcm: new Int16Array(8), sampleRate: 8000, words: [{ text: 'at', startMs: 10, endMs: 90 }] }
        },
      }
      const { chunks, error } = await collect(both(broken(3, true), second, options))
      expect(error).toBeNull()
      expect(asked).toEqual([{ text: 'at nine in the morning.', voice: 'bob', language: 'en', keep: false }])
      expect(chunks.at(-1)!.words).toEqual([{ text: 'at', startMs: 310, endMs: 390 }])
      expect(switches).toEqual([{ kind: 'tts', from: 'a', to: 'b', code: 'unavailable' }])
    })

    it('estimates the position without timestamps', async () => {
      const { options } = setUp()
      const second = voice([9])
      await collect(both(broken(8, false), second.tts, options))
      expect(second.spoken).toHaveLength(1)
      expect(text.endsWith(second.spoken[0]!.text)).toBe(true)
      expect(second.spoken[0]!.text).toMatch(/^(?:opens|at) /)
    })

    it('completes a sentence that was nearly finished', async () => {
      const { options, switches } = setUp()
      const second = voice([9])
      expect((await collect(both(broken(8, true), second.tts, options))).error).toBeNull()
      expect(second.spoken).toEqual([])
      expect(switches).toEqual([{ kind: 'tts', from: 'a', to: null, code: 'unavailable' }])
    })

    it('reports the failure without another provider', async () => {
      const { options } = setUp()
      expect((await collect(fallbackTts([{ name: 'a', tts: broken(3, true) }], options))).error).toMatchObject({
        code: 'unavailable',
      })
    })
  })

  it('has no time limit for the last provider', async () => {
    const { options, clock } = setUp()
    let release = () => {}
    const asked: object[] = []
    const slow: Tts = {
      async *speak(options) {
        asked.push(options)
        await new Promise<void>(resolve => (release = resolve))
        yield chunk(5)
      },
    }
    const tts = fallbackTts([{ name: 'a', tts: slow }], options)
    const values: number[] = []
    const heard = (async () => {
      for await (const { pcm } of tts.speak({ text: 'Hi', voice: null, language: 'en', keep: true }, never))
        values.push(pcm[0]!)
    })()
    await settle()
    clock.advance(60_000)
    release()
    await heard
    expect([values, asked]).toEqual([[5], [{ text: 'Hi', voice: null, language: 'en', keep: true }]])
  })

  it('keeps rejected keys per customer', async () => {
    const { options } = setUp()
    const wrong = voice([], new VendorError('a', 'unauthorized', 'no'))
    const right = voice([1])
    const chain = (tts: Tts, id: string) =>
      fallbackTts(
        [
          { name: 'a', id, tts },
          { name: 'b', tts: voice([9]).tts },
        ],
        options,
      )
    expect((await hear(chain(wrong.tts, 'a/1'))).values).toEqual([9])
    expect((await hear(chain(right.tts, 'a/2'))).values).toEqual([1])
    await hear(chain(wrong.tts, 'a/1'))
    expect(wrong.spoken).toHaveLength(1)
  })

  it('rests a failed provider, then retries it', async () => {
    const { options, clock } = setUp()
    const [a, b] = [voice([1], null), voice([9])]
    a.fails = down()
    const silentA: Tts = { speak: (ask, signal) => (a.fails ? voice([], a.fails).tts : a.tts).speak(ask, signal) }
    const tts = fallbackTts(
      [
        { name: 'a', tts: silentA },
        { name: 'b', tts: b.tts },
      ],
      options,
    )
    expect((await hear(tts)).values).toEqual([9])
    a.fails = null
    expect((await hear(tts)).values).toEqual([9])
    clock.advance(5001)
    expect((await hear(tts)).values).toEqual([1])
  })

  it('shares health between calls', async () => {
    const { options } = setUp()
    const [a, b] = [voice([], down()), voice([9])]
    const list = [
      { name: 'a', tts: a.tts },
      { name: 'b', tts: b.tts },
    ]
    await hear(fallbackTts(list, options))
    await hear(fallbackTts(list, options))
    expect(a.spoken).toHaveLength(1)
  })

  it('uses a resting provider when there is no other', async () => {
    const { options, switches } = setUp()
    const [a, b] = [voice([], down()), voice([], new VendorError('b', 'rate_limited', 'full'))]
    const tts = fallbackTts(
      [
        { name: 'a', tts: a.tts },
        { name: 'b', tts: b.tts },
      ],
      options,
    )
    expect((await hear(tts)).error).toMatchObject({ code: 'rate_limited' })
    expect(switches.map(({ to }) => to)).toEqual(['b', null])
    expect((await hear(tts)).error).not.toBeNull()
    expect([a.spoken.length, b.spoken.length]).toEqual([2, 2])
  })

  it('times out a silent provider and stops it', async () => {
    const { options, clock } = setUp()
    const [a, b] = [voice([], 'hang'), voice([9])]
    const tts = fallbackTts(
      [
        { name: 'a', tts: a.tts },
        { name: 'b', tts: b.tts },
      ],
      { ...options, firstMs: 700 },
    )
    const heard = hear(tts)
    await settle()
    clock.advance(700)
    expect((await heard).values).toEqual([9])
    expect(a.aborted).toBe(1)
  })

  it('ends without an error or switch on abort', async () => {
    const { options, switches, breakers } = setUp()
    const [a, b] = [voice([1], 'hang'), voice([9])]
    const tts = fallbackTts(
      [
        { name: 'a', tts: a.tts },
        { name: 'b', tts: b.tts },
      ],
      options,
    )
    const abort = new AbortController()
    const heard = hear(tts, abort.signal)
    await settle()
    abort.abort()
    expect(await heard).toEqual({ values: [1], error: null })
    expect([a.aborted, switches, breakers.size]).toEqual([1, [], 0])
  })

  it('stops the provider when the listener leaves', async () => {
    const { options } = setUp()
    const a = voice([1], 'hang')
    const tts = fallbackTts([{ name: 'a', tts: a.tts }], options)
    for await (const item of tts.speak({ text: 'Hi', voice: null, language: 'en' }, never)) {
      expect(item.pcm[0]).toBe(1)
      break
    }
    await settle()
    expect(a.spoken).toHaveLength(1)
  })

  it('rejects an empty list', () => {
    expect(() => fallbackTts([], setUp().options)).toThrow(RangeError)
  })
})

describe('LLM fallback', () => {
  const request = {
    system: '',
    boundary: 'b0undaryOfTests1',
    language: 'en',
    messages: [],
    tools: [],
    today: new Date(0),
  } satisfies LlmRequest
  const model = (events: LlmEvent[], end: unknown = null): Llm => ({
    async *respond() {
      yield* events
      if (end) throw end
    },
    async wrapUp() {
      if (end) throw end
      return { summary: 'S', extracted: null, goalReached: false, goalEvidence: null, contactName: null }
    },
  })
  const hi: LlmEvent = { type: 'text', delta: 'Hi' }
  async function read(llm: Llm) {
    const events: LlmEvent[] = []
    try {
      for await (const event of llm.respond(request, never)) events.push(event)
      return { events, error: null }
    } catch (error) {
      return { events, error }
    }
  }

  it('switches before the first token, by AI SDK status', async () => {
    const { options, switches } = setUp()
    const refused = Object.assign(new Error('the caller said secrets'), { statusCode: 429, responseHeaders: {} })
    const llm = fallbackLlm(
      [
        { name: 'a', llm: model([], refused) },
        { name: 'b', llm: model([hi]) },
      ],
      options,
    )
    expect(await read(llm)).toEqual({ events: [hi], error: null })
    expect(switches).toEqual([{ kind: 'llm', from: 'a', to: 'b', code: 'rate_limited' }])
  })

  it('counts an empty answer as a failure', async () => {
    const { options, switches } = setUp()
    const llm = fallbackLlm(
      [
        { name: 'a', llm: model([]) },
        { name: 'b', llm: model([hi]) },
      ],
      options,
    )
    expect(await read(llm)).toEqual({ events: [hi], error: null })
    expect(switches).toEqual([{ kind: 'llm', from: 'a', to: 'b', code: 'bad_answer' }])
  })

  it('does not repeat tool calls: any event commits', async () => {
    const { options } = setUp()
    const tool: LlmEvent = { type: 'tool', id: 't', name: 'book', arguments: {} }
    const llm = fallbackLlm(
      [
        { name: 'a', llm: model([tool], new Error('x')) },
        { name: 'b', llm: model([tool]) },
      ],
      options,
    )
    expect(await read(llm)).toMatchObject({ events: [tool], error: { code: 'unavailable' } })
  })

  it('does not wait for a late record', async () => {
    const { options, clock, switches } = setUp()
    let aborted = false
    const hangs: Llm = {
      ...model([]),
      wrapUp: (_, signal) => new Promise(() => signal.addEventListener('abort', () => (aborted = true))),
    }
    const llm = fallbackLlm(
      [
        { name: 'a', llm: hangs },
        { name: 'b', llm: model([]) },
      ],
      options,
    )
    const record = llm.wrapUp({ ...request, goal: null, extraction: null, repair: null }, never)
    await settle()
    clock.advance(7000)
    expect((await record).summary).toBe('S')
    expect(aborted).toBe(true)
    expect(switches).toEqual([{ kind: 'llm', from: 'a', to: 'b', code: 'timeout' }])
  })

  it('writes the record by the next', async () => {
    const { options, switches } = setUp()
    const llm = fallbackLlm(
      [
        { name: 'a', llm: model([], new Error('x')) },
        { name: 'b', llm: model([]) },
      ],
      options,
    )
    const record = await llm.wrapUp({ ...request, goal: null, extraction: null, repair: null }, never)
    expect(record.summary).toBe('S')
    expect(switches).toHaveLength(1)
    const none = fallbackLlm([{ name: 'a', llm: model([], new Error('x')) }], options)
    await expect(none.wrapUp({ ...request, goal: null, extraction: null, repair: null }, never)).rejects.toMatchObject({
      name: 'VendorError',
    })
  })
})

describe('STT fallback', () => {
  function stt(name: string, fails: () => Error | null) {
    const state = { opened: 0, closed: 0, heard: [] as number[] }
    const stt: Stt = {
      open() {
        state.opened++
        return {
          push: frame => state.heard.push(frame.atMs),
          async transcribe(fromMs, toMs) {
            await settle()
            const error = fails()
            if (error) throw error
            return { text: `${name} ${fromMs}-${toMs}`, confidence: null }
          },
          close: () => void state.closed++,
        }
      },
    }
    return Object.assign(state, { name, stt })
  }
  const frame = (atMs: number) => ({ pcm: new Int16Array(160), atMs, concealed: false })

  it('replays the utterance to the next, and stays with it', async () => {
    const { options, switches, clock } = setUp()
    const [a, b] = [stt('a', () => down()), stt('b', () => null)]
    const stream = fallbackStt([a, b], options).open({ sampleRate: 8000, language: 'en' })
    for (const atMs of [1000, 4600, 5000, 5020]) stream.push(frame(atMs))
    expect(b.opened).toBe(0)
    expect((await stream.transcribe(5000, 5020, never)).text).toBe('b 5000-5020')
    expect(b.heard).toEqual([4600, 5000, 5020])
    expect(a.closed).toBe(1)
    stream.push(frame(5040))
    clock.advance(600_000)
    expect((await stream.transcribe(5000, 5040, never)).text).toBe('b 5000-5040')
    expect([a.heard.length, b.heard.length]).toEqual([4, 4])
    expect(switches).toEqual([{ kind: 'stt', from: 'a', to: 'b', code: 'unavailable' }])
    stream.close()
    expect(b.closed).toBe(1)
  })

  it('switches once for concurrent utterances', async () => {
    const { options, switches } = setUp()
    const [a, b] = [stt('a', () => down()), stt('b', () => null)]
    const stream = fallbackStt([a, b], options).open({ sampleRate: 8000, language: 'en' })
    const texts = await Promise.all([stream.transcribe(1, 2, never), stream.transcribe(1, 3, never)])
    expect(texts.map(({ text }) => text)).toEqual(['b 1-2', 'b 1-3'])
    expect([switches.length, b.opened]).toEqual([1, 1])
  })

  it('fails when all fail, and retries at the next utterance', async () => {
    const { options } = setUp()
    let broken = true
    const [a, b] = [stt('a', () => down()), stt('b', () => (broken ? down() : null))]
    const stream = fallbackStt([a, b], options).open({ sampleRate: 8000, language: 'en' })
    await expect(stream.transcribe(1, 2, never)).rejects.toMatchObject({ name: 'VendorError', code: 'unavailable' })
    broken = false
    expect((await stream.transcribe(1, 2, never)).text).toBe('b 1-2')
  })

  it('does not count aborts as failures', async () => {
    const { options, switches } = setUp()
    const abort = new AbortController()
    const a = stt('a', () => new Error('recognition aborted'))
    const stream = fallbackStt([a, stt('b', () => null)], options).open({ sampleRate: 8000, language: 'en' })
    abort.abort()
    await expect(stream.transcribe(1, 2, abort.signal)).rejects.toThrow('aborted')
    expect(switches).toEqual([])
  })
})

describe('circuit breaker', () => {
  it('doubles the rest, honours Retry-After, and rests long for a wrong key', () => {
    const once = afterFailure(CLOSED, down(), 1000)
    expect(once).toEqual({ failures: 1, openUntilMs: 6000 })
    expect(afterFailure(once, down(), 6000).openUntilMs).toBe(16_000)
    expect(afterFailure({ failures: 50, openUntilMs: 0 }, down(), 0).openUntilMs).toBe(120_000)
    expect(afterFailure(CLOSED, down(30_000), 0).openUntilMs).toBe(30_000)
    expect(afterFailure(CLOSED, new VendorError('v', 'unauthorized', 'no'), 0).openUntilMs).toBe(300_000)
  })

  it('orders healthy first, then by wake-up time', () => {
    const list = ['a', 'b', 'c'].map(name => ({ name }))
    const breakers = new Map([
      ['a', { failures: 1, openUntilMs: 900 }],
      ['b', { failures: 1, openUntilMs: 500 }],
    ])
    expect(inOrder(list, breakers, 100).map(({ name }) => name)).toEqual(['c', 'b', 'a'])
    expect(inOrder(list, breakers, 500).map(({ name }) => name)).toEqual(['b', 'c', 'a'])
  })

  it('shares no customer data', () => {
    expect(toVendorError('a', new Error('secret words'), 0)).toMatchObject({
      message: 'a: failed',
      code: 'unavailable',
    })
  })
})
