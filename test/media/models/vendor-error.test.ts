import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { createElevenLabsTts } from '../../../media/models/elevenlabs.ts'
import { fallbackTts, type Switch } from '../../../media/models/fallback.ts'
import { createOpenAiTts } from '../../../media/models/openai-tts.ts'
import { createPcmReader } from '../../../media/models/speech-queue.ts'
import { errorOfStatus, parseRetryAfter, VendorError } from '../../../media/models/vendor-error.ts'
import { startFakeElevenLabs } from '../../fakes/vendors/elevenlabs.ts'
import { samples, startHttpVendor } from '../../fakes/vendors/http-vendor.ts'
import { until } from '../../fakes/vendors/ws-vendor.ts'

describe('vendor errors', () => {
  it.each([
    [400, 'bad_answer', false],
    [401, 'unauthorized', false],
    [402, 'unauthorized', false],
    [403, 'unauthorized', false],
    [404, 'bad_answer', false],
    [408, 'timeout', true],
    [429, 'rate_limited', true],
    [500, 'unavailable', true],
    [529, 'unavailable', true],
  ] as const)('maps HTTP %i to %s', (status, code, retryable) => {
    expect(errorOfStatus('v', status, null, 0)).toMatchObject({ code, retryable, status, retryAfterMs: null })
  })

  it('parses Retry-After as seconds or a date', () => {
    const now = Date.parse('2026-01-01T00:00:00Z')
    expect(parseRetryAfter('7', now)).toBe(7000)
    expect(parseRetryAfter('Thu, 01 Jan 2026 00:01:00 GMT', now)).toBe(60_000)
    expect(parseRetryAfter('Thu, 01 Jan 2025 00:01:00 GMT', now)).toBe(0)
    for (const bad of [null, '', 'soon', '-5x', '99999999999']) expect(parseRetryAfter(bad, now)).toBeNull()
  })

  it('may be marked as retryable', () => {
    expect(new VendorError('v', 'bad_answer', 'odd').retryable).toBe(false)
    expect(new VendorError('v', 'bad_answer', 'odd', { retryable: true }).retryable).toBe(true)
  })
})

describe('samples from bytes', () => {
  it('are the same wherever the bytes are cut', () => {
    const bytes = samples([1, -1, 256, -32_768, 32_767, 77])
    for (let size = 1; size <= bytes.length; size++) {
      const read = createPcmReader()
      const pcm: number[] = []
      for (let at = 0; at < bytes.length; at += size) pcm.push(...read(bytes.subarray(at, at + size)))
      expect(pcm).toEqual([1, -1, 256, -32_768, 32_767, 77])
    }
  })
})

describe('real adapters behind the fallback', () => {
  it('use the second provider in the same turn', async () => {
    const [first, second] = [await startFakeElevenLabs(), await startHttpVendor()]
    first.refuse = { status: 429, headers: { 'retry-after': '30' } }
    second.answer = { headers: { 'content-type': 'audio/pcm' }, parts: [samples([7, 8])] }
    const switches: Switch[] = []
    const clock = systemClock
    const tts = fallbackTts(
      [
        { name: 'a', tts: createElevenLabsTts({ apiKey: 'k', clock, voice: 'x', baseUrl: first.baseUrl }) },
        { name: 'b', tts: createOpenAiTts({ apiKey: 'k', clock, baseUrl: second.baseUrl }), voice: 'nova' },
      ],
      { clock, onSwitch: event => switches.push(event) },
    )
    const speak = async () => {
      const pcm: number[] = []
      for await (const chunk of tts.speak({ text: 'Hi', voice: 'x', language: 'en' }, new AbortController().signal)) {
        pcm.push(...chunk.pcm)
      }
      return pcm
    }
    expect(await speak()).toEqual([7, 8])
    expect(switches).toEqual([{ kind: 'tts', from: 'a', to: 'b', code: 'rate_limited' }])
    expect(JSON.parse(second.asked[0]!.body.toString())).toMatchObject({ input: 'Hi', voice: 'nova' })
    first.refuse = null
    expect(await speak()).toEqual([7, 8]) // Retry-After is kept to
    expect(first.requests).toHaveLength(1)
    await until('let go', () => first.open() === 0)
    await Promise.all([first.close(), second.close()])
  })
})
