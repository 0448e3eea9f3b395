/** Limits and counters of an engine: rate tokens of a trunk, blocked trunk addresses, unhandled calls. */
import { createServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { DialRateRequest } from '../../../media/bus/dial-rate.ts'
import type { Softphones } from '../../../media/ports/trunks.ts'
import { mayReach } from '../../../media/shared/addresses.ts'
import { createMetrics } from '../../../media/shared/metrics.ts'
import type { Resolver } from '../../../sip/server/resolve.ts'
import { SoftphoneRegistrar } from '../../../sip/trunk/registrar/registrar.ts'
import { authorization, parseChallenges } from '../../../sip/trunk/requests/digest.ts'
import { createSipMeters } from '../../../sip/trunk/requests/meters.ts'
import { Caller, reply } from '../peer.ts'
import { Bench, clock, FarMedia, MemoryLog, trunkPlan } from './bench.ts'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})
async function start(...options: Parameters<typeof Bench.start>): Promise<Bench> {
  const bench = await Bench.start(...options)
  closers.push(() => bench.close())
  return bench
}

describe('max_cps', () => {
  /** Turns are given by the test. */
  function turnstile() {
    const turns: (DialRateRequest & { give(may: boolean): void })[] = []
    let wake = () => {}
    const pace = (turn: DialRateRequest) =>
      new Promise<boolean>(resolve => {
        turns.push({ ...turn, give: resolve })
        wake()
      })
    const asked = async () => {
      while (turns.length === 0) await new Promise<void>(resolve => (wake = resolve))
      return turns.shift()!
    }
    return { pace, asked }
  }

  it('waits for its rate token', async () => {
    const { pace, asked } = turnstile()
    const bench = await start({}, { pace })
    const peer = await bench.rig.udpPeer()
    const { trunk, result } = bench.dial(peer, { max_cps: 3 })
    const turn = await asked()
    expect(turn).toMatchObject({ trunkId: trunk.id, maxCps: 3, maxWaitMs: 60_000 })
    expect(peer.received).toEqual([])
    turn.give(true)
    reply(peer, await peer.request('INVITE'), '486 Busy Here')
    expect(await result).toMatchObject({ ok: false, failure: { reason: 'busy' } })
  })

  it('fails when the wait is too long or aborted', async () => {
    const { pace, asked } = turnstile()
    const metrics = createMetrics()
    const bench = await start({}, { pace, metrics })
    const peer = await bench.rig.udpPeer()
    const late = bench.dial(peer, { max_cps: 3 })
    ;(await asked()).give(false)
    expect(await late.result).toMatchObject({ ok: false, failure: { status: 'failed', reason: 'no_capacity' } })
    const left = bench.dial(peer, { max_cps: 3 })
    const turn = await asked()
    left.abort.abort()
    turn.give(false)
    expect(await left.result).toMatchObject({ ok: false, failure: { status: 'canceled', reason: 'canceled_by_api' } })
    expect(metrics.text()).toContain('\nparley_outbound_unpaced_total 1\n')
    expect(peer.received).toEqual([])
  })

  it('takes another token at the next host', async () => {
    const { pace, asked } = turnstile()
    const bench = await start({}, { pace })
    const [first, second] = [await bench.rig.udpPeer(), await bench.rig.udpPeer()]
    const hosts = [{ host: '127.0.0.1', port: second.port, transport: 'udp' as const }]
    const one = bench.dial(first, { max_cps: 3, hosts })
    ;(await asked()).give(true)
    reply(first, await first.request('INVITE'), '503 No Circuit')
    const again = await asked()
    expect(second.received).toEqual([])
    again.give(true)
    reply(second, await second.request('INVITE'), '486 Busy Here')
    expect(await one.result).toMatchObject({ ok: false, failure: { reason: 'busy' } })

    const third = await bench.rig.udpPeer()
    const late = bench.dial(third, { max_cps: 3, hosts })
    ;(await asked()).give(true)
    reply(third, await third.request('INVITE'), '503 No Circuit')
    ;(await asked()).give(false)
    // As if there were no other: what the first has said is what is known.
    expect(await late.result).toMatchObject({ ok: false, failure: { reason: 'carrier_congestion', sipCode: 503 } })

    const other = await bench.rig.udpPeer()
    const left = bench.dial(other, { max_cps: 3, hosts })
    ;(await asked()).give(true)
    reply(other, await other.request('INVITE'), '503 No Circuit')
    const turn = await asked()
    left.abort.abort()
    turn.give(false)
    expect(await left.result).toMatchObject({ ok: false, failure: { status: 'canceled', reason: 'canceled_by_api' } })
    expect(second.received.filter(message => message.kind === 'request' && message.method === 'INVITE')).toEqual([])
  })

  it('takes another token before the encrypted retry', async () => {
    const { pace, asked } = turnstile()
    const bench = await start({}, { pace })
    const peer = await bench.rig.udpPeer()
    const insists = async () => {
      const call = bench.dial(peer, { max_cps: 3, srtp: 'optional' })
      ;(await asked()).give(true)
      reply(peer, await peer.request('INVITE'), '488 Not Acceptable Here')
      return { ...call, turn: await asked() }
    }
    const one = await insists()
    expect(peer.received.filter(message => message.kind === 'request' && message.method === 'INVITE')).toEqual([])
    one.turn.give(true)
    reply(peer, await peer.request('INVITE'), '486 Busy Here')
    expect(await one.result).toMatchObject({ ok: false, failure: { reason: 'busy', sipCode: 486 } })

    const late = await insists()
    late.turn.give(false)
    expect(await late.result).toMatchObject({ ok: false, failure: { reason: 'no_capacity', sipCode: 488 } })
    const left = await insists()
    left.abort.abort()
    left.turn.give(false)
    expect(await left.result).toMatchObject({ ok: false, failure: { status: 'canceled' } })
  })

  it('needs no token without a limit', async () => {
    const bench = await start({}, { pace: () => Promise.reject(new Error('asked')) })
    const peer = await bench.rig.udpPeer()
    const { result } = bench.dial(peer)
    reply(peer, await peer.request('INVITE'), '486 Busy Here')
    await result
  })
})

