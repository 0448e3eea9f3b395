import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { createOpenAiTts, type OpenAiTtsOptions } from '../../../media/models/openai-tts.ts'
import { type HttpVendor, samples, startHttpVendor } from '../../fakes/vendors/http-vendor.ts'
import { until } from '../../fakes/vendors/ws-vendor.ts'

const KEY = 'sk-secret'
const PCM = { 'content-type': 'audio/pcm' }
let server: HttpVendor
let printed: ReturnType<typeof vi.spyOn>[]

beforeEach(async () => {
  server = await startHttpVendor()
  printed = (['log', 'warn', 'error', 'info'] as const).map(name => vi.spyOn(console, name))
})
afterEach(async () => {
  for (const spy of printed) expect(spy).not.toHaveBeenCalled()
  vi.restoreAllMocks()
  await server.close()
})

async function hear(options: Partial<OpenAiTtsOptions> = {}, signal = new AbortController().signal) {
  const tts = createOpenAiTts({ apiKey: KEY, clock: systemClock, baseUrl: `${server.baseUrl}/v1`, ...options })
  const pcm: number[] = []
  const rates = new Set<number>()
  let error: unknown = null
  try {
    for await (const chunk of tts.speak({ text: 'Hello Ann', voice: 'nova', language: 'en' }, signal)) {
      pcm.push(...chunk.pcm)
      rates.add(chunk.sampleRate)
    }
  } catch (caught) {
    error = caught
  }
  return { pcm, rates: [...rates], error }
}

describe('openai speech', () => {
  it('requests PCM and returns samples in order at any chunk boundary', async () => {
    const bytes = samples([1, -2, 300, -32_768, 32_767])
    server.answer = { headers: PCM, parts: [bytes.subarray(0, 3), bytes.subarray(3, 4), bytes.subarray(4)] }
    expect(await hear()).toEqual({ pcm: [1, -2, 300, -32_768, 32_767], rates: [24_000], error: null })
    const { request, body } = server.asked[0]!
    expect([request.method, request.url, request.headers.authorization]).toEqual([
      'POST',
      '/v1/audio/speech',
      `Bearer ${KEY}`,
    ])
    expect(JSON.parse(body.toString())).toEqual({
      model: 'gpt-4o-mini-tts',
      input: 'Hello Ann',
      voice: 'nova',
      response_format: 'pcm',
    })
  })

  it('streams the first audio early, and stops on abort', async () => {
    server.answer = { headers: PCM, parts: [samples([1, 2])], next: 'hang' }
    const tts = createOpenAiTts({ apiKey: null, clock: systemClock, baseUrl: server.baseUrl })
    const abort = new AbortController()
    const sound = tts.speak({ text: 'Hi', voice: null, language: 'en' }, abort.signal)[Symbol.asyncIterator]()
    expect([...(await sound.next()).value!.pcm]).toEqual([1, 2])
    abort.abort()
    expect((await sound.next()).done).toBe(true)
    await until('connection closed', () => server.left === 1)
    expect(server.asked[0]!.request.headers.authorization).toBeUndefined()
  })

  it('sends nothing when aborted first', async () => {
    expect(await hear({}, AbortSignal.abort())).toEqual({ pcm: [], rates: [], error: null })
    expect(server.asked).toEqual([])
  })

  it('uses the rate in the response', async () => {
    server.answer = { headers: { 'content-type': 'audio/pcm;rate=16000;channels=1' }, parts: [samples([5])] }
    expect((await hear()).rates).toEqual([16_000])
  })

  it.each([
    { status: 401, code: 'unauthorized', retryable: false },
    { status: 400, code: 'bad_answer', retryable: false },
    { status: 429, code: 'rate_limited', retryable: true },
    { status: 500, code: 'unavailable', retryable: true },
    { status: 503, code: 'unavailable', retryable: true },
  ])('reports $status', async ({ status, code, retryable }) => {
    const body = JSON.stringify({ error: { message: `Incorrect API key: ${KEY}`, type: 'x', param: null, code: 'x' } })
    server.answer = { status, headers: { 'content-type': 'application/json', 'retry-after': '20' }, parts: [body] }
    const { error } = await hear()
    expect(error).toMatchObject({ name: 'VendorError', code, retryable, status, retryAfterMs: 20_000 })
    expect(String(error)).not.toContain(KEY)
  })

  it('reports a drop in mid-word after the audio', async () => {
    server.answer = { headers: PCM, parts: [samples([1, 2, 3])], next: 'drop' }
    expect(await hear()).toMatchObject({ pcm: [1, 2, 3], error: { code: 'unavailable' } })
  })

  it.each([
    { what: 'no sound', headers: PCM, parts: [] },
    { what: 'JSON', headers: { 'content-type': 'application/json' }, parts: ['{}'] },
    { what: 'MP3', headers: { 'content-type': 'audio/mpeg' }, parts: ['ID3'] },
    { what: 'a WAV file', headers: PCM, parts: ['RIFF0000WAVE'] },
  ])('rejects $what', async ({ headers, parts }) => {
    server.answer = { headers: headers as Record<string, string>, parts }
    expect(await hear()).toMatchObject({ pcm: [], error: { code: 'bad_answer' } })
  })

  it('follows no redirects', async () => {
    server.answer = { status: 307, headers: { location: `${server.baseUrl}/elsewhere` } }
    expect((await hear()).error).toMatchObject({ name: 'VendorError' })
    expect(server.asked).toHaveLength(1)
  })

  it('times out, and reports an unreachable server', async () => {
    server.answer = { headers: PCM, next: 'hang' }
    expect((await hear({ deadlines: { firstSoundMs: 50 } })).error).toMatchObject({ code: 'timeout' })
    server.answer = { headers: PCM, parts: [samples([1])], next: 'hang' }
    expect((await hear({ deadlines: { nextSoundMs: 50 } })).error).toMatchObject({ code: 'timeout' })
    await until('both closed', () => server.left === 2)
    expect((await hear({ baseUrl: 'http://127.0.0.1:1/v1' })).error).toMatchObject({ code: 'unavailable' })
  })
})
