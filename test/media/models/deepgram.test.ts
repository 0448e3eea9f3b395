import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { createDeepgramStt, type DeepgramOptions } from '../../../media/models/deepgram.ts'
import type { SttStream } from '../../../media/ports/speech.ts'
import { fakeClock } from '../../fakes/line.ts'
import { type FakeDeepgram, spoken, startFakeDeepgram } from '../../fakes/vendors/deepgram.ts'
import { until } from '../../fakes/vendors/ws-vendor.ts'
import { recordingLog } from '../../support/world.ts'

const KEY = 'dg-secret-key'
let server: FakeDeepgram
let log: ReturnType<typeof recordingLog>
let streams: SttStream[]
const never = new AbortController().signal

beforeEach(async () => {
  server = await startFakeDeepgram()
  log = recordingLog()
  streams = []
})
afterEach(async () => {
  for (const stream of streams) stream.close()
  await until('all sockets closed', () => server.open() === 0)
  await server.close()
})

function open(options: Partial<DeepgramOptions> = {}, sampleRate = 8000): SttStream {
  const stt = createDeepgramStt({ apiKey: KEY, clock: systemClock, log, baseUrl: server.baseUrl, ...options })
  const stream = stt.open({ sampleRate, language: 'en' })
  streams.push(stream)
  return stream
}

/** In frames of 20 ms, the first off the wire at `fromMs`. Returns the wire time of the last. */
function push(stream: SttStream, pcm: Int16Array, fromMs: number, rate = 8000): number {
  const samples = rate / 50
  let atMs = fromMs - 20
  for (let at = 0; at < pcm.length; at += samples) {
    atMs += 20
    stream.push({ pcm: pcm.subarray(at, at + samples), atMs, concealed: false })
  }
  return atMs
}

const talk = (rate = 8000) =>
  spoken(rate, [
    [0, 200],
    [1, 300],
    [0, 100],
    [2, 300],
    [0, 200],
  ])

