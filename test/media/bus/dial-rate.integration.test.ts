/** Rate limit of a trunk, shared by all engines in Redis: never exceeded, also after a stall. */
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { createDialRateLimiter, MAX_LATE_MS, rateTokenMs, TAKE_RATE_TOKEN } from '../../../media/bus/dial-rate.ts'
import type { Clock } from '../../../media/shared/clock.ts'

let redis: Redis
beforeAll(() => {
  redis = new Redis(inject('redisUrl'))
})
afterAll(() => redis?.disconnect())

const keyOf = (trunkId: string) => `test-turn:${trunkId}`
const never = new AbortController().signal

/** The most of them in any second. */
function most(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b)
  return Math.max(0, ...sorted.map((from, index) => sorted.slice(index).filter(at => at < from + 1000).length))
}

describe('rate tokens', () => {
  it('never exceed the rate of the trunk, in order and without loss', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 20 }),
        // Ms since the one before: many at once, a trickle, a pause, a stall.
        fc.array(fc.oneof(fc.constant(0), fc.nat(300), fc.nat(5000)), { maxLength: 60 }),
        // Milliseconds by which each token is used late.
        fc.array(fc.integer({ min: 0, max: MAX_LATE_MS }), { minLength: 60, maxLength: 60 }),
        async (maxCps, gaps, late) => {
          const key = keyOf(randomUUID())
          let now = 1_000_000
          const asked = gaps.map(gap => (now += gap))
          const asking = redis.pipeline()
          for (const at of asked) asking.eval(TAKE_RATE_TOKEN, 1, key, rateTokenMs(maxCps), 1e9, at)
          const waits = (await asking.exec())!.map(([error, wait]) => (error ? Number.NaN : Number(wait)))
          const turns = waits.map((wait, index) => asked[index]! + wait)
          expect(turns).toEqual(turns.toSorted((a, b) => a - b))
          expect(most(turns.map((turn, index) => turn + late[index]!))).toBeLessThanOrEqual(maxCps)
          // Nobody waits for longer than those before take.
          for (const [index, wait] of waits.entries()) {
            expect(wait).toBeLessThanOrEqual(index * rateTokenMs(maxCps) + 0.01)
          }
        },
      ),
      { numRuns: 60 },
    )
  })

  it('beyond the maximum wait are not issued, at no cost for others', async () => {
    const key = keyOf(randomUUID())
    const ask = (patience: number, at: number) => redis.eval(TAKE_RATE_TOKEN, 1, key, 1000, patience, at)
    expect(Number(await ask(0, 5000))).toBe(0)
    expect(Number(await ask(999, 5000))).toBe(-1)
    expect(Number(await ask(1000, 5000))).toBe(1000)
    expect(Number(await ask(0, 9000))).toBe(0)
  })
})

describe('dials', () => {
  /** A clock whose timers all stand still while it is stalled, as those of a process that does. */
  function stalling() {
    let until: Promise<void> | null = null
    let go = () => {}
    const clock: Clock = {
      ...systemClock,
      after: (ms, run) => {
        let on = true
        const cancel = systemClock.after(ms, () => void (until ?? Promise.resolve()).then(() => on && run()))
        return () => {
          on = false
          cancel()
        }
      },
    }
    const stall = () => (until = new Promise(resolve => (go = resolve)))
    const resume = () => {
      until = null
      go()
    }
    return { clock, stall, resume }
  }

  const dialer = (clock: Clock, trunkId: string, maxCps: number, made: number[]) => {
    const pace = createDialRateLimiter({ redis, key: keyOf, clock })
    return async (maxWaitMs = 20_000, signal = never) => {
      const may = await pace({ trunkId, maxCps, maxWaitMs, signal })
      if (may) made.push(performance.now())
      return may
    }
  }

  it('of a stalled process take new tokens', async () => {
    const [trunkId, made, maxCps] = [randomUUID(), [] as number[], 20]
    const [one, other] = [stalling(), stalling()]
    const [first, second] = [one, other].map(({ clock }) => dialer(clock, trunkId, maxCps, made))
    const early = Array.from({ length: 10 }, () => first!())
    one.stall()
    await new Promise(resolve => setTimeout(resolve, 700)) // all those turns pass
    const before = made.length
    const late = Array.from({ length: 10 }, () => second!())
    one.resume()
    expect(await Promise.all([...early, ...late])).toEqual(Array(20).fill(true))
    expect(before).toBeLessThan(10)
    expect(most(made)).toBeLessThanOrEqual(maxCps)
    // Nothing that waited went at once with what waited beside it.
    const after = made.toSorted((a, b) => a - b).slice(before)
    expect(after.at(-1)! - after[0]!).toBeGreaterThan((after.length - 1) * 0.9 * rateTokenMs(maxCps) - MAX_LATE_MS * 2)
  })

  it('delayed by Redis take new tokens', async () => {
    const [trunkId, made, maxCps] = [randomUUID(), [] as number[], 10]
    const dial = dialer(systemClock, trunkId, maxCps, made)
    const held = { eval: (...args: Parameters<Redis['eval']>) => stood.then(() => redis.eval(...args)) }
    let go = () => {}
    const stood = new Promise<void>(resolve => (go = resolve))
    const behind = createDialRateLimiter({ redis: held as unknown as Redis, key: keyOf, clock: systemClock })
    const waiting = Array.from({ length: 6 }, async () => {
      const may = await behind({ trunkId, maxCps, maxWaitMs: 20_000, signal: never })
      made.push(performance.now())
      return may
    })
    setTimeout(go, 300)
    expect(await Promise.all([...waiting, dial(), dial()])).toEqual(Array(8).fill(true))
    expect(most(made)).toBeLessThanOrEqual(maxCps)
    const sorted = made.toSorted((a, b) => a - b)
    expect(sorted.at(-1)! - sorted[0]!).toBeGreaterThan(7 * 0.9 * rateTokenMs(maxCps) - MAX_LATE_MS * 2)
  })

  it('are abandoned after the maximum wait, without Redis, and on abort', async () => {
    const [trunkId, made] = [randomUUID(), [] as number[]]
    const dial = dialer(systemClock, trunkId, 0.01, made) // a turn in 105 s
    expect(await dial()).toBe(true)
    expect(await dial(500)).toBe(false)
    const silent = createDialRateLimiter({
      redis: { eval: () => new Promise(() => {}) } as never,
      key: keyOf,
      clock: systemClock,
    })
    expect(await silent({ trunkId, maxCps: 1, maxWaitMs: 50, signal: never })).toBe(false)
    const abort = new AbortController()
    const given = dial(20_000, abort.signal)
    abort.abort()
    expect(await given).toBe(false)
    expect(made).toHaveLength(1)
  })
})
