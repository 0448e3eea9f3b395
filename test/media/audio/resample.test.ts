import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatPcm, createChunker, rms } from '../../../media/audio/frames.ts'
import { createResampler } from '../../../media/audio/resample.ts'
import { decodeWav, encodeWav } from '../../../media/audio/wav.ts'

const tone = (hz: number, rate: number, ms: number, amplitude = 10_000) =>
  Int16Array.from({ length: (rate * ms) / 1000 }, (_, i) =>
    Math.round(amplitude * Math.sin((2 * Math.PI * hz * i) / rate)),
  )

const convert = (pcm: Int16Array, from: number, to: number) => {
  const resampler = createResampler(from, to)
  return concatPcm([resampler.push(pcm), resampler.flush()])
}
const middle = (pcm: Int16Array) => pcm.subarray(pcm.length >> 2, (pcm.length * 3) >> 2)

describe('resampler', () => {
  it.each([
    [22_050, 8000],
    [8000, 16_000],
    [48_000, 8000],
    [16_000, 8000],
    [8000, 48_000],
  ])('keeps a tone of 1 kHz from %i to %i Hz', (from, to) => {
    const out = convert(tone(1000, from, 500), from, to)
    expect(out.length).toBeCloseTo(to / 2, -2)
    expect(rms(middle(out)) / (10_000 / Math.SQRT2)).toBeCloseTo(1, 1)
  })

  it.each([
    [22_050, 6000],
    [16_000, 5500],
    [48_000, 9000],
  ])('removes aliases: %i Hz, tone of %i', (from, hz) => {
    const out = convert(tone(hz, from, 500), from, 8000)
    expect(20 * Math.log10(rms(middle(out)) / (10_000 / Math.SQRT2))).toBeLessThan(-50)
  })

  it('passes a constant unchanged', () => {
    const out = convert(new Int16Array(4000).fill(1234), 22_050, 8000)
    for (const sample of middle(out)) expect(Math.abs(sample - 1234)).toBeLessThanOrEqual(1)
  })

  it('is independent of chunk sizes', () => {
    const sound = tone(700, 22_050, 100)
    const whole = convert(sound, 22_050, 8000)
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 20 }), sizes => {
        const resampler = createResampler(22_050, 8000)
        const parts: Int16Array[] = []
        let at = 0
        for (const size of sizes) {
          parts.push(resampler.push(sound.subarray(at, at + size)).slice())
          at += size
        }
        parts.push(resampler.push(sound.subarray(at)).slice(), resampler.flush())
        expect([...concatPcm(parts)]).toEqual([...whole])
      }),
    )
  })
})

describe('chunker and WAVE', () => {
  it('cuts into whole chunks and keeps the rest', () => {
    const chunker = createChunker(160)
    expect(chunker.push(new Int16Array(100))).toHaveLength(0)
    expect(chunker.push(new Int16Array(250)).map(chunk => chunk.length)).toEqual([160, 160])
    expect(chunker.rest()).toHaveLength(30)
    expect(chunker.rest()).toBeNull()
  })

  it('reads its own files, and rejects others', () => {
    const wav = { sampleRate: 8000, channels: 2, pcm: tone(440, 8000, 20) }
    expect(decodeWav(encodeWav(wav))).toEqual(wav)
    expect(() => decodeWav(Buffer.from('no sound at all, only words in a row, 44 bytes.'))).toThrow(
      'The file is not a WAVE file',
    )
  })
})
