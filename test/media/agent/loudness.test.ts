import { describe, expect, it } from 'vitest'
import { type LoudnessState, listenLevel, quiet } from '../../../media/agent/loudness.ts'
import { fromFirstSound } from '../../../media/agent/speech-output.ts'

let seed = 1
const noise = (level: number) => {
  seed = (seed * 16_807) % 2_147_483_647
  return ((seed / 2_147_483_647) * 2 - 1) * level * Math.sqrt(3)
}
/** 20 ms of noise with this RMS. */
const frame = (level: number, atMs: number) => ({
  pcm: Int16Array.from({ length: 160 }, () => noise(level)),
  atMs,
  concealed: false,
})

function hear(levels: [level: number, ms: number][]): {
  state: LoudnessState
  endOfFirst: (index: number) => number
} {
  let state = quiet
  let atMs = 0
  const ends: number[] = []
  for (const [level, ms] of levels) {
    for (let done = 0; done < ms; done += 20) {
      atMs += 20
      state = listenLevel(state, frame(level, atMs))
    }
    ends.push(atMs)
  }
  return { state, endOfFirst: index => ends[index]! }
}

describe('the end of loud sound', () => {
  it.each([
    ['on a silent line', 0],
    ['on a quiet line', 40],
    ['on a noisy line', 250],
  ])('is exact to one frame %s', (_, room) => {
    const { state, endOfFirst } = hear([
      [room, 2000],
      [4000, 1200],
      [room, 600],
    ])
    expect(state.lastMs).toBe(endOfFirst(1))
  })

  it('includes soft speech after loud speech', () => {
    const { state, endOfFirst } = hear([
      [20, 1000],
      [6000, 400],
      [700, 300],
      [20, 500],
    ])
    expect(state.lastMs).toBe(endOfFirst(2))
  })

  it('ignores breath', () => {
    const { state, endOfFirst } = hear([
      [20, 1000],
      [6000, 600],
      [120, 200],
      [20, 300],
    ])
    expect(state.lastMs).toBe(endOfFirst(1))
  })

  it('does not take long speech for background noise', () => {
    const syllables = Array.from({ length: 100 }, (): [number, number][] => [
      [3000, 240],
      [400, 60],
    ]).flat()
    const { state, endOfFirst } = hear([[30, 1000], ...syllables, [3000, 200], [30, 300]])
    expect(state.lastMs).toBe(endOfFirst(syllables.length + 1))
  })

  it('adapts to louder background noise', () => {
    const { state, endOfFirst } = hear([
      [20, 2000],
      [500, 4000],
      [5000, 600],
      [500, 400],
    ])
    expect(state.lastMs).toBe(endOfFirst(2))
  })
})

describe('the silence before the first sound', () => {
  it('is trimmed to ten milliseconds', () => {
    const pcm = new Int16Array(2205 * 2)
    pcm.fill(3000, 2205)
    expect(Math.abs(fromFirstSound(pcm, 22_050).length - 2205 - 220.5)).toBeLessThan(1)
  })
  it('is the whole of a silent clip', () => {
    expect(fromFirstSound(new Int16Array(500).fill(20), 22_050)).toHaveLength(0)
  })
})
