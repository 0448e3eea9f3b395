/** Registrations at carriers: their refresh, and the engine that owns them. */
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { createTrunkLeases } from '../../../media/bus/trunk-leases.ts'
import type { Clock } from '../../../media/shared/clock.ts'
import { headerOf, type SipRequest } from '../../../sip/text/message.ts'
import { grantedSeconds } from '../../../sip/trunk/registration/client.ts'
import { stepRegistration, unregistered } from '../../../sip/trunk/registration/plan.ts'
import type { SipIn } from '../../../sip/trunk/requests/srf.ts'
import { until } from '../../support/world.ts'
import { type Peer, reply } from '../peer.ts'
import { Bench, MemoryLog, trunkPlan } from './bench.ts'
import { seqOf } from './digest-server.ts'

let bench: Bench
let peer: Peer
const closers: (() => Promise<void> | void)[] = []
beforeEach(async () => {
  bench = await Bench.start()
  peer = await bench.rig.udpPeer()
})
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
  await bench.close()
})

/** An hour in 36 seconds. */
const fast: Clock = {
  now: () => performance.now() * 100,
  wall: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms / 100)
    return () => clearTimeout(timer)
  },
}
const account = { mode: 'register', username: 'user', password: 'pass' } as const
const isRegistered = () => bench.statuses.at(-1)?.registration === 'registered'

async function restart(...options: Parameters<typeof Bench.start>): Promise<void> {
  await bench.close()
  bench = await Bench.start(...options)
  peer = await bench.rig.udpPeer()
}

describe('how long a registration is good for', () => {
  const sent = '<sip:user@192.0.2.1:5070>;expires=300'
  const granted = (headers: Record<string, string>) =>
    grantedSeconds({
      get: (name: string) => headers[name],
      req: { get: () => sent } as unknown as SipIn,
    })

  it.each([
    [
      'of our Contact, among those of other phones of the user',
      '<sip:user@192.0.2.9>;expires=10,<sip:user@192.0.2.1:5070>;expires=60',
      60,
    ],
    ['of our Contact whatever its parameters', '<sip:user@192.0.2.1:5070;transport=udp>;q=1;expires=90', 90],
    [
      'of the only Contact of our user, which a registrar behind NAT has corrected',
      '<sip:user@203.0.113.1:1024>;expires=70',
      70,
    ],
    ['not of somebody else', '<sip:other@192.0.2.1:5070>;expires=10', 120],
    ['not of one of several that may be ours', '<sip:user@192.0.2.9>;expires=10, <sip:user@192.0.2.8>;expires=20', 120],
    ['of the message when the Contact says nothing', '<sip:user@192.0.2.1:5070>', 120],
  ])('is %s', (_name, contacts, seconds) => {
    expect(granted({ Contact: contacts, Expires: '120' })).toBe(seconds)
  })

  it('is what we asked for when nothing is said', () => {
    expect(granted({})).toBeNull()
  })
})

describe('when to try again', () => {
  const refused = (retryAfterSeconds: number | null, chance: number, minExpiresSeconds: number | null = null) =>
    stepRegistration(
      { ...unregistered, phase: 'registering' },
      { type: 'refused', status: minExpiresSeconds === null ? 503 : 423, retryAfterSeconds, minExpiresSeconds },
      0,
      chance,
    )

  it('is never sooner than the registrar asks, spread over a tenth, and within an hour', () => {
    expect(refused(120, 0).state.dueAtMs).toBe(120_000)
    expect(refused(120, 1).state.dueAtMs).toBeCloseTo(132_000)
    expect(refused(0, 0).state.dueAtMs).toBe(5000)
    expect(refused(10_000_000, 0).state.dueAtMs).toBe(3_600_000)
  })

  it('is not at once for a registrar that wants absurdly long registrations', () => {
    expect(refused(null, 0, 86_400).effect).toBe('register')
    expect(refused(null, 0, 1_000_000)).toMatchObject({ effect: 'none', state: { phase: 'failed' } })
  })
})

