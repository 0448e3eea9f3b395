/** Trunks whose port is left to DNS (RFC 3263), with a small real DNS server. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { writeAllowedSources } from '../../../infra/adapters/allowed-sources.ts'
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import type { Clock } from '../../../media/shared/clock.ts'
import { readCidrLines } from '../../../sip/server/allow.ts'
import { cachingResolver, chanceOf, orderSrv, systemResolver } from '../../../sip/server/resolve.ts'
import { headerOf } from '../../../sip/text/message.ts'
import { NextHopResolver } from '../../../sip/trunk/routing/next-hop.ts'
import { address, DnsServer, naptr, srv } from '../../support/dns.ts'
import { lacks } from '../../support/needs.ts'
import { Caller, type Peer } from '../peer.ts'
import { Far } from '../server/far.ts'
import { testPair } from '../server/pair.ts'
import { Bench, FarMedia, trunkPlan } from './bench.ts'
import { proofIn } from './digest-server.ts'

const itTls = it.skipIf(lacks('openssl'))

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const faster = (times: number): Clock => ({
  now: () => performance.now() * times,
  wall: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms / times)
    return () => clearTimeout(timer)
  },
})
/** A minute is 0.3 s. */
const fast = faster(200)

interface Setting {
  dns: DnsServer
  bench: Bench
  media: FarMedia
}

async function serve(
  server: Parameters<typeof Bench.start>[0] = {},
  edge: Parameters<typeof Bench.start>[1] = {},
): Promise<Setting> {
  const dns = await DnsServer.start()
  closers.push(() => dns.close())
  const clock = edge.clock ?? { now: () => performance.now() }
  const resolver = cachingResolver(systemResolver([dns.at]), () => clock.now())
  const bench = await Bench.start({ resolver, ...server }, { resolver, ...edge })
  closers.push(() => bench.close())
  const media = await FarMedia.open()
  closers.push(() => media.close())
  return { dns, bench, media }
}

async function far(host = '127.0.0.1'): Promise<Far> {
  const party = await Far.udp(host)
  closers.push(() => party.close())
  return party
}

const byName: Partial<TrunkPlan> = { host: 'carrier.example', port: null }
const dial = ({ bench }: Setting, over: Partial<TrunkPlan> = {}) =>
  // By the fast clock this is 50 s.
  bench.dial({ port: 9 } as Peer, { ...byName, ...over }, { ring_timeout_ms: 10_000_000 })

/** Two servers behind the name, by priority. */
function publish({ dns }: Setting, ...ports: readonly number[]): void {
  dns.records.set('carrier.example', [])
  dns.records.set(
    '_sip._udp.carrier.example',
    ports.map((port, at) => srv(`sbc${at}.carrier.example`, port, 10 + at)),
  )
  for (const at of ports.keys()) dns.records.set(`sbc${at}.carrier.example`, [address('127.0.0.1')])
}

