import { describe, expect, it } from 'vitest'
import { RateLimiter } from '../../../media/room/rate-limiter.ts'

describe('an allowance', () => {
  it('is so many at once, and then so many a second', () => {
    const allowance = new RateLimiter({ atOnce: 3, perSecond: 2 })
    const taken = (nowMs: number, times: number) =>
      Array.from({ length: times }, () => allowance.take(nowMs)).filter(Boolean).length
    expect(taken(1000, 5)).toBe(3)
    expect(taken(1400, 5)).toBe(0)
    expect(taken(1500, 5)).toBe(1)
    expect(taken(2500, 5)).toBe(2)
    expect(taken(60_000, 5)).toBe(3)
  })
})