describe('a registration', () => {
  it('is refreshed before it ends, and told once', async () => {
    await restart({}, { clock: fast })
    bench.setTrunks(trunkPlan(peer, account))
    const times: number[] = []
    for (let n = 0; n < 3; n++) {
      const register = await peer.request('REGISTER')
      times.push(fast.now())
      reply(peer, register, '200 OK', [`Contact: ${headerOf(register, 'Contact')?.replace('300', '60')}`])
    }
    for (const [from, to] of [
      [times[0]!, times[1]!],
      [times[1]!, times[2]!],
    ] as const) {
      expect(to - from).toBeGreaterThan(29_000)
      expect(to - from).toBeLessThan(60_000)
    }
    expect(bench.statuses.map(({ registration }) => registration)).toEqual(['registering', 'registered'])
  })

  it('goes to the next host at once when the first is out of service, and there it is taken back', async () => {
    const second = await bench.rig.udpPeer()
    const hosts = [{ host: '127.0.0.1', port: second.port, transport: 'udp' as const }]
    bench.setTrunks(trunkPlan(peer, { ...account, hosts, from_domain: 'carrier.example' }))
    const first = await peer.request('REGISTER')
    reply(peer, first, '503 Maintenance', ['Retry-After: 600'])
    const elsewhere = await second.request('REGISTER')
    expect(elsewhere.uri).toBe(`sip:127.0.0.1:${second.port}`)
    expect(headerOf(elsewhere, 'To')).toBe('<sip:user@carrier.example>')
    expect(headerOf(elsewhere, 'Call-ID')).toBe(headerOf(first, 'Call-ID'))
    expect(seqOf(elsewhere)).toBeGreaterThan(seqOf(first))
    reply(second, elsewhere, '200 OK')
    await bench.until(isRegistered)
    expect(bench.statuses.at(-1)?.hosts.map(({ alive }) => alive)).toEqual([false, true])
    const closing = bench.edge.close()
    const last = await second.request('REGISTER')
    expect(headerOf(last, 'Contact')).toContain(';expires=0')
    reply(second, last, '200 OK')
    await closing
  })

  it('is tried again after a failure as late as the registrar asks', async () => {
    await restart({}, { clock: fast })
    bench.setTrunks(trunkPlan(peer, account))
    reply(peer, await peer.request('REGISTER'), '500 Broken', ['Retry-After: 40 (sorry);duration=60'])
    const refusedAt = fast.now()
    const again = await peer.request('REGISTER')
    expect(fast.now() - refusedAt).toBeGreaterThanOrEqual(39_000)
    reply(peer, again, '200 OK')
    await bench.until(isRegistered)
  })

  it('is not taken back when only its password changes, since the new one is of the same address', async () => {
    const trunk = trunkPlan(peer, account)
    bench.setTrunks(trunk)
    reply(peer, await peer.request('REGISTER'), '200 OK')
    await bench.until(isRegistered)
    bench.setTrunks({ ...trunk, password: 'new' })
    const again = await peer.request('REGISTER')
    expect(headerOf(again, 'Contact')).toMatch(/expires=300$/)
    reply(peer, again, '200 OK')
    await bench.until(() => bench.statuses.length === 4)
    expect(bench.statuses.map(({ registration }) => registration).slice(2)).toEqual(['registering', 'registered'])
    bench.setTrunks({ ...trunk, password: 'new', username: 'other' })
    const both = [await peer.request('REGISTER'), await peer.request('REGISTER')]
    const expires = both.map(register => headerOf(register, 'Contact')?.replace(/^<sip:(\w+)@.*expires=/, '$1 '))
    expect(expires.sort()).toEqual(['other 300', 'user 0'])
  })

  it('that succeeds after its trunk has gone is taken back', async () => {
    bench.setTrunks(trunkPlan(peer, account))
    const late = await peer.request('REGISTER')
    bench.setTrunks()
    reply(peer, late, '200 OK')
    expect(headerOf(await peer.request('REGISTER'), 'Contact')).toMatch(/expires=0$/)
  })

  it('of an account with another user name for proof than for its address', async () => {
    bench.setTrunks(trunkPlan(peer, { ...account, from_user: '4930123456' }))
    const first = await peer.request('REGISTER')
    expect(headerOf(first, 'To')).toBe('<sip:4930123456@127.0.0.1>')
    reply(peer, first, '401 Prove It', ['WWW-Authenticate: Digest realm="r", nonce="n"'])
    expect(headerOf(await peer.request('REGISTER'), 'Authorization')).toContain('username="user"')
  })
})

