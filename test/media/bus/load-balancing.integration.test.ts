/** Distribution of calls over engines: the calculation, and its effect with two engines and a real Redis. */
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { createControlBus } from '../../../media/bus/control-bus.ts'
import { createEngineBus } from '../../../media/bus/engine-bus.ts'
import { busKeys } from '../../../media/bus/keys.ts'
import {
  hesitation,
  IN_TRANSIT_MS,
  INITIALLY_DRAINING,
  isJustDraining,
  MIN_DRAINING_MS,
  MOST_HESITATION_MS,
  mostAtOnce,
  nextAcceptingState,
  shouldAccept,
} from '../../../media/bus/load-balancing.ts'
import { createSealer } from '../../../media/contract/seal.ts'
import { plan } from '../../fakes/plan.ts'
import { quietLog, until } from '../../support/world.ts'

const places = (calls: number, capacity: number) => ({ calls, capacity })

describe('hesitation before a claim', () => {
  it.each([
    ['not at all when it is alone', places(9, 10), [], 0],
    ['not at all when the others are full or take none', places(9, 10), [places(5, 5), places(0, 0)], 0],
    ['not at all when it is as full as the freest', places(5, 10), [places(15, 30), places(29, 30)], 0],
    ['not at all when it is the freest', places(1, 10), [places(15, 30)], 0],
    ['by how much fuller it is', places(1, 10), [places(0, 30)], 40],
    ['twice as long when it is twice as much fuller', places(2, 10), [places(0, 30)], 80],
    ['behind the freest of several', places(5, 10), [places(4, 10), places(6, 10)], 40],
    ['no longer than the bound', places(9, 10), [places(0, 30)], MOST_HESITATION_MS],
    ['that long when it is full', places(10, 10), [], MOST_HESITATION_MS],
  ])('%s', (_, own, others, ms) => {
    expect(hesitation(own, others)).toBe(ms)
  })

  it('is longer with each own call, and shorter with each call of the least loaded', () => {
    const own = Array.from({ length: 30 }, (_, calls) => hesitation(places(calls, 30), [places(0, 10)]))
    expect(own).toEqual(own.toSorted((one, other) => one - other))
    const theirs = Array.from({ length: 10 }, (_, calls) => hesitation(places(20, 30), [places(calls, 10)]))
    expect(theirs).toEqual(theirs.toSorted((one, other) => other - one))
    expect([own[0], own.at(-1), theirs.at(-1)]).toEqual([0, MOST_HESITATION_MS, 0])
  })
})

describe('reads of an engine', () => {
  it.each([
    ['all that it can take when it is alone', places(2, 50), [], 48],
    ['all that it can take when nobody else has room', places(2, 50), [places(9, 9)], 48],
    ['a small part of it otherwise', places(2, 50), [places(0, 50)], 3],
    ['one at least', places(9, 10), [places(0, 50)], 1],
    ['none when it is full', places(10, 10), [places(0, 50)], 0],
  ])('%s', (_, own, others, most) => {
    expect(mostAtOnce(own, others)).toBe(most)
  })
})

