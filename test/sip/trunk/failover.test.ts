/** Several hosts of one trunk, OPTIONS pings, and the caller identity of a call. */

import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { TrunkHost, TrunkPlan } from '../../../media/contract/plan.ts'
import type { Clock } from '../../../media/shared/clock.ts'
import { headerOf } from '../../../sip/text/message.ts'
import { HostHealth, hostsOf } from '../../../sip/trunk/routing/hosts.ts'
import { callHeaders, requestUri } from '../../../sip/trunk/routing/identity.ts'
import { outgoingNumber } from '../../../sip/trunk/routing/numbers.ts'
import { type Peer, reply } from '../peer.ts'
import { Bench, FarMedia, trunkPlan } from './bench.ts'

let bench: Bench
let first: Peer
let second: Peer
let far: FarMedia
beforeEach(async () => {
  bench = await Bench.start()
  first = await bench.rig.udpPeer()
  second = await bench.rig.udpPeer()
  far = await FarMedia.open()
})
afterEach(async () => {
  await bench.close()
  far.close()
})

const at = (peer: { port: number }, transport: TrunkHost['transport'] = 'udp'): TrunkHost => ({
  host: '127.0.0.1',
  port: peer.port,
  transport,
})
/** A trunk by way of both, in this order. */
const both = (over: Partial<TrunkPlan> = {}) => bench.dial(first, { hosts: [at(second)], ...over })

async function restart(...options: Parameters<typeof Bench.start>): Promise<void> {
  await bench.close()
  bench = await Bench.start(...options)
  first = await bench.rig.udpPeer()
  second = await bench.rig.udpPeer()
}

/** Ten times as fast. */
const fast: Clock = {
  now: () => performance.now() * 10,
  wall: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms / 10)
    return () => clearTimeout(timer)
  },
}

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

describe('a call over several hosts', () => {
  it('uses the next host after a 503, and starts there the next time', async () => {
    const one = both()
    const refused = await first.request('INVITE')
    reply(first, refused, '503 No Circuit')
    const invite = await second.request('INVITE')
    expect(invite.uri).toBe(`sip:+12025550199@127.0.0.1:${second.port}`)
    // One attempt: the Call-ID stays the same (RFC 3263 §4.3).
    expect(headerOf(invite, 'Call-ID')).toBe(headerOf(refused, 'Call-ID'))
    expect(headerOf(invite, 'From')).not.toBe(headerOf(refused, 'From'))
    const headers = [`Contact: <sip:far@127.0.0.1:${second.port}>`, 'Content-Type: application/sdp']
    reply(second, invite, '200 OK', headers, far.sdp())
    const outcome = await one.result
    expect(outcome.ok).toBe(true)
    await second.request('ACK')
    if (outcome.ok) {
      const over = outcome.leg.hangup('agent_hangup')
      reply(second, await second.request('BYE'), '200 OK')
      await over
    }
    const two = both()
    reply(second, await second.request('INVITE'), '486 Busy Here')
    expect(await two.result).toMatchObject({ failure: { reason: 'busy' } })
  })

  it('skips unreachable and unresolvable hosts', async () => {
    const hosts = [at({ port: await closedPort() }, 'tcp'), at(second)]
    const { result } = bench.dial(first, { host: 'nowhere.invalid', hosts })
    reply(second, await second.request('INVITE'), '486 Busy Here')
    expect(await result).toMatchObject({ failure: { reason: 'busy', sipCode: 486 } })
  })

  it('continues after the transaction timeout of a silent host', async () => {
    await restart({ timers: { t1: 5, t2: 20, t4: 20 } })
    const { result } = both()
    await first.request('INVITE')
    reply(second, await second.request('INVITE'), '486 Busy Here')
    expect(await result).toMatchObject({ failure: { reason: 'busy' } })
  })

  it.each(['486 Busy Here', '404 Not Found', '500 Broken', '403 Forbidden'])(
    'ends at %s, which is an answer',
    async line => {
      const { result } = both()
      reply(first, await first.request('INVITE'), line)
      expect(await result).toMatchObject({ ok: false })
      expect(second.received).toEqual([])
    },
  )

  it('ends at 503 after ringing', async () => {
    const { result } = both()
    const invite = await first.request('INVITE')
    reply(first, invite, '180 Ringing')
    reply(first, invite, '503 Gone')
    expect(await result).toMatchObject({ failure: { reason: 'carrier_congestion' } })
    expect(second.received).toEqual([])
  })

  it("fails with the last host's reason", async () => {
    const { result } = both()
    reply(first, await first.request('INVITE'), '503 No Circuit')
    reply(second, await second.request('INVITE'), '503 No Circuit')
    expect(await result).toMatchObject({ failure: { reason: 'carrier_congestion', sipCode: 503 } })
  })

  it('is canceled during the failover', async () => {
    const { result, abort } = both()
    reply(first, await first.request('INVITE'), '503 No Circuit')
    const invite = await second.request('INVITE')
    abort.abort()
    reply(second, invite, '180 Ringing')
    reply(second, await second.request('CANCEL'), '200 OK')
    reply(second, invite, '487 Request Terminated')
    expect(await result).toMatchObject({ failure: { status: 'canceled' } })
  })
})