describe('a call by the records of a name', () => {
  it('goes to the first server, for the name; to the next when that has no line or is not there', async () => {
    const setting = await serve()
    const [one, two] = [await far(), await far()]
    publish(setting, one.port, two.port)
    const first = dial(setting)
    const invite = await one.next('INVITE')
    expect(invite.request.uri).toBe('sip:+12025550199@carrier.example')
    expect(headerOf(invite.request, 'To')).toBe('<sip:+12025550199@carrier.example>')
    invite.answer('503 No Circuit')
    ;(await two.next('INVITE')).answer('486 Busy Here')
    expect(await first.result).toMatchObject({ failure: { reason: 'busy' } })
    // Passed over for a while, also by a trunk of another account.
    const again = dial(setting)
    ;(await two.next('INVITE')).answer('486 Busy Here')
    expect(await again.result).toMatchObject({ failure: { reason: 'busy' } })
    expect(one.heard.filter(({ request }) => request.method === 'INVITE')).toEqual([])
  })

  it('goes on past a server that nobody listens at', async () => {
    const setting = await serve()
    const [dead, two] = [await Far.udp(), await far()]
    dead.close()
    publish(setting, dead.port, two.port)
    const { result } = dial(setting)
    ;(await two.next('INVITE')).answer('486 Busy Here')
    expect(await result).toMatchObject({ failure: { reason: 'busy', sipCode: 486 } })
  })

  it('goes on past a silent one long before 64*T1; what comes of that late is taken back', async () => {
    const setting = await serve({}, { clock: fast })
    const [silent, two] = [await far(), await far()]
    publish(setting, silent.port, two.port)
    const { result } = dial(setting)
    const lost = await silent.next('INVITE')
    ;(await two.next('INVITE')).answer('486 Busy Here')
    expect(await result).toMatchObject({ failure: { reason: 'busy' } })
    lost.answer('180 Ringing')
    ;(await silent.next('CANCEL')).answer('200 OK')
  })

  it('goes by what NAPTR says, and is proven to who asked', async () => {
    const setting = await serve()
    const tcp = await Far.tcp()
    closers.push(() => tcp.close())
    setting.dns.records.set('carrier.example', [naptr('SIP+D2T', '_sip._tcp.other.example')])
    setting.dns.records.set('_sip._tcp.other.example', [srv('sbc.other.example', tcp.port)])
    setting.dns.records.set('sbc.other.example', [address('127.0.0.1')])
    const { result } = dial(setting, { username: 'user', password: 'pass' })
    const invite = await tcp.next('INVITE')
    expect(headerOf(invite.request, 'Via')).toContain('SIP/2.0/TCP')
    invite.answer('407 Prove It', ['Proxy-Authenticate: Digest realm="r", nonce="n", qop="auth"'])
    const proven = await tcp.next('INVITE')
    expect(proofIn(proven.request, 'pass', 'Proxy-Authorization')?.right).toBe(true)
    proven.answer('486 Busy Here')
    expect(await result).toMatchObject({ failure: { reason: 'busy' } })
  })

  it('goes by the address where there are no records, and nowhere where there is none', async () => {
    const setting = await serve()
    setting.dns.records.set('carrier.example', [address('192.0.2.1'), address('2001:db8::1')])
    const nextHops = new NextHopResolver(systemResolver([setting.dns.at]), () => true)
    const where = (await nextHops.hopsOf('sip:carrier.example;transport=tcp')).map(({ remote }) => remote)
    expect(where).toEqual([
      { host: '192.0.2.1', port: 5060 },
      { host: '2001:db8::1', port: 5060 },
    ])
    expect(setting.dns.asked).toEqual(expect.arrayContaining(['SRV _sip._tcp.carrier.example', 'A carrier.example']))
    expect(await dial(setting, { host: 'nowhere.example' }).result).toMatchObject({
      failure: { reason: 'trunk_unreachable' },
    })
  })

  it('goes on while DNS does not answer, by what it said last', async () => {
    const setting = await serve({}, { clock: fast })
    const one = await far()
    publish(setting, one.port)
    const first = dial(setting)
    ;(await one.next('INVITE')).answer('486 Busy Here')
    await first.result
    setting.dns.failing = true
    const asked = setting.dns.asked.length
    // Half a minute later what is remembered is old.
    while (setting.dns.asked.length === asked) {
      const { result } = dial(setting)
      ;(await one.next('INVITE')).answer('486 Busy Here')
      expect(await result).toMatchObject({ failure: { reason: 'busy' } })
    }
  })
})

describe('over TLS', () => {
  itTls('the certificate is for the name that was set, not for the server that DNS names (RFC 5922 §4)', async () => {
    const pairs = [testPair('DNS:carrier.example'), testPair('DNS:sbc1.carrier.example')]
    const listen = [{ protocol: 'tls' as const, host: '127.0.0.1', port: 0 }]
    const own = testPair('IP:127.0.0.1')
    const setting = await serve({ listen, tls: { ...own, ca: pairs.map(({ cert }) => cert) } })
    const [right, wrong] = await Promise.all(pairs.map(pair => Far.tls(pair)))
    closers.push(() => [right!.close(), wrong!.close()])
    const { records } = setting.dns
    records.set('carrier.example', [])
    // The impostor would be tried first.
    records.set('_sips._tcp.carrier.example', [
      srv('sbc1.carrier.example', wrong!.port, 10),
      srv('sbc2.carrier.example', right!.port, 20),
    ])
    for (const name of ['sbc1', 'sbc2']) records.set(`${name}.carrier.example`, [address('127.0.0.1')])
    const { result } = dial(setting, { transport: 'tls' })
    ;(await right!.next('INVITE')).answer('486 Busy Here')
    expect(await result).toMatchObject({ failure: { reason: 'busy' } })
    expect(wrong!.heard).toEqual([])
  })
})

describe('a registration', () => {
  it('goes to one of several equals, with its proof and its refreshes, and to the other when that is gone', async () => {
    const setting = await serve({}, { clock: fast })
    const parties = [await far(), await far()]
    publish(setting, ...parties.map(({ port }) => port))
    const { records } = setting.dns
    const equal = parties.map(({ port }, at) => srv(`sbc${at}.carrier.example`, port))
    records.set('_sip._udp.carrier.example', equal)
    const challenge = 'WWW-Authenticate: Digest realm="r", nonce="n", qop="auth"'
    const account = { mode: 'register', username: 'user', password: 'pass' } as const
    setting.bench.setTrunks(trunkPlan({ port: 9 }, { ...byName, ...account }))
    const first = await Promise.race(parties.map(async party => ({ party, asked: await party.next('REGISTER') })))
    const registrar = first.party
    expect(first.asked.request.uri).toBe('sip:carrier.example')
    first.asked.answer('401 Prove It', [challenge])
    for (let refresh = 0; refresh < 3; refresh++) {
      const proven = await registrar.next('REGISTER')
      expect(proofIn(proven.request, 'pass')?.right).toBe(true)
      proven.answer('200 OK', [`Contact: ${headerOf(proven.request, 'Contact')}`, 'Expires: 60'])
    }
    const other = parties.find(party => party !== registrar)!
    expect(other.heard).toEqual([])
    registrar.close()
    expect((await other.next('REGISTER')).request.uri).toBe('sip:carrier.example')
  })
})

