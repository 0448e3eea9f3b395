import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { createElevenLabsTts, createWordReader, type ElevenLabsOptions } from '../../../media/models/elevenlabs.ts'
import type { SpeechChunk } from '../../../media/ports/speech.ts'
import { CHAR_MS, type FakeElevenLabs, startFakeElevenLabs } from '../../fakes/vendors/elevenlabs.ts'
import { until } from '../../fakes/vendors/ws-vendor.ts'

const KEY = 'xi-secret-key'
const TEXT = 'Hello there, Ann.'
let server: FakeElevenLabs
let printed: ReturnType<typeof vi.spyOn>[]

beforeEach(async () => {
  server = await startFakeElevenLabs()
  printed = (['log', 'warn', 'error', 'info'] as const).map(name => vi.spyOn(console, name))
})
afterEach(async () => {
  for (const spy of printed) expect(spy).not.toHaveBeenCalled()
  vi.restoreAllMocks()
  await until('all sockets closed', () => server.open() === 0)
  await server.close()
})

function speak(options: Partial<ElevenLabsOptions> = {}, signal = new AbortController().signal, text = TEXT) {
  const tts = createElevenLabsTts({
    apiKey: KEY,
    clock: systemClock,
    voice: 'rachel',
    baseUrl: server.baseUrl,
    ...options,
  })
  return tts.speak({ text, voice: null, language: 'en-GB' }, signal)
}

async function collect(sound: AsyncIterable<SpeechChunk>) {
  const chunks: SpeechChunk[] = []
  let error: unknown = null
  try {
    for await (const chunk of sound) chunks.push(chunk)
  } catch (caught) {
    error = caught
  }
  const ms = chunks.reduce((sum, { pcm, sampleRate }) => sum + (pcm.length / sampleRate) * 1000, 0)
  return { chunks, error, ms, words: chunks.flatMap(chunk => chunk.words ?? []) }
}