describe('pings', () => {
  const pinged = { options_interval_seconds: 30 }

  it('measure latency and availability by any response', async () => {
    bench.setTrunks(trunkPlan(first, { ...pinged, hosts: [at(second)] }))
    const options = await first.request('OPTIONS')
    expect(options.uri).toBe(`sip:127.0.0.1:${first.port}`)
    reply(first, options, '405 Not Here')
    reply(second, await second.request('OPTIONS'), '503 Not Now')
    await bench.until(() => bench.statuses.length > 0)
    expect(bench.statuses.at(-1)).toMatchObject({
      registration: 'none',
      hosts: [{ alive: true }, { alive: false, optionsMs: null }],
    })
    expect(bench.statuses.at(-1)?.hosts[0]?.optionsMs).toBeGreaterThanOrEqual(0)
  })

  it('let calls skip a dead host', async () => {
    await restart({}, { clock: fast })
    const trunk = trunkPlan(first, { ...pinged, hosts: [at(second)] })
    bench.setTrunks(trunk)
    reply(second, await second.request('OPTIONS'), '200 OK')
    await first.request('OPTIONS')
    await bench.until(() => bench.statuses.at(-1)?.hosts[0]?.alive === false)
    const { result } = both()
    reply(second, await second.request('INVITE'), '486 Busy Here')
    expect(await result).toMatchObject({ failure: { reason: 'busy' } })
    expect(first.received.filter(message => message.kind === 'request' && message.method === 'INVITE')).toEqual([])
  })

  it('probe a host that is silent to a call, and continue elsewhere', async () => {
    await restart({}, { clock: fast })
    const trunk = trunkPlan(first, { ...pinged, hosts: [at(second)] })
    bench.setTrunks(trunk)
    reply(first, await first.request('OPTIONS'), '200 OK')
    reply(second, await second.request('OPTIONS'), '200 OK')
    await bench.until(() => bench.statuses.at(-1)?.hosts.every(host => host.alive === true) ?? false)
    const { result } = bench.dial(first, { ...trunk, hosts: trunk.hosts })
    const lost = await first.request('INVITE')
    await first.request('OPTIONS')
    reply(second, await second.request('INVITE'), '486 Busy Here')
    expect(await result).toMatchObject({ failure: { reason: 'busy' } })
    reply(first, lost, '180 Ringing')
    reply(first, await first.request('CANCEL'), '481 Too Late')
    const headers = [`Contact: <sip:far@127.0.0.1:${first.port}>`, 'Content-Type: application/sdp']
    reply(first, lost, '200 OK', headers, far.sdp())
    await first.request('ACK')
    reply(first, await first.request('BYE'), '200 OK')
  })

  it('end when disabled', async () => {
    const trunk = trunkPlan(first, pinged)
    bench.setTrunks(trunk)
    reply(first, await first.request('OPTIONS'), '200 OK')
    await bench.until(() => bench.statuses.length === 1)
    bench.setTrunks({ ...trunk, options_interval_seconds: null })
    bench.setTrunks({ ...trunk, port: second.port })
    await second.request('OPTIONS')
    expect(first.received).toEqual([])
  })
})

describe('host health', () => {
  const [a, b, c] = [1, 2, 3].map(port => at({ port })) as [TrunkHost, TrunkHost, TrunkHost]

  it('sorts failed and silent hosts last, for their time', () => {
    let now = 0
    const health = new HostHealth({ now: () => now })
    expect(health.order([a, b, c])).toEqual([a, b, c])
    health.recordFailure(a)
    expect(health.order([a, b, c])).toEqual([b, c, a])
    health.recordFailure(b, 1_000_000)
    expect(health.order([a, b, c])).toEqual([c, a, b])
    now = 32_001
    expect(health.order([a, b, c])).toEqual([a, c, b])
    now = 300_001
    expect(health.order([a, b, c])).toEqual([a, b, c])
    health.recordSilence(a)
    expect(health.order([a, b, c])).toEqual([b, c, a])
    health.recordAnswer(a)
    expect(health.order([a, b, c])).toEqual([a, b, c])
  })

  it('reports a loss only of a host that was alive', () => {
    const health = new HostHealth({ now: () => 0 })
    const silent: TrunkHost[] = []
    const stop = health.onSilence(host => silent.push(host))
    health.recordSilence(a)
    health.recordAnswer(b, 12)
    expect(health.statusOf(b)).toEqual({ ...b, alive: true, optionsMs: 12, targets: [] })
    health.recordSilence(b)
    expect(silent).toEqual([b])
    expect([a, b, c].map(host => health.statusOf(host).alive)).toEqual([false, false, null])
    stop()
    health.recordSilence(b)
    expect(silent).toHaveLength(1)
    health.keep([c])
    expect(health.statusOf(b).alive).toBeNull()
  })
})

