import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { createYandexStt, cutAtPauses, type YandexSttOptions } from '../../../media/models/yandex-speechkit-stt.ts'
import { createYandexTts, type YandexTtsOptions, yandexLanguage } from '../../../media/models/yandex-speechkit-tts.ts'
import { type HttpVendor, samples, startHttpVendor } from '../../fakes/vendors/http-vendor.ts'
import { until } from '../../fakes/vendors/ws-vendor.ts'

const KEY = 'AQVN-secret'
const JSON_TYPE = { 'content-type': 'application/json' }
const never = new AbortController().signal
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

/** The shape of every refusal of SpeechKit v1. */
const refusal = (status: number) => ({
  status,
  headers: { ...JSON_TYPE, 'retry-after': '4' },
  parts: [JSON.stringify({ error_code: 'BAD', error_message: `rpc error: ${KEY} привет` })],
})
const REFUSALS = [
  { status: 400, code: 'bad_answer', retryable: false },
  { status: 401, code: 'unauthorized', retryable: false },
  { status: 429, code: 'rate_limited', retryable: true },
  { status: 500, code: 'unavailable', retryable: true },
  { status: 503, code: 'unavailable', retryable: true },
]

describe('Yandex TTS', () => {
  async function hear(options: Partial<YandexTtsOptions> = {}, signal = never) {
    const tts = createYandexTts({ apiKey: KEY, clock: systemClock, baseUrl: server.baseUrl, ...options })
    const pcm: number[] = []
    let error: unknown = null
    let rate = 0
    try {
      for await (const chunk of tts.speak({ text: 'Привет & пока', voice: 'alena', language: 'ru' }, signal)) {
        pcm.push(...chunk.pcm)
        rate = chunk.sampleRate
      }
    } catch (caught) {
      error = caught
    }
    return { pcm, rate, error }
  }

  it('sends a form and streams samples', async () => {
    const bytes = samples([1, -2, 300])
    server.answer = { headers: {}, parts: [bytes.subarray(0, 1), bytes.subarray(1)] }
    expect(await hear({ sampleRate: 8000 })).toEqual({ pcm: [1, -2, 300], rate: 8000, error: null })
    const { request, body } = server.asked[0]!
    expect([request.method, request.url, request.headers.authorization]).toEqual([
      'POST',
      '/speech/v1/tts:synthesize',
      `Api-Key ${KEY}`,
    ])
    expect(request.headers['content-type']).toBe('application/x-www-form-urlencoded')
    expect(Object.fromEntries(new URLSearchParams(body.toString()))).toEqual({
      text: 'Привет & пока',
      lang: 'ru-RU',
      voice: 'alena',
      format: 'lpcm',
      sampleRateHertz: '8000',
    })
  })

  it.each(REFUSALS)('reports $status', async ({ status, code, retryable }) => {
    server.answer = refusal(status)
    const { error } = await hear()
    expect(error).toMatchObject({ name: 'VendorError', code, retryable, status, retryAfterMs: 4000 })
    expect(String(error)).not.toMatch(/secret|привет/)
  })

  it('reports drops, missing audio and timeouts', async () => {
    server.answer = { parts: [samples([1])], next: 'drop' }
    expect(await hear()).toMatchObject({ pcm: [1], error: { code: 'unavailable' } })
    server.answer = {}
    expect(await hear()).toMatchObject({ pcm: [], error: { code: 'bad_answer' } })
    server.answer = { next: 'hang' }
    expect((await hear({ deadlines: { firstSoundMs: 50 } })).error).toMatchObject({ code: 'timeout' })
    await until('closed', () => server.left === 1)
  })

  it('ends without an error on abort', async () => {
    server.answer = { parts: [samples([1])], next: 'hang' }
    const abort = new AbortController()
    const heard = hear({}, abort.signal)
    await until('asked', () => server.asked.length === 1)
    abort.abort()
    expect((await heard).error).toBeNull()
    await until('closed', () => server.left === 1)
  })

  it('sends languages with a region', () => {
    expect(['ru', 'en', 'de', 'kk', 'en-GB', 'RU-ru'].map(yandexLanguage)).toEqual([
      'ru-RU',
      'en-US',
      'de-DE',
      'kk-KZ',
      'en-GB',
      'ru-RU',
    ])
  })
})

