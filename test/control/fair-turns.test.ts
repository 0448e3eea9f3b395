/** Turns of owners at work that costs much time. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BUDGET_MS, chooseTurn, FairTurns, OwnerUsage } from '../../control/platform/jobs/fair-turns.ts'

const never = new AbortController().signal
class FakeClock {
  nowMs = 0
  now = () => this.nowMs
}
let clock = new FakeClock()

const settled = () => new Promise(resolve => setImmediate(resolve))

/** Work that ends when the test says so. */
function scene(atOnce: number) {
  clock = new FakeClock()
  const usage = new OwnerUsage(clock)
  const turns = new FairTurns({ atOnce, usage, clock })
  const started: string[] = []
  const ends = new Map<string, () => void>()
  const want = (owner: string, name = owner, size = 0, signal = never) =>
    turns.run({ owner, size }, signal, () => {
      started.push(name)
      return new Promise<string>(resolve => ends.set(name, () => resolve(name)))
    })
  const end = async (name: string, tookMs = 0) => {
    clock.nowMs += tookMs
    ends.get(name)!()
    await settled()
  }
  return { usage, turns, started, want, end }
}

describe('what an owner has used', () => {
  it('halves every five minutes, and adds up', () => {
    clock = new FakeClock()
    const usage = new OwnerUsage(clock)
    usage.add('a', 8000)
    clock.nowMs = 300_000
    expect(usage.of('a')).toBeCloseTo(4000)
    usage.add('a', 1000)
    clock.nowMs = 600_000
    expect(usage.of('a')).toBeCloseTo(2500)
    expect(usage.of('b')).toBe(0)
  })

  it('is forgotten when it is nothing any more', () => {
    clock = new FakeClock()
    const usage = new OwnerUsage(clock)
    for (let i = 0; i < 5000; i++) {
      clock.nowMs += 10_000
      usage.add(`owner ${i}`, 1500)
    }
    expect(usage.of('owner 0')).toBe(0)
    expect(usage.of('owner 4999')).toBe(1500)
  })
})

describe('the next turn', () => {
  const owners = (used: Record<string, number> = {}, running: Record<string, number> = {}, isLast = false) => ({
    usageOf: (owner: string) => used[owner] ?? 0,
    runningOf: (owner: string) => running[owner] ?? 0,
    isLast,
  })
  const of = (owner: string, size = 0) => ({ owner, size })

  it.each([
    ['the first of equals', [of('a'), of('b')], owners(), 0],
    ['who has fewer turns now', [of('a'), of('b')], owners({}, { a: 1 }), 1],
    ['who has used less', [of('a'), of('b')], owners({ a: 5000 }), 1],
    ['the smaller work of equals', [of('a', 9), of('b', 3)], owners(), 1],
    ['use before size', [of('a', 1), of('b', 1_000_000)], owners({ a: 5000 }), 1],
    ['nobody when nobody waits', [], owners(), null],
    ['nobody above the budget at the last free turn', [of('a')], owners({ a: BUDGET_MS + 1 }, {}, true), null],
    [
      'an owner within the budget at the last free turn',
      [of('a'), of('b', 9)],
      owners({ a: BUDGET_MS + 1 }, {}, true),
      1,
    ],
  ])('is that of %s', (_, waiting, state, expected) => expect(chooseTurn(waiting, state)).toBe(expected))

  it('is never that of an owner who has used more than another by a second, with as many turns', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ owner: fc.constantFrom('a', 'b', 'c'), size: fc.nat() }), { minLength: 1 }),
        fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.nat({ max: 50_000 })),
        (waiting, used) => {
          const chosen = waiting[chooseTurn(waiting, owners(used))!]!
          for (const { owner } of waiting)
            expect(used[chosen.owner] ?? 0).toBeLessThanOrEqual((used[owner] ?? 0) + 1000)
        },
      ),
    )
  })
})

describe('turns', () => {
  it("give a newcomer the next one, before twenty owners' queues", async () => {
    const { want, end, started } = scene(2)
    for (let i = 0; i < 20; i++) for (let n = 0; n < 3; n++) void want(`heavy ${i}`, `heavy ${i}.${n}`, 1_200_000)
    await settled()
    for (let i = 0; i < 20; i++) await end(started[i]!, 2000)
    void want('new', 'new', 30)
    await end(started[20]!, 2000)
    expect(started.at(-1)).toBe('new')
  })

  it('are at most as many as allowed, and leave one to owners within the budget', async () => {
    const { want, end, started, usage } = scene(2)
    usage.add('greedy', 2 * BUDGET_MS)
    void want('greedy', 'first')
    void want('greedy', 'second')
    await settled()
    expect(started).toEqual(['first'])
    void want('new')
    await settled()
    expect(started).toEqual(['first', 'new'])
    await end('first')
    expect(started).toEqual(['first', 'new'])
    await end('new')
    expect(started).toEqual(['first', 'new', 'second'])
  })

  it('serve an owner above the budget when there is one turn at a time', async () => {
    const { want, started, usage } = scene(1)
    usage.add('greedy', 2 * BUDGET_MS)
    void want('greedy')
    await settled()
    expect(started).toEqual(['greedy'])
  })

  it('charge the time that the work took, or what it reports', async () => {
    const { want, end, usage, turns } = scene(1)
    const slow = want('slow')
    await settled()
    await end('slow', 3000)
    await slow
    expect(usage.of('slow')).toBeCloseTo(3000)
    await turns.run({ owner: 'reported' }, never, async charge => {
      charge(1)
      charge(700)
    })
    expect(usage.of('reported')).toBe(700)
  })

  it('pass on after an error, and charge for it', async () => {
    const { turns, usage } = scene(1)
    await expect(
      turns.run({ owner: 'a' }, never, async charge => {
        charge(50)
        throw new Error('broken')
      }),
    ).rejects.toThrow('broken')
    expect(await turns.run({ owner: 'b' }, never, async () => 'ok')).toBe('ok')
    expect(usage.of('a')).toBe(50)
  })

  it('are not taken by work that was given up while it waited', async () => {
    const { want, end, started } = scene(1)
    void want('a')
    await settled()
    const stop = new AbortController()
    const given = want('b', 'b', 0, stop.signal)
    void want('c')
    stop.abort(new Error('deleted'))
    await expect(given).rejects.toThrow('deleted')
    await end('a')
    expect(started).toEqual(['a', 'c'])
    await expect(want('d', 'd', 0, stop.signal)).rejects.toThrow('deleted')
  })
})