describe('pings', () => {
  it('ask each server behind the name, and calls pass over who is not there', async () => {
    const setting = await serve({}, { clock: faster(10) })
    const [one, two] = [await far(), await far()]
    publish(setting, one.port, two.port)
    const pinged = { options_interval_seconds: 60 }
    setting.bench.setTrunks(trunkPlan({ port: 9 }, { ...byName, ...pinged }))
    const options = await two.next('OPTIONS')
    expect(options.request.uri).toBe('sip:carrier.example')
    options.answer('200 OK')
    await one.next('OPTIONS')
    await setting.bench.until(() => setting.bench.statuses.at(-1)?.hosts[0]?.targets[0]?.alive === false)
    expect(setting.bench.statuses.at(-1)?.hosts).toMatchObject([
      {
        host: 'carrier.example',
        port: null,
        alive: true,
        targets: [
          { host: '127.0.0.1', port: one.port, alive: false, optionsMs: null },
          { host: '127.0.0.1', port: two.port, alive: true },
        ],
      },
    ])
    const { result } = dial(setting, pinged)
    ;(await two.next('INVITE')).answer('486 Busy Here')
    expect(await result).toMatchObject({ failure: { reason: 'busy' } })
    expect(one.heard.filter(({ request }) => request.method === 'INVITE')).toEqual([])
  })
})

describe('who may call', () => {
  it('is every server that the records name, as they are now; not a stranger, nor the host of the name itself', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'srv-'))
    closers.push(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'sources')
    let changed = (): void => {}
    const onAllowedSources = (cidrs: readonly string[]): void => {
      writeAllowedSources(file, cidrs)
      changed()
    }
    const setting = await serve({}, { clock: fast, onAllowedSources })
    const { dns, bench } = setting
    publish(setting, 5060, 5060)
    dns.records.set('carrier.example', [address('192.0.2.99')])
    dns.records.set('sbc0.carrier.example', [address('192.0.2.10'), address('2001:db8::10')])
    dns.records.set('sbc1.carrier.example', [address('192.0.2.11')])
    const allowed = (): string[] => bench.edge.allowedSources().sort()
    const told = async (ready: () => boolean): Promise<void> => {
      while (!ready()) await new Promise<void>(resolve => (changed = resolve))
    }
    bench.setTrunks(trunkPlan({ port: 9 }, byName))
    await told(() => allowed().length === 3)
    expect(allowed()).toEqual(['192.0.2.10', '192.0.2.11', '2001:db8::10'])
    expect(readCidrLines(readFileSync(file, 'utf8'))).toEqual(
      expect.arrayContaining(allowed().map(source => `@${source}`)),
    )
    // A server moves. The next look, a minute later at most, finds it; calls from where it was may still go on.
    dns.records.set('sbc1.carrier.example', [address('192.0.2.12')])
    await told(() => allowed().includes('192.0.2.12'))
    expect(allowed()).toContain('192.0.2.11')
    dns.failing = true
    const asked = dns.asked.length
    while (dns.asked.length < asked + 6) await new Promise(resolve => setImmediate(resolve))
    expect(allowed()).toEqual(['192.0.2.10', '192.0.2.11', '192.0.2.12', '2001:db8::10'])
  })

  it('an address that was left is forgotten after an hour', async () => {
    const hour: Clock = { ...fast, now: () => performance.now() * 20_000, after: (_ms, run) => every(run) }
    const every = (run: () => void) => {
      const timer = setTimeout(run, 50)
      return () => clearTimeout(timer)
    }
    const setting = await serve({}, { clock: hour })
    setting.dns.records.set('carrier.example', [address('192.0.2.1')])
    setting.bench.setTrunks(trunkPlan({ port: 9 }, { ...byName, port: 5060 }))
    const allowed = (): string => setting.bench.edge.allowedSources().join()
    while (allowed() !== '192.0.2.1') await new Promise(resolve => setImmediate(resolve))
    setting.dns.records.set('carrier.example', [address('192.0.2.2')])
    while (allowed() !== '192.0.2.2') await new Promise(resolve => setImmediate(resolve))
  })

  it('by a call on the wire', async () => {
    const setting = await serve()
    const { dns, bench, media } = setting
    const peer = await bench.rig.udpPeer()
    publish(setting, peer.port)
    const call = () => {
      const caller = new Caller(peer, `sip:+12025550100@127.0.0.1:${bench.rig.udpPort}`)
      caller.invite(media.sdp())
      return caller
    }
    // Records of another trunk with other servers.
    dns.records.set('sbc.elsewhere.example', [address('192.0.2.66')])
    dns.records.set('elsewhere.example', [])
    dns.records.set('_sip._udp.elsewhere.example', [srv('sbc.elsewhere.example', peer.port)])
    bench.setTrunks(trunkPlan({ port: 9 }, { ...byName, host: 'elsewhere.example' }))
    const stranger = call()
    await stranger.answered(403)
    stranger.ack(true)
    const trunk = trunkPlan({ port: 9 }, byName)
    bench.setTrunks(trunk)
    while (!bench.edge.allowedSources().includes('127.0.0.1')) await new Promise(resolve => setImmediate(resolve))
    const caller = call()
    const offer = await bench.offer()
    expect(offer.trunkId).toBe(trunk.id)
    offer.reject('unknown_number')
    await caller.answered(404)
    caller.ack(true)
  })

  it('is also who stands behind an outbound proxy without a port', async () => {
    const setting = await serve()
    const proxy = await far()
    publish(setting, proxy.port)
    const over = { host: '192.0.2.1', port: 5060, outbound_proxy: 'sip:carrier.example;lr' }
    const { result } = dial(setting, over)
    const invite = await proxy.next('INVITE')
    expect(invite.request.uri).toBe('sip:+12025550199@192.0.2.1:5060')
    invite.answer('486 Busy Here')
    await result
    expect(setting.bench.edge.allowedSources().sort()).toEqual(['127.0.0.1', '192.0.2.1'])
  })
})

