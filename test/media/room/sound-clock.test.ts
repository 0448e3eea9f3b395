import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AudioClock } from '../../../media/room/audio-clock.ts'

const HOUR = 180_000 // frames

/** Arrivals of frames, and what the clock makes of them. */
const told = (arrivals: number[]) => {
  const clock = new AudioClock()
  return arrivals.map(nowMs => clock.at(nowMs))
}

describe('sender clock', () => {
  it('equals the arrival time when evenly spaced', () => {
    expect(told([100, 120, 140, 160])).toEqual([100, 120, 140, 160])
  })

  it.each([
    ['in bunches', [1000, 1060, 1060, 1060, 1120, 1120, 1120], [1000, 1020, 1040, 1060, 1080, 1100, 1120]],
    ['late, once', [1000, 1020, 1065, 1065, 1080], [1000, 1020, 1040, 1060, 1080]],
    ['sooner than the first', [1000, 1005, 1025, 1045], [1000, 1005, 1025, 1045]],
    ['after a gap', [1000, 1020, 1500, 1520], [1000, 1020, 1500, 1520]],
  ])('is estimated for frames %s', (_, arrivals, times) => {
    expect(told(arrivals)).toEqual(times)
  })

  it.each([
    ['500 ppm slower', 20 * 1.0005],
    ['500 ppm faster', 20 * 0.9995],
    ['2 % slower', 20.4],
    ['2 % faster', 19.6],
  ])('does not drift in an hour with a clock %s', (_, everyMs) => {
    const jitter = (i: number) => [0, 14, 3, 9, 0, 18][i % 6]!
    const sentMs = Array.from({ length: HOUR }, (_, i) => i * everyMs)
    const times = told(sentMs.map((ms, i) => ms + jitter(i)))
    const off = times.map((atMs, i) => atMs - sentMs[i]!)
    expect(off.reduce((most, ms) => Math.max(most, Math.abs(ms)), 0)).toBeLessThan(42)
  })

  it('catches up after an unmarked loss', () => {
    const arrivals: number[] = []
    for (let nowMs = 0; nowMs < 30_000; nowMs += nowMs % 1000 === 0 && nowMs < 10_000 ? 120 : 20) arrivals.push(nowMs)
    const times = told(arrivals)
    expect(times.at(-1)).toBe(arrivals.at(-1))
  })

  it('is never in the future and never decreases', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 400 }), gaps => {
        let nowMs = 0
        const arrivals = gaps.map(gap => (nowMs += gap))
        const times = told(arrivals)
        for (const [i, atMs] of times.entries()) {
          expect(atMs).toBeLessThanOrEqual(arrivals[i]!)
          expect(atMs).toBeGreaterThanOrEqual(times[i - 1] ?? 0)
        }
      }),
    )
  })

  it('reports lateness', () => {
    const even = new AudioClock()
    for (let i = 0; i < 100; i++) even.at(i * 20)
    expect(even.jitterMs).toBe(0)
    const uneven = new AudioClock()
    for (let i = 0; i < 100; i++) uneven.at(i * 20 + (i % 2) * 10)
    expect(uneven.jitterMs).toBeGreaterThan(4)
    expect(uneven.jitterMs).toBeLessThan(6)
  })
})
