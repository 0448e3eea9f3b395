import { describe, expect, it } from 'vitest'
import { decodeG711, encodeG711, type G711, SILENCE } from '../../../media/audio/g711.ts'

const allBytes = Uint8Array.from({ length: 256 }, (_, i) => i)
const encode = (codec: G711, pcm: readonly number[]) => {
  const out = new Uint8Array(pcm.length)
  encodeG711(codec, Int16Array.from(pcm), out)
  return [...out]
}

describe.each<[G711, [number, number][]]>([
  // Points of the decision tables of ITU-T G.711 (2a and 1a), scaled to 16 bits.
  [
    'PCMU',
    [
      [0xff, 0],
      [0x7f, 0],
      [0x80, 32_124],
      [0x00, -32_124],
      [0xf0, 120],
      [0xef, 132],
      [0x8f, 16_764],
    ],
  ],
  [
    'PCMA',
    [
      [0xd5, 8],
      [0x55, -8],
      [0xaa, 32_256],
      [0x2a, -32_256],
      [0xc5, 264],
      [0x80, 5504],
    ],
  ],
])('%s', (codec, points) => {
  it.each(points)('decodes 0x%x as the standard says', (byte, sample) => {
    expect(decodeG711(codec, Uint8Array.of(byte))[0]).toBe(sample)
  })

  it('round-trips every byte except the two zeros of µ-law', () => {
    const again = encode(codec, [...decodeG711(codec, allBytes)])
    const different = [...allBytes].filter(byte => again[byte] !== byte)
    expect(different).toEqual(codec === 'PCMU' ? [0x7f] : [])
  })

  it('errs by less than half a step over the whole range', () => {
    for (let sample = -32_768; sample <= 32_767; sample += 7) {
      const decoded = decodeG711(codec, Uint8Array.from(encode(codec, [sample])))[0]!
      const step = Math.max(16, Math.abs(sample) / 16)
      expect(Math.abs(decoded - Math.max(-32_256, Math.min(32_256, sample)))).toBeLessThanOrEqual(step)
    }
  })

  it('keeps silence silent', () => {
    expect(Math.abs(decodeG711(codec, Uint8Array.of(SILENCE[codec]))[0]!)).toBeLessThanOrEqual(8)
    expect(encode(codec, [0])).toEqual([SILENCE[codec]])
  })
})