describe('inbound calls', () => {
  const at = (calls: number, capacity: number, signalling?: string, accepting = true) => ({
    calls,
    capacity,
    signalling,
    accepting,
  })
  it.each([
    ['come to who has room', at(0, 20, 's'), [at(0, 20, 's')], true],
    ['come to who is much fuller, as long as it has room', at(18, 20, 's'), [at(0, 20, 's')], true],
    ['go elsewhere before the last place is taken', at(19, 20, 's'), [at(0, 20, 's')], false],
    ['come when everybody has only the last places left', at(19, 20, 's'), [at(99, 100, 's')], true],
    ['go to who still has one of those', at(20, 20, 's'), [at(99, 100, 's')], false],
    ['come when nobody has room, to be told so', at(20, 20, 's'), [at(20, 20, 's'), at(3, 0, 's')], true],
    ['go elsewhere when it leaves', at(3, 0, 's'), [at(2, 20, 's')], false],
    ['cannot go to another SIP server', at(20, 20, 's'), [at(0, 20, 't'), at(0, 20)], true],
    ['cannot go to who is shut itself', at(20, 20, 's'), [at(0, 20, 's', false)], true],
    ['come as soon as the SIP server is back', at(0, 0), [at(0, 20, 's')], true],
    ['come to who takes one at a time', at(0, 1, 's'), [at(0, 1, 's')], true],
  ])('%s', (_, own, others, inTurn) => {
    expect(shouldAccept(own, others)).toBe(inTurn)
  })

  it('always have one accepting engine, for any order of heartbeats', () => {
    let seed = 7
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff
      return Math.floor((seed / 0x80000000) * below)
    }
    let shut = 0
    for (let round = 0; round < 300; round++) {
      const engines = Array.from({ length: 2 + random(3) }, () => {
        const own = at(0, 1 + random(30), 's')
        return { own, accepting: true, told: { ...own }, heard: [] as (typeof own)[], phase: 0 }
      })
      for (let step = 0; step < 200; step++) {
        const one = engines[random(engines.length)]!
        const others = () => engines.filter(other => other !== one).map(({ told }) => ({ ...told }))
        if (random(3) === 0) one.own.calls = random(one.own.capacity + 1)
        else if (one.phase === 0) {
          one.told = { ...one.own, accepting: one.accepting && shouldAccept(one.own, one.heard) }
          one.phase = 1
        } else {
          one.heard = others()
          if (one.accepting && !one.told.accepting && !shouldAccept(one.told, one.heard)) one.accepting = false
          else if (!one.accepting && shouldAccept(one.own, one.heard)) one.accepting = true
          one.phase = 0
        }
        expect(engines.some(({ accepting }) => accepting)).toBe(true)
        shut += engines.filter(({ accepting }) => !accepting).length
      }
    }
    expect(shut).toBeGreaterThan(1000)
  })

  it('stop at once when draining, and resume a second later with little capacity', () => {
    const here = { signalling: 'sip-1', accepting: true }
    const few = { ...places(8, 10), ...here, accepting: false }
    const others = [{ ...places(9, 10), ...here }]
    const accepting = nextAcceptingState(INITIALLY_DRAINING, true, 0, few, others)
    expect(accepting).toEqual({ accepting: true, sinceMs: 0 })
    expect(nextAcceptingState(accepting, true, 10, few, others)).toBe(accepting)
    const shut = nextAcceptingState(accepting, false, 20, few, others)
    expect(shut).toEqual({ accepting: false, sinceMs: 20 })
    expect(nextAcceptingState(shut, true, 19 + MIN_DRAINING_MS, few, others)).toBe(shut)
    expect(nextAcceptingState(shut, true, 20 + MIN_DRAINING_MS, few, others).accepting).toBe(true)
    expect(nextAcceptingState(shut, true, 21, { ...few, calls: 7 }, others)).toEqual({ accepting: true, sinceMs: 21 })
    // Nobody else would answer.
    const full = { ...places(10, 10), ...here }
    const elsewhere = { ...places(0, 10), ...here, signalling: 'sip-2' }
    const shutToo = { ...places(0, 10), ...here, accepting: false }
    expect(nextAcceptingState(shut, true, 21, few, [full, elsewhere, shutToo])).toEqual({
      accepting: true,
      sinceMs: 21,
    })
    expect(nextAcceptingState(shut, true, 21, full, [full])).toBe(shut)
    expect([19, 20, 19 + IN_TRANSIT_MS, 20 + IN_TRANSIT_MS].map(ms => isJustDraining(shut, ms))).toEqual([
      true,
      true,
      true,
      false,
    ])
    expect([isJustDraining(accepting, 1), isJustDraining(INITIALLY_DRAINING, 0)]).toEqual([false, false])
  })
})

