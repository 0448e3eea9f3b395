import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  allocate,
  type Capacity,
  type Demand,
  dueTokens,
  freeSlots,
  RAMP_MS,
  type Served,
} from '../../../control/outreach/campaigns/allocate.ts'

const demand = (id: string, ownerId: string, part: Partial<Demand> = {}): Demand => ({
  id,
  ownerId,
  wanted: 1000,
  slots: 1000,
  trunks: [`trunk of ${ownerId}`],
  ...part,
})
const room = (calls: number, part: { owners?: [string, number][]; trunks?: [string, number][] } = {}): Capacity => ({
  calls,
  owners: new Map(part.owners),
  trunks: new Map(part.trunks),
})
const of = (demands: Demand[], some: Capacity, served: Served = new Map()) =>
  Object.fromEntries(allocate(demands, some, served).grants)

describe('free capacity', () => {
  it('is shared between owners first, then between their campaigns', () => {
    const demands = [demand('a1', 'a'), demand('a2', 'a'), demand('a3', 'a'), demand('b1', 'b')]
    expect(of(demands, room(12))).toEqual({ a1: 2, a2: 2, a3: 2, b1: 6 })
  })

  it('goes to other campaigns when one cannot use it', () => {
    const demands = [
      demand('a1', 'a', { wanted: 1 }),
      demand('a2', 'a', { slots: 2 }),
      demand('b1', 'b'),
      demand('c1', 'c'),
    ]
    expect(of(demands, room(20, { owners: [['c', 4]] }))).toEqual({ a1: 1, a2: 2, b1: 13, c1: 4 })
    expect(of(demands, room(20, { trunks: [['trunk of b', 5]] }))).toEqual({ a1: 1, a2: 2, b1: 5, c1: 12 })
    expect(of(demands, room(0))).toEqual({})
  })

  it('uses the trunk with the most free capacity', () => {
    const demands = [demand('one', 'a', { trunks: ['x', 'y'] }), demand('two', 'a', { trunks: ['x'] })]
    expect(
      of(
        demands,
        room(100, {
          trunks: [
            ['x', 4],
            ['y', 4],
          ],
        }),
      ),
    ).toEqual({ one: 5, two: 3 })
  })

  it('rotates between owners when it is less than one each; idle time earns nothing', () => {
    let served: Served = new Map()
    const got: Record<string, number> = { a1: 0, b1: 0, c1: 0 }
    const run = (demands: Demand[], rounds: number) => {
      for (let i = 0; i < rounds; i++) {
        const result = allocate(demands, room(1), served)
        served = result.served
        for (const [id, count] of result.grants) got[id]! += count
      }
    }
    run([demand('a1', 'a'), demand('b1', 'b'), demand('c1', 'c')], 30)
    expect(got).toEqual({ a1: 10, b1: 10, c1: 10 })
    run([demand('a1', 'a'), demand('b1', 'b')], 20)
    run([demand('a1', 'a'), demand('b1', 'b'), demand('c1', 'c')], 30)
    expect(Math.max(...Object.values(got)) - Math.min(...Object.values(got))).toBeLessThanOrEqual(11)
    expect(got['c1']).toBeLessThanOrEqual(21)
  })

  it('is never exceeded, and never left unused while a campaign could use it', () => {
    const count = fc.integer({ min: 0, max: 9 })
    const demands = fc.uniqueArray(
      fc.record({
        id: fc.integer({ min: 1, max: 30 }).map(n => `campaign ${n}`),
        wanted: count,
        slots: count,
        ownerId: fc.constantFrom('a', 'b', 'c'),
        line: fc.subarray([1, 2], { minLength: 1 }),
      }),
      { selector: one => one.id },
    )
    const limits = fc.record({ a: count, b: count, c: count, t1: count, t2: fc.constant(Infinity) })
    fc.assert(
      fc.property(demands, limits, fc.integer({ min: 0, max: 40 }), (some, most, calls) => {
        const all = some.map(({ line, ...one }): Demand => ({ ...one, trunks: line.map(n => `${one.ownerId}${n}`) }))
        const owners = (['a', 'b', 'c'] as const).map((id): [string, number] => [id, most[id]])
        const trunks = ['a', 'b', 'c'].flatMap((id): [string, number][] => [[`${id}1`, most.t1]])
        const { grants } = allocate(all, room(calls, { owners, trunks }), new Map())
        const got = (one: Demand) => grants.get(one.id) ?? 0
        const sum = (demandsOf: Demand[]) => demandsOf.reduce((total, one) => total + got(one), 0)
        expect(sum(all)).toBeLessThanOrEqual(calls)
        for (const one of all) expect(got(one)).toBeLessThanOrEqual(Math.min(one.wanted, one.slots))
        for (const [id, limit] of owners) expect(sum(all.filter(one => one.ownerId === id))).toBeLessThanOrEqual(limit)
        for (const [id, limit] of trunks) {
          expect(sum(all.filter(one => one.trunks.length === 1 && one.trunks[0] === id))).toBeLessThanOrEqual(limit)
        }
        const hungry = all.filter(
          one =>
            got(one) < Math.min(one.wanted, one.slots) &&
            sum(all.filter(other => other.ownerId === one.ownerId)) < most[one.ownerId as 'a'] &&
            one.trunks.some(trunk => !trunks.some(([id]) => id === trunk)),
        )
        if (hungry.length > 0) expect(sum(all)).toBe(calls)
      }),
    )
  })
})

describe('call slots of a campaign', () => {
  it('are released evenly over time', () => {
    expect([0, 1000, 2500, RAMP_MS, 1e9].map(ms => freeSlots(50, 0, ms))).toEqual([1, 11, 26, 50, 50])
    expect(freeSlots(50, 20, 1000)).toBe(0)
    expect(freeSlots(1, 0, 0)).toBe(1)
  })
})

describe('rate tokens of a trunk', () => {
  it('are granted one second ahead, and at least one for a slow trunk', () => {
    expect(dueTokens(0, 100)).toBe(10)
    expect(dueTokens(450, 100)).toBe(5)
    expect(dueTokens(1000, 100)).toBe(0)
    expect(dueTokens(760, 100)).toBe(0) // not worth a claim yet
    expect(dueTokens(750, 100)).toBe(2)
    expect(dueTokens(700, 1035)).toBe(1)
    expect(dueTokens(0, 5000)).toBe(1)
    expect(dueTokens(4000, 5000)).toBe(0)
  })
})