describe('elevenlabs', () => {
  it('streams chunks with word times in the utterance', async () => {
    const { chunks, error, ms, words } = await collect(speak())
    expect(error).toBeNull()
    expect(chunks.map(({ pcm }) => pcm.length / 16)).toEqual([200, 200, 200, 200, 50, 0]) // last: its word ended with it
    expect(chunks.every(({ sampleRate, pcm }) => sampleRate === 16_000 && pcm.every(sample => sample === 4000))).toBe(
      true,
    )
    expect(ms).toBe(TEXT.length * CHAR_MS)
    expect(words).toEqual([
      { text: 'Hello', startMs: 0, endMs: 250 },
      { text: 'there,', startMs: 300, endMs: 600 },
      { text: 'Ann.', startMs: 650, endMs: 850 },
    ])
    expect(server.received).toEqual([{ text: ' ' }, { text: `${TEXT} `, flush: true }, { text: '' }])
    const { url, headers } = server.requests[0]!
    expect(headers['xi-api-key']).toBe(KEY)
    expect(url).toBe(
      '/v1/text-to-speech/rachel/stream-input?model_id=eleven_flash_v2_5&output_format=pcm_16000&sync_alignment=true&auto_mode=true&language_code=en',
    )
  })

  it('streams the first audio early', async () => {
    server.after = { chunks: 1, next: 'hang' }
    const abort = new AbortController()
    const sound = speak({}, abort.signal)[Symbol.asyncIterator]()
    expect((await sound.next()).value).toMatchObject({ sampleRate: 16_000 })
    abort.abort()
    expect(await sound.next()).toEqual({ done: true, value: undefined })
  })

  it('supports µ-law and models without a language', async () => {
    const { chunks, ms, error } = await collect(speak({ outputFormat: 'ulaw_8000', model: 'eleven_multilingual_v2' }))
    expect(error).toBeNull()
    expect(ms).toBe(TEXT.length * CHAR_MS)
    expect(chunks[0]!.sampleRate).toBe(8000)
    expect(Math.abs(chunks[0]!.pcm[0]! - 4000)).toBeLessThan(130)
    expect(server.requests[0]!.url).not.toContain('language_code')
  })

  it.each(['null', 'broken'] as const)('returns no timestamps when they are %s', async alignments => {
    server.alignments = alignments
    const { error, ms, words } = await collect(speak())
    expect({ error, ms, words }).toEqual({ error: null, ms: TEXT.length * CHAR_MS, words: [] })
  })

  it.each([
    { status: 401, code: 'unauthorized', retryable: false },
    { status: 429, code: 'rate_limited', retryable: true },
    { status: 500, code: 'unavailable', retryable: true },
  ])('reports a handshake rejected with $status', async ({ status, code, retryable }) => {
    server.refuse = { status, headers: { 'retry-after': '3' }, body: { detail: { status: 'x', message: KEY } } }
    const { error, chunks } = await collect(speak())
    expect(chunks).toEqual([])
    expect(error).toMatchObject({ name: 'VendorError', code, retryable, status, retryAfterMs: 3000 })
    expect(String(error)).not.toContain(KEY)
  })

  it.each([
    { error: 'invalid_api_key', code: 'unauthorized' },
    { error: 'quota_exceeded', code: 'unauthorized' },
    { error: 'too_many_concurrent_requests', code: 'rate_limited' },
    { error: 'system_busy', code: 'rate_limited' },
    { error: 'invalid_input', code: 'bad_answer' },
  ])('reports $error in the stream', async ({ error, code }) => {
    server.after = { chunks: 0, next: 'error' }
    server.error = { message: `no: ${TEXT}`, error, code: 1008 }
    const result = await collect(speak())
    expect(result.error).toMatchObject({ code, status: 1008 })
    expect(String(result.error)).not.toContain('Hello')
  })

  it.each(['drop', 'close'] as const)('reports a %s in mid-word after the audio', async next => {
    server.after = { chunks: 2, next }
    const { chunks, error } = await collect(speak())
    expect(chunks).toHaveLength(2)
    expect(error).toMatchObject({ code: 'unavailable', retryable: true })
  })

  it('reports missing audio, invalid data and files', async () => {
    server.after = { chunks: 0, next: 'final' }
    expect((await collect(speak())).error).toMatchObject({ code: 'bad_answer' })
    server.after = { chunks: 1, next: 'nonsense' }
    expect((await collect(speak())).error).toMatchObject({ code: 'bad_answer' })
    server.after = null
    server.file = true
    expect(await collect(speak())).toMatchObject({ chunks: [], error: { code: 'bad_answer' } })
  })

  it('detects a lower sample rate by its words', async () => {
    server.wrongRate = 8000
    expect((await collect(speak())).error).toMatchObject({ code: 'bad_answer' })
  })

  it('times out for connection, first and next audio', async () => {
    server.after = { chunks: 0, next: 'hang' }
    const first = await collect(speak({ deadlines: { firstSoundMs: 60 } }))
    expect(first.error).toMatchObject({ code: 'timeout', retryable: true })
    server.after = { chunks: 2, next: 'hang' }
    const next = await collect(speak({ deadlines: { nextSoundMs: 60 } }))
    expect(next).toMatchObject({ chunks: [{}, {}], error: { code: 'timeout' } })
    server.sttUnavailable = true
    expect((await collect(speak({ deadlines: { firstSoundMs: 60 } }))).error).toMatchObject({ code: 'timeout' })
  })

  it('ends without an error on abort, and closes the socket', async () => {
    expect(await collect(speak({}, AbortSignal.abort()))).toMatchObject({ chunks: [], error: null })
    expect(server.requests).toHaveLength(0)

    server.sttUnavailable = true
    const early = new AbortController()
    const nothing = collect(speak({}, early.signal))
    await until('asked', () => server.requests.length === 1)
    early.abort()
    expect(await nothing).toMatchObject({ chunks: [], error: null })
    await until('let go', () => server.open() === 0)

    server.sttUnavailable = false
    server.after = { chunks: 2, next: 'hang' }
    const late = new AbortController()
    const some = collect(speak({}, late.signal))
    await until('asked', () => server.received.length === 3)
    late.abort()
    expect((await some).error).toBeNull()
    await until('told to stop', () => server.cancelled === 1)
  })

  it('closes the socket when the listener leaves', async () => {
    server.after = { chunks: 2, next: 'hang' }
    for await (const chunk of speak()) if (chunk) break
    await until('told to stop', () => server.cancelled === 1)
  })

  it('joins words across chunks', () => {
    const read = createWordReader()
    const chars = (text: string) => [...text].map((char, i) => ({ char, startMs: i * 10, endMs: i * 10 + 10 }))
    expect(read(chars('a bi'), 0)).toEqual([{ text: 'a', startMs: 0, endMs: 10 }])
    expect(read(chars('g  '), 40)).toEqual([{ text: 'big', startMs: 20, endMs: 50 }])
    expect(read(chars(' '), 70)).toEqual([])
  })
})