describe('the doctor', () => {
  it('shows the records and looks at every server', async () => {
    const setting = await serve()
    const [one, dead] = [await far(), await Far.udp()]
    dead.close()
    publish(setting, one.port, dead.port)
    const checking = setting.bench.edge.check(trunkPlan({ port: 9 }, byName))
    ;(await one.next('OPTIONS')).answer('200 OK')
    const { ok, checks, diagnosis } = await checking
    expect(checks[0]).toMatchObject({ name: 'dns', host: 'carrier.example', ok: true })
    expect(checks[0]?.message).toBe(
      `SRV: _sip._udp.carrier.example at sbc0.carrier.example:${one.port} (priority 10, weight 10), ` +
        `_sip._udp.carrier.example at sbc1.carrier.example:${dead.port} (priority 11, weight 10). ` +
        `Next hops: udp 127.0.0.1:${one.port}, udp 127.0.0.1:${dead.port}.`,
    )
    expect(checks.filter(({ name }) => name === 'options')).toMatchObject([
      { host: `127.0.0.1:${one.port}`, ok: true },
      { host: `127.0.0.1:${dead.port}`, ok: false },
    ])
    expect({ ok, code: diagnosis?.code }).toEqual({ ok: false, code: 'transport_refused' })
  })

  it.each([
    [{}, 'carrier.example has neither an SRV record nor an address (A, AAAA).'],
    [
      { '_sip._udp.carrier.example': [srv('gone.example', 5060)] },
      'The SRV records of carrier.example point to gone.example, none of which has an address.',
    ],
  ])('says why a name leads nowhere: %o', async (records, words) => {
    const setting = await serve()
    for (const [name, list] of Object.entries(records)) setting.dns.records.set(name, list)
    const { ok, checks, diagnosis } = await setting.bench.edge.check(trunkPlan({ port: 9 }, byName))
    expect(ok).toBe(false)
    expect(checks).toMatchObject([{ name: 'dns', ok: false, message: words }])
    expect(diagnosis).toMatchObject({ code: 'dns_failed', message: words })
  })

  it('says so when DNS is silent', async () => {
    const setting = await serve()
    setting.dns.failing = true
    const { diagnosis } = await setting.bench.edge.check(trunkPlan({ port: 9 }, byName))
    expect(diagnosis?.message).toBe('DNS did not answer for the records of carrier.example.')
  })
})

describe('the same text', () => {
  it('draws the same server, and others draw by weight', () => {
    const records = [1, 2, 3].map(at => ({ name: `h${at}`, port: 5060, priority: 1, weight: at === 3 ? 98 : 1 }))
    const first = (text: string, list = records): string => orderSrv(list, chanceOf(text))[0]!.name
    for (let n = 0; n < 50; n++) expect(first(`call ${n}`)).toBe(first(`call ${n}`, records.toReversed()))
    const third = Array.from({ length: 500 }, (_, n) => first(`call ${n}`)).filter(name => name === 'h3').length
    expect(third).toBeGreaterThan(460)
  })
})