describe('leases', () => {
  /** An engine whose timers can be stopped, as by a kill. */
  function mortal(): Clock & { die(): void } {
    const timers = new Set<NodeJS.Timeout>()
    let dead = false
    return {
      now: () => performance.now(),
      wall: () => Date.now(),
      after(ms, run) {
        if (dead) return () => {}
        const timer = setTimeout(run, ms)
        timers.add(timer)
        return () => clearTimeout(timer)
      },
      die() {
        dead = true
        for (const timer of timers) clearTimeout(timer)
      },
    }
  }

  function engine(prefix: string, wanted: () => string[]) {
    const redis = new Redis(inject('redisUrl'), { maxRetriesPerRequest: 1 })
    const life = mortal()
    const changes: (() => void)[] = []
    const leases = createTrunkLeases({
      redis,
      clock: life,
      log: new MemoryLog(),
      wanted,
      leaseMs: 400,
      roundMs: 50,
      who: randomUUID(),
      key: id => `${prefix}:${id}`,
      onChange: () => {
        for (const run of changes) run()
      },
    })
    closers.push(async () => {
      await leases.stop()
      redis.disconnect()
    })
    return { leases, redis, life, onChange: (run: () => void) => changes.push(run) }
  }

  it('each trunk is one engine’s, a dead engine’s are taken over, and given back ones at once', async () => {
    const prefix = `test-${randomUUID()}`
    const wanted = ['t1', 't2']
    const one = engine(prefix, () => wanted)
    await until(() => one.leases.holds('t1') && one.leases.holds('t2'), 'the first engine')
    const two = engine(prefix, () => wanted)
    wanted.push('t3')
    await Promise.all([one.leases.sync(), two.leases.sync()])
    expect([one, two].filter(({ leases }) => leases.holds('t3'))).toHaveLength(1)
    for (const id of ['t1', 't2']) expect(two.leases.holds(id)).toBe(false)
    one.life.die()
    const diedAt = performance.now()
    await until(() => wanted.every(id => two.leases.holds(id)), 'the second engine')
    expect(performance.now() - diedAt).toBeLessThan(400 + 50 + 3000)
    expect(wanted.some(id => one.leases.holds(id))).toBe(false)
    const three = engine(prefix, () => wanted)
    await two.leases.stop()
    await three.leases.sync()
    expect(wanted.every(id => three.leases.holds(id))).toBe(true)
    expect(wanted.some(id => two.leases.holds(id))).toBe(false)
  })

  it('end by themselves for an engine that Redis is lost to, and are given back when no longer wanted', async () => {
    const prefix = `test-${randomUUID()}`
    const wanted = ['t1']
    const one = engine(prefix, () => wanted)
    const two = engine(prefix, () => ['t1'])
    const holder = await until(() => [one, two].find(({ leases }) => leases.holds('t1')), 'a holder')
    let told = 0
    holder.onChange(() => told++)
    holder.redis.disconnect()
    await until(() => !holder.leases.holds('t1'), 'the end of the lease')
    await until(() => told > 0, 'the news of it')
    const other = holder === one ? two : one
    await until(() => other.leases.holds('t1'), 'the other engine')
    if (other === one) wanted.pop()
  })

  it('two engines on one trunk: one registers, and when it leaves, the other does', async () => {
    const prefix = `test-${randomUUID()}`
    const other = await Bench.start({}, { mayRegister: () => second.leases.holds(trunk.id) })
    closers.push(() => other.close())
    const trunk = trunkPlan(peer, account)
    const first = engine(prefix, () => [trunk.id])
    await first.leases.sync()
    const second = engine(prefix, () => [trunk.id])
    await restart({}, { mayRegister: () => first.leases.holds(trunk.id) })
    first.onChange(() => bench.edge.syncRegistrations())
    second.onChange(() => other.edge.syncRegistrations())
    const carrier = peer
    const otherCarrier = await other.rig.udpPeer()
    bench.setTrunks({ ...trunk, port: carrier.port })
    other.setTrunks({ ...trunk, port: otherCarrier.port })
    reply(carrier, await carrier.request('REGISTER'), '200 OK')
    await bench.until(isRegistered)
    expect(otherCarrier.received).toEqual([])
    const closing = bench.edge.close()
    reply(carrier, await carrier.request('REGISTER'), '200 OK')
    await closing
    await first.leases.stop()
    reply(otherCarrier, await otherCarrier.request('REGISTER'), '200 OK')
    await other.until(() => other.statuses.at(-1)?.registration === 'registered')
    expect(bench.statuses.at(-1)?.registration).toBe('none')
  })

  it('a lease that is lost ends the registration without a word: it is another’s now', async () => {
    let mine = true
    await restart({}, { mayRegister: () => mine })
    bench.setTrunks(trunkPlan(peer, account))
    reply(peer, await peer.request('REGISTER'), '200 OK')
    await bench.until(isRegistered)
    mine = false
    bench.edge.syncRegistrations()
    await bench.edge.close()
    expect(peer.received.filter((message): message is SipRequest => message.kind === 'request')).toEqual([])
    expect(bench.statuses.at(-1)?.registration).toBe('registered')
  })
})
