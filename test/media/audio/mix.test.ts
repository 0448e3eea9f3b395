import { describe, expect, it } from 'vitest'
import { mix } from '../../../media/audio/mix.ts'

const pcm = (...samples: number[]) => Int16Array.from(samples)

describe('mixing', () => {
  it.each([
    ['nobody', null, null, null],
    ['the first', pcm(1, 2), null, pcm(1, 2)],
    ['the second', null, pcm(3, 4), pcm(3, 4)],
    ['both', pcm(1, -2), pcm(3, 4), pcm(4, 2)],
    ['too loud', pcm(30_000, -30_000), pcm(30_000, -30_000), pcm(32_767, -32_768)],
    ['of different length', pcm(1, 2, 3), pcm(1), pcm(2, 2, 3)],
  ])('%s', (_, a, b, both) => {
    expect(mix(a, b)).toEqual(both)
  })

  it('does not change its input', () => {
    const [a, b] = [pcm(1), pcm(2)]
    mix(a, b)
    expect([a, b]).toEqual([pcm(1), pcm(2)])
  })
})