describe('with Redis', () => {
  let redis: Redis
  let prefix: string
  const closers: (() => Promise<unknown>)[] = []
  beforeEach(() => {
    redis = new Redis(inject('redisUrl'))
    prefix = `spread-${randomUUID()}`
  })
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close()
    redis.disconnect()
  })

  const sealer = createSealer('a secret for tests')
  /** An engine whose calls do not end; it publishes each, as the call manager does. `frozen`: it sends heartbeats and reads nothing. */
  function engine(name: string, capacity: number, calls = 0, frozen = false) {
    const bus = createEngineBus({ redis, sealer, engine: name, clock: systemClock, log: quietLog, prefix })
    closers.push(() => bus.close())
    const taken: { id: string; atMs: number }[] = []
    const made = {
      bus,
      taken,
      others: calls,
      beat: () => bus.heartbeat({ calls: made.others + taken.length, capacity, stt_ready: true, rooms: false }),
      read() {
        const reader = bus.onPlace(
          () => capacity - made.others - taken.length,
          ({ call_id: id }) => {
            taken.push({ id, atMs: performance.now() })
            void made.beat()
          },
        )
        closers.push(() => reader.stop())
      },
    }
    const set = (now: number) => {
      made.others = now
    }
    return { ...made, frozen, set }
  }
  type Engine = ReturnType<typeof engine>
  /** Publishes the heartbeats of all engines to all others before the first call. */
  async function accepting(...engines: Engine[]) {
    for (const one of [...engines, ...engines]) await one.beat()
    for (const one of engines) if (!one.frozen) one.read()
    return engines
  }
  const place = () => {
    const call = plan()
    const control = createControlBus({ redis, sealer, consumer: 'c', log: quietLog, prefix })
    return control.place({ type: 'call.place', plan: call, deadline: Date.now() + 60_000 })
  }
  const burst = (calls: number) => Promise.all(Array.from({ length: calls }, place))
  const allTaken = (engines: readonly Engine[], calls: number) =>
    until(() => engines.reduce((sum, { taken }) => sum + taken.length, 0) === calls, `${calls} calls to be taken`)

  it('shares a burst by free slots', async () => {
    const [small, large] = await accepting(engine('small', 10), engine('large', 30))
    await burst(20)
    await allTaken([small!, large!], 20)
    expect(small!.taken.length).toBeGreaterThanOrEqual(3)
    expect(small!.taken.length).toBeLessThanOrEqual(7)
  })

  it('leaves calls to another that has capacity', async () => {
    const [full, free] = await accepting(engine('full', 60, 50), engine('free', 20))
    const startedMs = performance.now()
    await burst(20)
    await allTaken([full!, free!], 20)
    // On a busy machine the other one may be so slow that its time is up.
    expect(full!.taken.filter(({ atMs }) => atMs < startedMs + MOST_HESITATION_MS / 2)).toEqual([])
  })

  it('claims all when no other has capacity', async () => {
    const [only] = await accepting(engine('only', 60, 50), engine('none', 20, 20))
    await burst(5)
    await allTaken([only!], 5)
  })

  it('wakes engines only when load or accepting state differs', async () => {
    const [one, other] = [engine('one', 4), engine('other', 4)]
    let heard = 0
    const reader = await other.bus.onEngines(() => heard++)
    closers.push(() => reader.stop())
    await other.beat() // its own heartbeat does not wake it
    const hears = async (count: number) => {
      await until(() => heard >= count, `${count} times`)
      expect(heard).toBe(count)
    }
    await one.beat()
    await hears(1)
    await one.beat()
    one.set(2)
    await one.beat()
    one.set(3)
    await one.beat()
    await hears(2)
    one.set(4)
    await one.beat()
    await hears(3)
    await one.bus.heartbeat({ calls: 4, capacity: 4, stt_ready: true, rooms: false, accepting: true })
    await hears(4)
  })

  it('gives the next call to the engine with more free slots, not to the longest waiting', async () => {
    const engines = await accepting(engine('one', 10), engine('other', 10))
    const [one, other] = engines
    one!.set(5)
    for (let calls = 1; calls <= 4; calls++) {
      await place()
      await allTaken(engines, calls)
    }
    expect([one!.taken.length, other!.taken.length]).toEqual([0, 4])
  })

  it('claims at once when alone', async () => {
    const [alone] = await accepting(engine('alone', 10, 4), engine('full', 3, 3, true))
    const delays: number[] = []
    for (let calls = 1; calls <= 5; calls++) {
      const placedMs = performance.now()
      await place()
      await allTaken([alone!], calls)
      delays.push(alone!.taken.at(-1)!.atMs - placedMs)
    }
    expect(Math.min(...delays)).toBeLessThan(MOST_HESITATION_MS / 4)
  })

  it('delays a call only briefly for a frozen engine', async () => {
    const [awake] = await accepting(engine('awake', 40, 30), engine('frozen', 40, 0, true))
    const delays: number[] = []
    for (let calls = 1; calls <= 3; calls++) {
      const placedMs = performance.now()
      await place()
      await allTaken([awake!], calls)
      delays.push(awake!.taken.at(-1)!.atMs - placedMs)
    }
    expect(Math.min(...delays)).toBeGreaterThan(MOST_HESITATION_MS * 0.8)
    expect(Math.min(...delays)).toBeLessThan(MOST_HESITATION_MS * 1.5)
  })

  it('claims nothing twice and leaves nothing', async () => {
    const engines = await accepting(engine('a', 40), engine('b', 60, 20), engine('c', 50, 45))
    const calls = Array.from({ length: 60 }, () => plan())
    const control = createControlBus({ redis, sealer, consumer: 'c', log: quietLog, prefix })
    const offer = (call: (typeof calls)[number]) =>
      control.place({ type: 'call.place', plan: call, deadline: Date.now() + 60_000 })
    await Promise.all([...calls, ...calls].map(offer))
    await until(async () => (await redis.xlen(busKeys(prefix).commands)) === 0, 'all commands to be read')
    const ids = engines.flatMap(({ taken }) => taken.map(({ id }) => id))
    expect(ids.toSorted()).toEqual(calls.map(({ call_id }) => call_id).toSorted())
  })

  it('recovers from an emptied Redis', async () => {
    const [one] = await accepting(engine('one', 10))
    await place()
    await allTaken([one!], 1)
    await redis.del(busKeys(prefix).commands)
    await place()
    await allTaken([one!], 2)
  })
})