describe('Yandex STT', () => {
  function open(options: Partial<YandexSttOptions> = {}, ms = 400) {
    const stt = createYandexStt({ apiKey: KEY, clock: systemClock, baseUrl: server.baseUrl, ...options })
    const stream = stt.open({ sampleRate: 8000, language: 'ru' })
    for (let atMs = 20; atMs <= ms; atMs += 20) {
      stream.push({ pcm: new Int16Array(160).fill(atMs), atMs, concealed: false })
    }
    return stream
  }

  it('sends the samples of the utterance, and answers with its text', async () => {
    server.answer = { headers: JSON_TYPE, parts: ['{"result":"да, завтра"}'] }
    expect(await open().transcribe(100, 200, never)).toEqual({ text: 'да, завтра', confidence: null })
    const { request, body } = server.asked[0]!
    const url = new URL(request.url!, 'http://x')
    expect([request.method, url.pathname, request.headers.authorization]).toEqual([
      'POST',
      '/speech/v1/stt:recognize',
      `Api-Key ${KEY}`,
    ])
    expect(Object.fromEntries(url.searchParams)).toEqual({
      lang: 'ru-RU',
      topic: 'general',
      format: 'lpcm',
      sampleRateHertz: '8000',
    })
    const frames = [100, 120, 140, 160, 180, 200]
    expect(body).toEqual(samples(frames.flatMap(value => new Array<number>(160).fill(value))))
  })

  it('skips very short utterances', async () => {
    expect(await open().transcribe(100, 140, never)).toEqual({ text: '', confidence: null })
    expect(server.asked).toEqual([])
  })

  it('transcribes a long utterance in parts, in order', async () => {
    server.answer = body => ({ parts: [`{"result":"${body.length > 16_000 * 15 ? 'первое' : 'второе'}"}`] })
    expect((await open({}, 30_000).transcribe(0, 30_000, never)).text).toBe('первое второе')
    expect(server.asked).toHaveLength(2)
    for (const { body } of server.asked) expect(body.length).toBeLessThan(1_000_000)
  })

  it('splits at quiet positions without loss', () => {
    const pcm = new Int16Array(8000 * 60).fill(3000)
    pcm.fill(0, 8000 * 22, 8000 * 22 + 1600)
    const pieces = cutAtPauses(pcm, 8000)
    expect(pieces.reduce((sum, piece) => sum + piece.length, 0)).toBe(pcm.length)
    expect(pieces.every(piece => piece.length <= 8000 * 25)).toBe(true)
    expect(pieces[0]!.length).toBeGreaterThanOrEqual(8000 * 22)
    expect(pieces[0]!.length).toBeLessThanOrEqual(8000 * 22 + 1600)
    const wide = cutAtPauses(new Int16Array(48_000 * 30), 48_000)
    expect(wide.reduce((sum, piece) => sum + piece.length, 0)).toBe(48_000 * 30)
    expect(wide.every(piece => piece.length * 2 <= 1_000_000)).toBe(true)
  })

  it.each(REFUSALS)('reports $status', async ({ status, code, retryable }) => {
    server.answer = refusal(status)
    const failure = { name: 'VendorError', code, retryable, status, retryAfterMs: 4000 }
    await expect(open().transcribe(0, 400, never)).rejects.toMatchObject(failure)
  })

  it('reports invalid data, drops and timeouts', async () => {
    server.answer = { parts: ['{"result":'] }
    await expect(open().transcribe(0, 400, never)).rejects.toMatchObject({ code: 'bad_answer' })
    server.answer = { parts: ['{"res'], next: 'drop' }
    await expect(open().transcribe(0, 400, never)).rejects.toMatchObject({ code: 'unavailable' })
    server.answer = { next: 'hang' }
    await expect(open({ deadlineMs: 50 }).transcribe(0, 400, never)).rejects.toMatchObject({ code: 'timeout' })
    await until('closed', () => server.left === 1)
  })

  it('closes on abort and close', async () => {
    server.answer = { next: 'hang' }
    const abort = new AbortController()
    const first = expect(open().transcribe(0, 400, abort.signal)).rejects.toThrow('aborted')
    const stream = open()
    const second = expect(stream.transcribe(0, 400, never)).rejects.toThrow('aborted')
    await until('both asked', () => server.asked.length === 2)
    abort.abort()
    stream.close()
    await Promise.all([first, second])
    await until('both closed', () => server.left === 2)
  })
})