describe('blocked addresses', () => {
  const resolver: Resolver = {
    naptr: async () => [],
    srv: async () => [],
    addresses: async () => ['127.0.0.1'],
  }
  const inside = { mayReach: (address: string) => mayReach('deny', address), resolver }

  it('is not connected to by a check, also behind a public name', async () => {
    let connections = 0
    const listener = createServer(socket => {
      connections += 1
      socket.destroy()
    }).listen(0, '127.0.0.1')
    await new Promise(resolve => listener.once('listening', resolve))
    closers.push(() => new Promise(resolve => listener.close(resolve)))
    const { port } = listener.address() as { port: number }
    const bench = await start({ privateHosts: 'deny', resolver }, inside)
    const closed = { port: 1 }
    for (const transport of ['tcp', 'tls', 'udp'] as const) {
      for (const host of ['127.0.0.1', 'carrier.example']) {
        const reports = []
        for (const at of [{ port }, closed]) {
          const report = await bench.edge.check(trunkPlan(at, { host, transport }))
          expect(report).toMatchObject({ ok: false, messages: [], diagnosis: { code: 'address_not_allowed' } })
          expect(report.checks.map(({ name, ok }) => [name, ok])).toEqual([['dns', false]])
          if (host !== '127.0.0.1') expect(report.diagnosis!.message).not.toContain('127.0.0.1')
          reports.push(report.checks[0]!.message)
        }
        // An open port and a closed one look the same.
        expect(reports[0]).toBe(reports[1])
      }
    }
    expect(connections).toBe(0)
  })

  it('blocks the INVITE at the server', async () => {
    const bench = await start({ privateHosts: 'deny', resolver })
    const peer = await bench.rig.udpPeer()
    for (const host of ['127.0.0.1', 'carrier.example']) {
      const { result } = bench.dial(peer, { host })
      expect(await result).toMatchObject({ ok: false, failure: { reason: 'trunk_unreachable', sipCode: null } })
    }
    expect(peer.received).toEqual([])
    expect(bench.rig.server.counters.blocked).toBe(2)
  })

  it('allows networks that the operator named', async () => {
    const bench = await start({ privateHosts: ['127.0.0.0/8'], resolver })
    const peer = await bench.rig.udpPeer()
    const { result } = bench.dial(peer, { host: 'carrier.example' })
    reply(peer, await peer.request('INVITE'), '486 Busy Here')
    expect(await result).toMatchObject({ ok: false, failure: { reason: 'busy' } })
  })
})

