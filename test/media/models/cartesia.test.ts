import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { type CartesiaOptions, type CartesiaTts, createCartesiaTts } from '../../../media/models/cartesia.ts'
import type { SpeechChunk } from '../../../media/ports/speech.ts'
import { fakeClock } from '../../fakes/line.ts'
import { type FakeCartesia, startFakeCartesia } from '../../fakes/vendors/cartesia.ts'
import { until } from '../../fakes/vendors/ws-vendor.ts'

const KEY = 'sk_car_secret'
let server: FakeCartesia
let voices: CartesiaTts[]
let printed: ReturnType<typeof vi.spyOn>[]

beforeEach(async () => {
  server = await startFakeCartesia()
  voices = []
  printed = (['log', 'warn', 'error', 'info'] as const).map(name => vi.spyOn(console, name))
})
afterEach(async () => {
  for (const spy of printed) expect(spy).not.toHaveBeenCalled()
  vi.restoreAllMocks()
  for (const voice of voices) voice.close()
  await until('all sockets closed', () => server.open() === 0)
  await server.close()
})

function create(options: Partial<CartesiaOptions> = {}): CartesiaTts {
  const tts = createCartesiaTts({ apiKey: KEY, clock: systemClock, voice: 'v1', baseUrl: server.baseUrl, ...options })
  voices.push(tts)
  return tts
}

async function hear(tts: CartesiaTts, text = 'Hello Ann', signal = new AbortController().signal) {
  const chunks: SpeechChunk[] = []
  let error: unknown = null
  try {
    for await (const chunk of tts.speak({ text, voice: null, language: 'en-US' }, signal)) chunks.push(chunk)
  } catch (caught) {
    error = caught
  }
  const ms = chunks.reduce((sum, { pcm, sampleRate }) => sum + (pcm.length / sampleRate) * 1000, 0)
  return { chunks, error, ms, words: chunks.flatMap(chunk => chunk.words ?? []) }
}

describe('cartesia', () => {
  it('returns word timestamps', async () => {
    const { chunks, error, ms, words } = await hear(create())
    expect(error).toBeNull()
    expect([chunks.length, ms, chunks[0]!.sampleRate, chunks[0]!.pcm[0]]).toEqual([2, 400, 16_000, 4000])
    expect(words).toEqual([
      { text: 'Hello', startMs: 0, endMs: 250 },
      { text: 'Ann', startMs: 250, endMs: 400 },
    ])
    expect(server.asked).toEqual([
      {
        model_id: 'sonic-3.5',
        transcript: 'Hello Ann',
        voice: { mode: 'id', id: 'v1' },
        language: 'en',
        context_id: expect.any(String),
        output_format: { container: 'raw', encoding: 'pcm_s16le', sample_rate: 16_000 },
        add_timestamps: true,
        continue: false,
      },
    ])
    const { url, headers } = server.requests[0]!
    expect(url).toBe('/tts/websocket')
    expect(headers).toMatchObject({ authorization: `Bearer ${KEY}`, 'cartesia-version': '2026-03-01' })
  })

  it('multiplexes sentences on one socket', async () => {
    const tts = create()
    const [a, b] = await Promise.all([hear(tts, 'One'), hear(tts, 'Twenty two')])
    expect([a.ms, b.ms]).toEqual([150, 450])
    expect((await hear(tts, 'Three')).ms).toBe(250)
    expect(server.requests).toHaveLength(1)
    expect(server.cancelled).toEqual([])
  })

  it('closes an idle socket, and opens another', async () => {
    const clock = fakeClock()
    const tts = create({ clock })
    await hear(tts)
    expect(server.open()).toBe(1)
    clock.advance(60_000)
    await until('let go', () => server.open() === 0)
    expect((await hear(tts)).error).toBeNull()
    expect(server.requests).toHaveLength(2)
  })

  it('cancels one context on abort', async () => {
    server.after = { words: 1, next: 'hang' }
    const tts = create()
    const abort = new AbortController()
    const cut = hear(tts, 'Hello Ann', abort.signal)
    await until('asked', () => server.asked.length === 1)
    server.after = null
    const other = hear(tts, 'Fine')
    abort.abort()
    expect((await cut).error).toBeNull()
    expect((await other).ms).toBe(200)
    await until('cancelled', () => server.cancelled.length === 1)
    expect(server.cancelled).toEqual([server.asked[0]!['context_id']])
  })

  it('sends nothing when aborted before connecting', async () => {
    expect((await hear(create(), 'Hi', AbortSignal.abort())).error).toBeNull()
    expect(server.requests).toHaveLength(0)
    server.sttUnavailable = true
    const abort = new AbortController()
    const nothing = hear(create(), 'Hi', abort.signal)
    await until('asked', () => server.requests.length === 1)
    abort.abort()
    expect(await nothing).toMatchObject({ chunks: [], error: null })
    await until('let go', () => server.open() === 0)
  })

  it.each([
    { status: 401, code: 'unauthorized' },
    { status: 402, code: 'unauthorized' },
    { status: 429, code: 'rate_limited' },
    { status: 503, code: 'unavailable' },
  ])('reports $status of the handshake and of an event', async ({ status, code }) => {
    const tts = create()
    server.refuse = { status, headers: { 'retry-after': '2' } }
    expect((await hear(tts)).error).toMatchObject({ name: 'VendorError', code, status, retryAfterMs: 2000 })
    server.refuse = null
    server.after = { words: 1, next: 'error' }
    server.statusCode = status
    const { error, chunks } = await hear(tts)
    expect(error).toMatchObject({ code, status })
    expect(chunks).toHaveLength(1)
    expect(String(error)).not.toContain('Hello')
    server.nameless = true
    expect((await hear(tts)).error).toMatchObject({ code })
  })

  it.each(['drop', 'close'] as const)('reports a %s in mid-word, and reconnects', async next => {
    const tts = create()
    server.after = { words: 1, next }
    const { chunks, error } = await hear(tts)
    expect(chunks).toHaveLength(1)
    expect(error).toMatchObject({ code: 'unavailable', retryable: true })
    server.after = null
    expect((await hear(tts)).error).toBeNull()
  })

  it('reports missing audio, invalid data, files and audio too short for its words', async () => {
    const tts = create()
    server.after = { words: 0, next: 'done' }
    expect((await hear(tts)).error).toMatchObject({ code: 'bad_answer' })
    server.after = { words: 1, next: 'nonsense' }
    expect((await hear(tts)).error).toMatchObject({ code: 'bad_answer' })
    server.after = null
    server.file = true
    expect(await hear(tts)).toMatchObject({ chunks: [], error: { code: 'bad_answer' } })
    server.file = false
    server.wrongRate = 8000
    expect((await hear(tts, 'Hello everybody')).error).toMatchObject({ code: 'bad_answer' })
  })

  it('times out', async () => {
    server.after = { words: 0, next: 'hang' }
    expect((await hear(create({ deadlines: { firstSoundMs: 50 } }))).error).toMatchObject({ code: 'timeout' })
    server.after = { words: 1, next: 'hang' }
    expect((await hear(create({ deadlines: { nextSoundMs: 50 } }))).error).toMatchObject({ code: 'timeout' })
    await until('both cancelled', () => server.cancelled.length === 2)
  })
})
