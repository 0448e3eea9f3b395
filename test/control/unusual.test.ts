/** The machine of the automatic stop, with simulated time. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type SpentHour,
  step,
  usualHour,
  type WatchInput,
  type WatchState,
} from '../../control/billing/unusual/machine.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const NOW = 1_800_000_000_000
const fresh: WatchState = { enabled: true, stop: null, resumedAtMs: null }

/** Countries that were called for the first time so many ms ago. */
const call = (ages: readonly number[], nowMs = NOW): WatchInput => ({
  type: 'call',
  calledSince: ages.map((age, index) => ({ country: `C${index}`, atMs: nowMs - age })),
  nowMs,
})
const hours = (count: number, spent: bigint, every = 3 * HOUR): SpentHour[] =>
  Array.from({ length: count }, (_, index) => ({ atMs: NOW - DAY - index * every, spent }))
const hour = (spent: bigint, earlier: readonly SpentHour[], least = 0n): WatchInput => ({
  type: 'hour',
  spent,
  earlier,
  least,
  nowMs: NOW,
})

describe('new countries', () => {
  test.each<[string, readonly number[], boolean]>([
    ['none', [], false],
    ['five within an hour', [0, 1, 2, 3, 59 * MINUTE], false],
    ['six within an hour', [0, 1, 2, 3, 4, 59 * MINUTE], true],
    ['a sixth an hour ago', [0, 1, 2, 3, 4, HOUR], false],
    ['ten within a day, five of them within an hour', [0, 1, 2, 3, 4, ...Array(5).fill(5 * HOUR)], false],
    ['eleven within a day', [0, 1, 2, ...Array(8).fill(23 * HOUR)], true],
    ['hundred more than a day ago', [0, ...Array(100).fill(DAY)], false],
  ])('%s', (_, ages, stops) => {
    const { stop } = step(fresh, call(ages))
    expect(stop?.reason ?? null).toBe(stops ? 'new_countries' : null)
  })

  test('are named, and those before a resumption do not count', () => {
    const { stop } = step(fresh, call([0, 1, 2, 3, 4, 5]))
    expect(stop).toEqual({ reason: 'new_countries', countries: ['C0', 'C1', 'C2', 'C3', 'C4', 'C5'], atMs: NOW })
    expect(step({ ...fresh, resumedAtMs: NOW - 2 }, call([0, 1, 2, 3, 4, 5])).stop).toBeNull()
    expect(step({ ...fresh, resumedAtMs: NOW - 6 }, call([0, 1, 2, 3, 4, 5])).stop).not.toBeNull()
  })
})

describe('spending', () => {
  test.each<[string, bigint, SpentHour[], bigint, boolean]>([
    ['ten times the usual hour', 1000n, hours(30, 100n), 0n, false],
    ['more than that', 1001n, hours(30, 100n), 0n, true],
    ['more than that, but little', 1001n, hours(30, 100n), 1001n, false],
    ['no usual hour: 23 hours', 1_000_000n, hours(23, 100n), 0n, false],
    ['no usual hour: two days', 1_000_000n, hours(40, 100n, 30 * MINUTE), 0n, false],
    ['hours without spending are no hours', 1_000_000n, [...hours(20, 100n), ...hours(40, 0n)], 0n, false],
    ['a new account', 1_000_000n, [], 0n, false],
  ])('%s', (_, spent, earlier, least, stops) => {
    const { stop } = step(fresh, hour(spent, earlier, least))
    expect(stop?.reason ?? null).toBe(stops ? 'spending' : null)
  })

  test('is compared with the mean of the hours in which something was spent', () => {
    expect(usualHour([...hours(12, 100n), ...hours(12, 300n, 7 * HOUR)])).toBe(200n)
  })
})

describe('the state', () => {
  const stopped = step(fresh, call([0, 1, 2, 3, 4, 5]))

  test('stays stopped with its first reason until it is resumed', () => {
    expect(step(stopped, hour(1001n, hours(30, 100n)))).toBe(stopped)
    expect(step(stopped, call([]))).toBe(stopped)
    const resumed = step(stopped, { type: 'resume', nowMs: NOW + 1 })
    expect(resumed).toEqual({ enabled: true, stop: null, resumedAtMs: NOW + 1 })
    expect(step(fresh, { type: 'resume', nowMs: NOW })).toBe(fresh)
  })

  test('is switched off without being resumed, and then never stops', () => {
    expect(step(stopped, { type: 'switch', on: false })).toEqual({ ...stopped, enabled: false })
    const off = step(fresh, { type: 'switch', on: false })
    expect(step(off, call([0, 1, 2, 3, 4, 5]))).toBe(off)
    expect(step(off, hour(1001n, hours(30, 100n)))).toBe(off)
  })

  test('is stopped by activity alone, and left by a resumption alone, whatever comes', () => {
    const input = fc.oneof(
      fc.array(fc.nat(2 * DAY), { maxLength: 15 }).map(ages => call(ages)),
      fc.bigInt(0n, 3000n).map(spent => hour(spent, hours(30, 100n))),
      fc.nat(1000).map((ms): WatchInput => ({ type: 'resume', nowMs: NOW + ms })),
      fc.boolean().map((on): WatchInput => ({ type: 'switch', on })),
    )
    fc.assert(
      fc.property(fc.array(input, { maxLength: 30 }), inputs => {
        let state = fresh
        for (const one of inputs) {
          const next = step(state, one)
          if (state.stop !== null && next.stop !== state.stop) expect(one.type).toBe('resume')
          if (state.stop === null && next.stop !== null) expect(state.enabled && /call|hour/.test(one.type)).toBe(true)
          state = next
        }
      }),
    )
  })
})
