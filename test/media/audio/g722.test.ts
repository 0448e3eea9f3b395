import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createConcealer } from '../../../media/audio/conceal.ts'
import { G722Decoder, G722Encoder } from '../../../media/audio/g722.ts'
import { speech } from './sound.ts'

/** The linear congruential generator of C's standard, so that any implementation can be given the same sound. */
function noise(samples: number, percent: number): Int16Array {
  let state = 1n
  return Int16Array.from({ length: samples }, () => {
    state = (state * 1_103_515_245n + 12_345n) & 0x7fffffffn
    return Math.floor((((Number(state) >> 15) & 0xffff) - 32_768) * (percent / 100))
  })
}
const square = Int16Array.from({ length: 16_000 }, (_, i) => (Math.floor(i / 37) % 2 ? 32_767 : -32_768))
const sha = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex').slice(0, 32)
const bytesOf = (pcm: Int16Array) => new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength)
const there = (pcm: Int16Array) => new G722Decoder().decode(new G722Encoder().encode(pcm))

describe('G.722', () => {
  // Made once with libspandsp 2.0, the codec of Asterisk, FreeSWITCH and baresip.
  it.each([
    ['full scale noise', noise(32_000, 100), '378c0ea90ec0dd830e8938900c75f697'],
    ['quiet noise', noise(32_000, 3), 'be90857543796e5ed5f691156a6226cc'],
    ['a square wave at the rails', square, '20e70168e306e807292227f369b67d00'],
  ])('encodes %s identically to the reference', (_name, pcm, bytes) => {
    expect(sha(new G722Encoder().encode(pcm))).toBe(bytes)
  })

  it('decodes identically to the reference', () => {
    expect(sha(bytesOf(there(noise(32_000, 3))))).toBe('bb62d85eb22f758ee8bd9e87cf8dfe52')
  })

  it('clips to 16 bits', () => {
    const [first, last] = [there(square).indexOf(32_767), there(square).indexOf(-32_768)]
    expect(Math.min(first, last)).toBeGreaterThan(0)
    const bytes = Uint8Array.from({ length: 20_000 }, (_, i) => (i * 7919 + (i >> 3) * 104_729) & 0xff)
    expect(new G722Decoder().decode(bytes)).toHaveLength(40_000)
  })

  it('preserves speech and a tone in each band', () => {
    // The two filters together take 22 samples.
    const signalToNoise = (pcm: Int16Array) => {
      const heard = there(pcm)
      let [signal, error] = [0, 0]
      for (let i = 400; i < pcm.length - 22; i++) {
        signal += pcm[i]! ** 2
        error += (pcm[i]! - heard[i + 22]!) ** 2
      }
      return 10 * Math.log10(signal / error)
    }
    const tone = (hz: number) =>
      Int16Array.from({ length: 16_000 }, (_, i) => 8000 * Math.sin((2 * Math.PI * hz * i) / 16_000))
    expect(signalToNoise(tone(1000))).toBeGreaterThan(30)
    expect(signalToNoise(tone(6000))).toBeGreaterThan(12)
    expect(signalToNoise(speech(16_000))).toBeGreaterThan(20)
  })

  it('is independent of chunk sizes', () => {
    const pcm = noise(3200, 20)
    const [whole, encoder, decoder] = [there(pcm), new G722Encoder(), new G722Decoder()]
    const parts: number[] = []
    for (let at = 0; at < pcm.length; at += 160)
      parts.push(...decoder.decode(encoder.encode(pcm.subarray(at, at + 160))))
    expect(parts).toEqual([...whole])
  })

  it('accepts odd lengths and empty input', () => {
    expect(new G722Encoder().encode(new Int16Array(3))).toHaveLength(1)
    expect(new G722Decoder().decode(new Uint8Array(0))).toHaveLength(0)
    expect(createConcealer(16_000).good(new Int16Array(0))).toHaveLength(0)
  })
})
