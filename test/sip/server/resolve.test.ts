/** Next hops of a URI, and the order in which they are tried (RFC 3263). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DeadHosts } from '../../../sip/server/dead-hosts.ts'
import {
  cachingResolver,
  type Hop,
  type NaptrRecord,
  orderNaptr,
  orderSrv,
  type Resolver,
  resolveUri,
  type SrvRecord,
} from '../../../sip/server/resolve.ts'
import type { Protocol } from '../../../sip/server/transport.ts'
import { parseUri, type SipUri } from '../../../sip/text/uri.ts'

const ADDRESSES: Record<string, string[]> = {
  'sip1.example.com': ['192.0.2.11'],
  'sip2.example.com': ['192.0.2.12', '2001:db8::12'],
  'plain.example.com': ['192.0.2.13'],
  'both.example.com': ['192.0.2.14'],
  trunk: ['192.0.2.15'],
}
const target = (name: string, port: number, priority = 1, weight = 0): SrvRecord => ({ name, port, priority, weight })
const SRV: Record<string, SrvRecord[]> = {
  '_sip._udp.example.com': [target('sip2.example.com', 5098, 2), target('sip1.example.com', 5099, 1)],
  '_sips._tcp.secure.example.com': [target('sip1.example.com', 5071)],
  '_sip._tcp.by-naptr.example.com': [target('sip1.example.com', 5060)],
  '_sip._udp.by-naptr.example.com': [target('sip2.example.com', 5060)],
  '_sip._udp.both.example.com': [target('sip1.example.com', 5001)],
  '_sip._tcp.both.example.com': [target('sip1.example.com', 5002)],
  '_sip._udp.half.example.com': [target('nowhere.invalid', 5060, 1), target('sip1.example.com', 5060, 2)],
  '_sip._udp.plain.example.com': [target('.', 0)],
}
const pointer = (service: string, replacement: string, order: number, preference: number): NaptrRecord => ({
  service,
  replacement,
  order,
  preference,
})
const NAPTR: Record<string, NaptrRecord[]> = {
  'by-naptr.example.com': [
    pointer('SIP+D2U', '_sip._udp.by-naptr.example.com', 20, 1),
    pointer('SIP+D2S', '_sip._sctp.by-naptr.example.com', 5, 1),
    pointer('SIP+D2T', '_sip._tcp.by-naptr.example.com', 10, 1),
  ],
}
const resolver: Resolver = {
  addresses: async host => ADDRESSES[host] ?? Promise.reject(new Error('ENOTFOUND')),
  srv: async name => SRV[name] ?? [],
  naptr: async domain => NAPTR[domain] ?? [],
}

const speaking = (...spoken: Protocol[]) => ({
  speaks: (protocol: Protocol) => spoken.includes(protocol),
  resolver,
  random: () => 0.5,
})
const all = speaking('udp', 'tcp', 'tls')
const inShort = ({ protocol, remote, name }: Hop): string => `${protocol} ${remote.host} ${remote.port} as ${name}`
const places = async (uri: string, question = all): Promise<string[]> =>
  (await resolveUri(parseUri(uri) as SipUri, question)).map(inShort)

describe('next hops', () => {
  it.each<[string, string[]]>([
    ['sip:a@192.0.2.1', ['udp 192.0.2.1 5060 as 192.0.2.1']],
    ['sip:a@192.0.2.1:5070;transport=TCP', ['tcp 192.0.2.1 5070 as 192.0.2.1']],
    ['sip:a@[2001:db8::1]', ['udp 2001:db8::1 5060 as 2001:db8::1']],
    ['sip:a@example.com;maddr=[2001:db8::7]', ['udp 2001:db8::7 5060 as 2001:db8::7']],
    ['sips:a@192.0.2.1', ['tls 192.0.2.1 5061 as 192.0.2.1']],
    ['sips:a@192.0.2.1;transport=tcp', ['tls 192.0.2.1 5061 as 192.0.2.1']],
    ['sip:a@192.0.2.1;transport=tls', ['tls 192.0.2.1 5061 as 192.0.2.1']],
    ['sip:plain.example.com:5080', ['udp 192.0.2.13 5080 as plain.example.com']],
    ['sip:trunk', ['udp 192.0.2.15 5060 as trunk']],
    // By priority, and all addresses of a target.
    [
      'sip:example.com',
      [
        'udp 192.0.2.11 5099 as example.com',
        'udp 192.0.2.12 5098 as example.com',
        'udp 2001:db8::12 5098 as example.com',
      ],
    ],
    // No such records for that transport: the address itself.
    ['sip:plain.example.com;transport=tcp', ['tcp 192.0.2.13 5060 as plain.example.com']],
    // `.` says that there is no service; the domain's own address is what is left.
    ['sip:plain.example.com', ['udp 192.0.2.13 5060 as plain.example.com']],
    ['sip:half.example.com', ['udp 192.0.2.11 5060 as half.example.com']],
    ['sip:both.example.com', ['udp 192.0.2.11 5001 as both.example.com', 'tcp 192.0.2.11 5002 as both.example.com']],
    // NAPTR decides the transport; what we don't speak is skipped.
    [
      'sip:by-naptr.example.com',
      [
        'tcp 192.0.2.11 5060 as by-naptr.example.com',
        'udp 192.0.2.12 5060 as by-naptr.example.com',
        'udp 2001:db8::12 5060 as by-naptr.example.com',
      ],
    ],
    // A certificate names the domain, not the host that SRV gave (RFC 5922 §4).
    ['sips:secure.example.com', ['tls 192.0.2.11 5071 as secure.example.com']],
  ])('%s', async (uri, want) => expect(await places(uri)).toEqual(want))

  it('TCP where there is no UDP', async () => {
    expect(await places('sip:192.0.2.1', speaking('tcp'))).toEqual(['tcp 192.0.2.1 5060 as 192.0.2.1'])
    expect(await places('sip:by-naptr.example.com', speaking('udp'))).toHaveLength(2)
  })

  it('rejects an unresolvable name', async () => {
    await expect(places('sip:nowhere.invalid')).rejects.toThrow('ENOTFOUND')
  })
})

describe('order', () => {
  const group = [target('c', 1, 20, 100), target('a', 1, 10, 30), target('b', 1, 10, 70)]

  it('of SRV: priority, then chance in proportion to weight', () => {
    expect(orderSrv(group, () => 0.2).map(({ name }) => name)).toEqual(['a', 'b', 'c'])
    expect(orderSrv(group, () => 0.9).map(({ name }) => name)).toEqual(['b', 'a', 'c'])
    let seed = 1
    const random = (): number => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed / 2_147_483_647
    }
    const first = Array.from({ length: 2000 }, () => orderSrv(group, random)[0]?.name)
    const share = first.filter(name => name === 'b').length / first.length
    expect(share).toBeGreaterThan(0.65)
    expect(share).toBeLessThan(0.75)
  })

  it('keeps every SRV record once', () => {
    const record = fc.record({ name: fc.string(), port: fc.nat(), priority: fc.nat(3), weight: fc.nat(3) })
    fc.assert(
      fc.property(fc.array(record, { maxLength: 8 }), fc.double({ min: 0, max: 1, noNaN: true }), (records, chance) => {
        const ordered = orderSrv(records, () => chance)
        expect(new Set(ordered)).toEqual(new Set(records))
        expect(ordered.map(({ priority }) => priority)).toEqual(records.map(r => r.priority).sort((a, b) => a - b))
      }),
    )
  })

  it('of NAPTR: order, then preference; a SIPS URI takes only what is secure', () => {
    const records = [
      pointer('SIPS+D2T', 'c', 20, 5),
      pointer('sip+d2u', 'b', 10, 2),
      pointer('SIP+D2T', 'a', 10, 1),
      pointer('E2U+sip', 'x', 1, 1),
    ]
    const names = (secure: boolean): string[] => orderNaptr(records, () => true, secure).map(({ name }) => name)
    expect(names(false)).toEqual(['a', 'b', 'c'])
    expect(names(true)).toEqual(['c'])
  })

  it('dead hosts last, until they answer or time passes', () => {
    const dead = new DeadHosts()
    const [a, b] = ['a', 'b'].map(host => ({ protocol: 'udp' as const, remote: { host, port: 1 } })) as [never, never]
    dead.mark(a, 1000, 5000)
    expect(dead.order([a, b], 1000)).toEqual([b, a])
    expect(dead.order([a], 1000)).toEqual([a])
    expect(dead.order([a, b], 6000)).toEqual([a, b])
    dead.mark(a, 6000)
    dead.revive(a)
    expect(dead.order([a, b], 6000)).toEqual([a, b])
    for (let i = 0; i < 5000; i++) dead.mark({ protocol: 'udp', remote: { host: `h${i}`, port: 1 } }, i)
    expect(dead.alive({ protocol: 'udp', remote: { host: 'h4999', port: 1 } }, 5000)).toBe(false)
  })
})

it('caches answers, not failures', async () => {
  let asked = 0
  let now = 0
  const counting: Resolver = {
    ...resolver,
    addresses: host => {
      asked += 1
      return resolver.addresses(host)
    },
  }
  const memory = cachingResolver(counting, () => now)
  await memory.addresses('trunk')
  await memory.addresses('trunk')
  expect(asked).toBe(1)
  now = 31_000
  await memory.addresses('trunk')
  expect(asked).toBe(2)
  await expect(memory.addresses('x')).rejects.toThrow()
  await expect(memory.addresses('x')).rejects.toThrow()
  expect(asked).toBe(4)
})