describe('caller identity', () => {
  const peer = { port: 5060 }
  const parties = { from: '+4930123456', to: '+4940987654' }
  const german = { calling_code: '49', national_prefix: '0', international_prefix: '00' }
  const headers = (over: Partial<TrunkPlan>, more = {}) => {
    const trunk = trunkPlan(peer, { host: 'carrier.example', ...over })
    return callHeaders(trunk, hostsOf(trunk)[0]!, { ...parties, ...more })
  }

  it('is our number, at our address or the account’s domain', () => {
    expect(headers({})).toEqual({
      From: '<sip:+4930123456@localhost>',
      To: '<sip:+4940987654@carrier.example:5060>',
      Contact: '<sip:+4930123456@localhost>',
    })
    expect(headers({ username: 'acct' })).toMatchObject({
      From: '<sip:+4930123456@carrier.example>',
      Contact: '<sip:acct@localhost>',
    })
    expect(headers({ from_domain: 'pbx.example' })['From']).toBe('<sip:+4930123456@pbx.example>')
  })

  it('is the account in From and the number in P-Asserted-Identity, where the carrier wants that', () => {
    expect(headers({ username: 'acct', from_user: 'acct', pai: 'always' })).toMatchObject({
      From: '<sip:acct@carrier.example>',
      'P-Asserted-Identity': '<sip:+4930123456@carrier.example>',
    })
    expect(headers({ pai: 'always' }, { from: '' })).not.toHaveProperty('P-Asserted-Identity')
  })

  it('is anonymous with privacy, except to the carrier', () => {
    expect(headers({ username: 'acct', privacy: 'id', pai: 'always' })).toEqual({
      From: '"Anonymous" <sip:anonymous@anonymous.invalid>',
      To: '<sip:+4940987654@carrier.example:5060>',
      Contact: '<sip:acct@localhost>',
      'P-Asserted-Identity': '<sip:+4930123456@carrier.example>',
      Privacy: 'id',
    })
    expect(JSON.stringify(headers({ privacy: 'id' }))).not.toContain('30123456')
  })

  it('includes the diverting number', () => {
    expect(headers({}, { divertedFrom: '+4930777' })['Diversion']).toBe(
      '<sip:+4930777@carrier.example>;reason=deflection',
    )
  })

  it.each([
    ['plus', '+4930123456', '+4930123456'],
    ['digits', '+4930123456', '4930123456'],
    ['national', '+4930123456', '030123456'],
    ['national', '+12025550100', '0012025550100'],
    ['national', 'alice', 'alice'],
  ] as const)('in the form %s, %s is %s', (number_format, number, written) => {
    expect(outgoingNumber(number, { number_format, dialing: german })).toBe(written)
    const trunk = trunkPlan(peer, { number_format, dialing: german })
    expect(requestUri(trunk, at(peer), number)).toBe(`sip:${written}@127.0.0.1:5060`)
  })

  it('goes out on the wire', async () => {
    const over = { username: 'acct', from_user: 'acct', pai: 'always', privacy: 'id', number_format: 'digits' } as const
    const { result } = bench.dial(first, { ...over, from_domain: 'carrier.example' })
    const invite = await first.request('INVITE')
    expect(invite.uri).toBe(`sip:12025550199@127.0.0.1:${first.port}`)
    expect(headerOf(invite, 'From')).toMatch(/^"Anonymous" <sip:anonymous@anonymous\.invalid>;tag=/)
    expect(headerOf(invite, 'P-Asserted-Identity')).toBe('<sip:12025550100@carrier.example>')
    expect(headerOf(invite, 'Privacy')).toBe('id')
    expect(headerOf(invite, 'Contact')).toBe(`<sip:acct@127.0.0.1:${bench.rig.udpPort}>`)
    reply(first, invite, '486 Busy Here')
    await result
  })
})