describe('deepgram', () => {
  it('sends audio, sends Finalize and returns the text', async () => {
    const stream = open()
    const endMs = push(stream, talk(), 5000)
    expect(await stream.transcribe(5000, endMs, never)).toEqual({ text: 'w1, w2,', confidence: expect.closeTo(0.98) })
    expect(server.controls).toEqual(['Finalize'])
    const { url, headers } = server.requests[0]!
    expect(headers.authorization).toBe(`Token ${KEY}`)
    expect(url).toMatch(/^\/v1\/listen\?/)
    expect(Object.fromEntries(new URL(url!, 'http://x').searchParams)).toMatchObject({
      model: 'nova-3',
      language: 'en',
      encoding: 'linear16',
      sample_rate: '8000',
      interim_results: 'true',
    })
  })

  it('separates utterances by wire time, across packet gaps', async () => {
    const stream = open()
    const first = push(
      stream,
      spoken(8000, [
        [1, 400],
        [0, 200],
      ]),
      1000,
    )
    const second = push(
      stream,
      spoken(8000, [
        [2, 400],
        [0, 200],
      ]),
      9000,
    )
    expect((await stream.transcribe(9000, second, never)).text).toBe('w2,')
    expect((await stream.transcribe(1000, first, never)).text).toBe('w1,')
    expect((await stream.transcribe(1000, second, never)).text).toBe('w1, w2,')
    expect(server.controls).toEqual(['Finalize']) // what is final needs no more
  })

  it('transcribes again for a longer utterance', async () => {
    const stream = open()
    const first = push(
      stream,
      spoken(8000, [
        [1, 400],
        [0, 200],
      ]),
      1000,
    )
    expect((await stream.transcribe(1000, first, never)).text).toBe('w1,')
    const second = push(
      stream,
      spoken(8000, [
        [2, 400],
        [0, 200],
      ]),
      first + 20,
    )
    expect((await stream.transcribe(1000, second, never)).text).toBe('w1, w2,')
  })

  it.each([8000, 16_000])('sends µ-law or linear at %i Hz', async rate => {
    const stream = open({ encoding: rate === 8000 ? 'mulaw' : 'linear16' }, rate)
    const endMs = push(stream, talk(rate), 0, rate)
    expect((await stream.transcribe(0, endMs, never)).text).toBe('w1, w2,')
  })

  it('returns empty text for silence', async () => {
    const stream = open()
    const endMs = push(stream, spoken(8000, [[0, 600]]), 0)
    expect(await stream.transcribe(0, endMs, never)).toEqual({ text: '', confidence: null })
  })

  it('sends KeepAlive without packets', async () => {
    const clock = fakeClock()
    const stream = open({ clock })
    push(stream, talk(), 0)
    await until('connected', () => server.samples[0]! > 0)
    clock.advance(8100)
    await until('kept alive', () => server.controls.length >= 2)
    expect(server.controls).toEqual(['KeepAlive', 'KeepAlive'])
  })

  it('resends audio that was not final', async () => {
    const stream = open()
    const first = push(
      stream,
      spoken(8000, [
        [1, 400],
        [0, 200],
      ]),
      1000,
    )
    await stream.transcribe(1000, first, never)
    const middle = push(stream, spoken(8000, [[2, 400]]), first + 20)
    await until('all sent', () => server.samples[0] === 8000)
    server.drop()
    await until('dropped', () => server.open() === 0)
    const last = push(
      stream,
      spoken(8000, [
        [3, 400],
        [0, 200],
      ]),
      middle + 20,
    )
    expect((await stream.transcribe(1000, last, never)).text).toBe('w1, w2, w3,')
    expect(server.samples[1]).toBe(8000) // w2 and w3, not w1 again
  })

  it('reconnects during a request', async () => {
    server.neverFinal = true
    const stream = open()
    const endMs = push(stream, talk(), 0)
    const text = stream.transcribe(0, endMs, never)
    await until('asked', () => server.controls.includes('Finalize'))
    server.neverFinal = false
    server.drop()
    expect((await text).text).toBe('w1, w2,')
  })

  it('ignores interim results, unless only a little is missing', async () => {
    server.finalizeUnanswered = true
    const stream = open({ deadlineMs: 700 })
    const first = push(stream, talk(), 0)
    await until('heard', () => server.samples[0] === 8800)
    server.interim()
    await expect(stream.transcribe(0, first, never)).rejects.toMatchObject({ code: 'timeout' })
    await until('heard anew', () => server.samples[1] === 8800)
    server.endpoint()
    const last = push(stream, spoken(8000, [[3, 200]]), first + 20)
    await until('heard more', () => server.samples[1] === 10_400)
    server.interim()
    expect((await stream.transcribe(0, last, never)).text).toBe('w1, w2, w3,')
  })

  it('reconnects when the server never answers', async () => {
    server.neverFinal = true
    const stream = open({ deadlineMs: 80 })
    const endMs = push(stream, talk(), 0)
    await expect(stream.transcribe(0, endMs, never)).rejects.toMatchObject({ code: 'timeout' })
    server.neverFinal = false
    await until('heard anew', () => server.samples[1] === 8800)
    expect((await stream.transcribe(0, endMs, never)).text).toBe('w1, w2,')
  })

  it('reports a timeout when it never finalises', async () => {
    server.neverFinal = true
    const stream = open({ deadlineMs: 80 })
    const endMs = push(stream, talk(), 0)
    await expect(stream.transcribe(0, endMs, never)).rejects.toMatchObject({ code: 'timeout', retryable: true })
  })

  it('returns early when only a little is not final', async () => {
    server.finalizeUnanswered = true
    const stream = open({ deadlineMs: 2500 })
    push(stream, talk(), 0)
    await until('heard', () => server.samples[0] === 8800)
    server.endpoint()
    const endMs = push(stream, spoken(8000, [[0, 200]]), 1100)
    expect((await stream.transcribe(0, endMs, never)).text).toBe('w1, w2,')
  })

  it.each([
    { status: 401, code: 'unauthorized', retryable: false },
    { status: 402, code: 'unauthorized', retryable: false },
    { status: 400, code: 'bad_answer', retryable: false },
    { status: 429, code: 'rate_limited', retryable: true },
    { status: 503, code: 'unavailable', retryable: true },
  ])('reports a handshake rejected with $status at once', async ({ status, code, retryable }) => {
    server.refuse = { status, headers: { 'retry-after': '7', 'dg-error': 'no' }, body: { err_code: 'X', err_msg: KEY } }
    const stream = open()
    const endMs = push(stream, talk(), 0)
    const failure = { name: 'VendorError', code, retryable, status, retryAfterMs: 7000 }
    await expect(stream.transcribe(0, endMs, never)).rejects.toMatchObject(failure)
    await expect(stream.transcribe(0, endMs, never)).rejects.toMatchObject(failure) // and while it stays away
  })

  it('reconnects after a temporary rejection', async () => {
    server.refuse = { status: 503 }
    const stream = open()
    const endMs = push(stream, talk(), 0)
    await expect(stream.transcribe(0, endMs, never)).rejects.toMatchObject({ code: 'unavailable' })
    server.refuse = null
    await until('connected', () => server.open() === 1)
    await until('resent', () => server.samples[0] === 8800)
    expect((await stream.transcribe(0, endMs, never)).text).toBe('w1, w2,')
  })

  it('stops retrying with a wrong key', async () => {
    const clock = fakeClock()
    server.refuse = { status: 401 }
    open({ clock })
    await until('refused', () => log.lines.length === 1)
    clock.advance(60_000)
    await new Promise(resolve => setTimeout(resolve, 30))
    expect(server.requests).toHaveLength(1)
  })

  it('times out a handshake', async () => {
    const clock = fakeClock()
    server.sttUnavailable = true
    const stream = open({ clock })
    push(stream, talk(), 0)
    await until('asked', () => server.requests.length === 1)
    const failed = expect(stream.transcribe(0, 1000, never)).rejects.toMatchObject({ code: 'timeout' })
    clock.advance(3000)
    await failed
  })

  it('treats DATA-0000 as our error, NET-0001 as a drop', async () => {
    server.neverFinal = true
    const stream = open()
    const endMs = push(stream, talk(), 0)
    const text = stream.transcribe(0, endMs, never)
    await until('asked', () => server.controls.length === 1)
    server.closeWith(1011, 'NET-0001')
    await until('again', () => server.controls.length === 2)
    server.closeWith(1008, 'DATA-0000')
    await expect(text).rejects.toMatchObject({ code: 'bad_answer', retryable: false, status: 1008 })
  })

  it.each(['{"type":"Results"', '{"type":"Results","start":"x"}', '{"type":"Error","description":"boom"}', '[]'])(
    'restarts after %s',
    async nonsense => {
      server.neverFinal = true
      const stream = open()
      const endMs = push(stream, talk(), 0)
      const text = stream.transcribe(0, endMs, never)
      await until('asked', () => server.controls.length === 1)
      server.neverFinal = false
      server.say(nonsense)
      expect((await text).text).toBe('w1, w2,')
      expect(server.requests).toHaveLength(2)
    },
  )

  it('ignores other messages', async () => {
    const stream = open()
    const endMs = push(stream, talk(), 0)
    await until('heard', () => server.samples[0] === 8800)
    server.say('{"type":"SpeechStarted","channel":[0],"timestamp":1.2}')
    server.say('{"type":"UtteranceEnd","channel":[0,1],"last_word_end":1.1}')
    expect((await stream.transcribe(0, endMs, never)).text).toBe('w1, w2,')
    expect(server.requests).toHaveLength(1)
  })

  it('supports abort and close (CloseStream)', async () => {
    server.neverFinal = true
    const stream = open()
    const endMs = push(stream, talk(), 0)
    const abort = new AbortController()
    const first = stream.transcribe(0, endMs, abort.signal)
    const second = stream.transcribe(0, endMs, never)
    await until('asked', () => server.controls.includes('Finalize'))
    abort.abort()
    await expect(first).rejects.toThrow('aborted')
    stream.close()
    await expect(second).rejects.toThrow('aborted')
    await until('closed', () => server.open() === 0)
    expect(server.controls.at(-1)).toBe('CloseStream')
    stream.push({ pcm: talk(), atMs: 9999, concealed: false })
    await expect(stream.transcribe(0, 1, never)).rejects.toThrow('aborted')
  })

  it('logs neither key nor words', async () => {
    const stream = open()
    const endMs = push(stream, talk(), 0)
    await stream.transcribe(0, endMs, never)
    server.closeWith(1011, `NET-0000 ${KEY} w1`)
    await until('told', () => log.lines.length === 1)
    expect(log.lines[0]).toMatchObject({ level: 'warn', message: 'stt connection lost' })
    expect(JSON.stringify(log.lines)).not.toMatch(/secret|w1|w2/)
  })
})