it('limits concurrent trunk checks in all and per owner', async () => {
  // A name that DNS never answers keeps each check busy.
  const never = () => new Promise<never>(() => {})
  const bench = await start({}, { resolver: { naptr: never, srv: never, addresses: never } })
  const peer = await bench.rig.udpPeer()
  const owner_id = trunkPlan(peer).owner_id
  const check = (over = {}) => bench.edge.check(trunkPlan(peer, { host: 'slow.example', ...over }))
  const own = Array.from({ length: 3 }, () => check({ owner_id }))
  await expect(check({ owner_id })).rejects.toMatchObject({ name: 'TrunkChecksBusy', owner: true })
  const others = Array.from({ length: 5 }, () => check())
  await expect(check()).rejects.toMatchObject({ name: 'TrunkChecksBusy', owner: false })
  const reports = await Promise.all([...own, ...others])
  expect(reports.map(({ diagnosis }) => diagnosis?.code)).toEqual(Array(8).fill('dns_failed'))
})

describe('softphone requests', () => {
  it('are counted by result', async () => {
    const metrics = createMetrics()
    const banned: string[] = []
    const softphones = {
      any: () => true,
      find: async () => null,
      banned: () => banned,
      ban: async (network: string) => void banned.push(network),
    }
    const options = { secret: 'secret', clock, log: new MemoryLog(), isTrusted: () => false }
    const registrar = new SoftphoneRegistrar({
      ...options,
      meters: createSipMeters(metrics),
      softphones: softphones as unknown as Softphones,
    })
    const statuses: number[] = []
    const ask = (Authorization?: string) => {
      const headers: Record<string, string | undefined> = { From: '<sip:100@x>', CSeq: '1 REGISTER', Authorization }
      const about = { source_address: '203.0.113.9', method: 'REGISTER', uri: 'sip:x' }
      let asked = ''
      const send = (status: number, more: { headers: Record<string, string> }) => {
        statuses.push(status)
        asked = more.headers['WWW-Authenticate']?.split('\r\n')[0] ?? ''
      }
      const req = { ...about, get: (name: string) => headers[name] }
      return registrar.onRegister(req as never, { send } as never).then(() => asked)
    }
    const [challenge] = parseChallenges(await ask())
    const guess = { username: 'phone-abcdef', password: 'guessed', method: 'REGISTER', uri: 'sip:x', cnonce: 'c' }
    await ask(authorization(challenge!, { ...guess, nonceCount: 1 }))
    while (!statuses.includes(403)) await ask()
    await ask()
    const of = (event: string) =>
      Number(new RegExp(`^parley_softphone_events_total\\{event="${event}"\\} (\\d+)$`, 'm').exec(metrics.text())![1])
    expect(['wrong_password', 'shut_out', 'banned', 'registered'].map(of)).toEqual([1, 1, 1, 0])
    expect(of('challenged')).toBe(statuses.filter(status => status === 401).length)
  })
})

describe('rejected calls', () => {
  it('are counted by reason', async () => {
    const metrics = createMetrics()
    const bench = await start({}, { metrics })
    const [peer, far] = [await bench.rig.udpPeer(), await FarMedia.open()]
    closers.push(() => far.close())
    const call = (body: string) => {
      const caller = new Caller(peer, `sip:+12025550100@127.0.0.1:${bench.rig.udpPort}`)
      caller.invite(body)
      return caller
    }
    const refused = async (status: number, body = far.sdp()) => {
      const caller = call(body)
      await caller.answered(status)
      caller.ack(true)
    }
    await refused(403)
    bench.setTrunks(trunkPlan(peer, { fallback_number: '+12025550177' }))
    await refused(488, far.sdp([], '97').replace('a=rtpmap:101 telephone-event/8000', 'a=rtpmap:97 speex/8000'))
    const unknown = refused(404)
    ;(await bench.offer()).reject('unknown_number')
    await unknown
    const full = refused(302)
    ;(await bench.offer()).reject('too_many_calls')
    await full
    call(far.sdp())
    ;(await bench.offer()).admitted!('018f0000-0000-7000-8000-000000000000')
    await peer.response(180)
    const page = metrics.text()
    const counted = page.split('\n').filter(line => /^parley_\w+(\{.*\})? [1-9]/.test(line))
    expect(counted).toEqual([
      'parley_inbound_admitted_total 1',
      'parley_inbound_refused_total{reason="unknown_number"} 1',
      'parley_inbound_refused_total{reason="unknown_source"} 1',
      'parley_inbound_refused_total{reason="too_many_calls"} 1',
      'parley_inbound_refused_total{reason="no_common_codec"} 1',
      'parley_inbound_redirected_total 1',
    ])
    expect(page).not.toContain('2025550')
  })
})
