/** Resolves a URI (RFC 3263 §4) through NAPTR, SRV and address records to an ordered list of next hops. */
import { createHash } from 'node:crypto'
import { promises as dns } from 'node:dns'
import { isIP } from 'node:net'
import type { SipUri } from '../text/uri.ts'
import type { HostPortOf, Protocol } from './transport.ts'

/** A next hop. `name` must appear in its certificate: the domain that was asked for, never a name that DNS returned. */
export type Hop = { readonly protocol: Protocol; readonly remote: HostPortOf; readonly name: string }

export type SrvRecord = {
  readonly name: string
  readonly port: number
  readonly priority: number
  readonly weight: number
}
export type NaptrRecord = {
  readonly service: string
  readonly replacement: string
  readonly order: number
  readonly preference: number
}

export type Resolver = {
  /** A and AAAA records. Rejects when there is no such host. */
  addresses(host: string): Promise<readonly string[]>
  /** Empty when there are no records. Rejects when DNS does not answer. */
  srv(name: string): Promise<readonly SrvRecord[]>
  naptr(domain: string): Promise<readonly NaptrRecord[]>
}

const TIMEOUT_MS = 1500
const MOST_HOPS = 16
const SERVICES: Readonly<Record<string, Protocol>> = { 'SIP+D2U': 'udp', 'SIP+D2T': 'tcp', 'SIPS+D2T': 'tls' }
const SRV_PREFIX: Readonly<Record<Protocol, string>> = { udp: '_sip._udp', tcp: '_sip._tcp', tls: '_sips._tcp' }
const ORDER: readonly Protocol[] = ['udp', 'tcp', 'tls']

/** No such name, or no record of that type: a valid, empty answer. */
const NONE = new Set(['ENOTFOUND', 'ENODATA'])

function orNone(error: NodeJS.ErrnoException): [] {
  if (NONE.has(error.code ?? '')) return []
  throw error
}

/**
 * `lookup` uses /etc/hosts, as people expect of a host name in a trunk. With `servers` (`address:port`), only those are
 * asked.
 */
export function systemResolver(servers: readonly string[] | null = null): Resolver {
  const resolver = new dns.Resolver({ timeout: TIMEOUT_MS, tries: 1 })
  if (servers !== null) resolver.setServers(servers)
  return {
    addresses: async host =>
      servers === null
        ? (await dns.lookup(host, { all: true })).map(({ address }) => address)
        : bothFamilies(resolver, host),
    srv: name => resolver.resolveSrv(name).catch(orNone),
    naptr: async domain => {
      const records = await resolver.resolveNaptr(domain).catch(orNone)
      return records.filter(({ flags }) => flags.toLowerCase() === 's')
    },
  }
}

async function bothFamilies(resolver: dns.Resolver, host: string): Promise<string[]> {
  const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  const found = [four, six].flatMap(answer => (answer.status === 'fulfilled' ? answer.value : []))
  if (found.length === 0 && four.status === 'rejected') throw four.reason
  return found
}

/** A random source seeded by `text`: repeated requests of one call reach the same host. */
export function chanceOf(text: string): () => number {
  let drawn = 0
  return () => {
    drawn += 1
    return createHash('sha256').update(`${drawn} ${text}`).digest().readUInt32BE() / 2 ** 32
  }
}

/** RFC 2782: by priority, and within one priority at random in proportion to weight. */
export function orderSrv(records: readonly SrvRecord[], random: () => number): SrvRecord[] {
  const left = [...records].sort(
    (a, b) => a.priority - b.priority || a.weight - b.weight || (a.name < b.name ? -1 : Number(a.name > b.name)),
  )
  const ordered: SrvRecord[] = []
  for (let first = left[0]; first !== undefined; first = left[0]) {
    const { priority } = first
    const group = left.filter(record => record.priority === priority)
    const chosen = drawn(group, random()) ?? first
    ordered.push(chosen)
    left.splice(left.indexOf(chosen), 1)
  }
  return ordered
}

function drawn(group: readonly SrvRecord[], chance: number): SrvRecord | null {
  let rest = chance * group.reduce((sum, { weight }) => sum + weight, 0)
  for (const record of group) {
    rest -= record.weight
    if (rest <= 0) return record
  }
  return null
}

/** §4.1: skips protocols that we do not support; a SIPS URI accepts only TLS. */
export function orderNaptr(
  records: readonly NaptrRecord[],
  speaks: (protocol: Protocol) => boolean,
  secure: boolean,
): { readonly protocol: Protocol; readonly name: string }[] {
  return [...records]
    .sort((a, b) => a.order - b.order || a.preference - b.preference)
    .flatMap(({ service, replacement }) => {
      const protocol = SERVICES[service.toUpperCase()]
      if (protocol === undefined || !speaks(protocol) || (secure && protocol !== 'tls')) return []
      return [{ protocol, name: replacement }]
    })
}

export type Question = {
  readonly speaks: (protocol: Protocol) => boolean
  readonly resolver: Resolver
  readonly random: () => number
  /** Maximum number of hops; 16 by default. */
  readonly most?: number
}

/** Resolves to the hops to try, best first. Rejects when the name does not resolve. */
export async function resolveUri(uri: SipUri, question: Question): Promise<Hop[]> {
  const host = (uri.params.get('maddr') ?? uri.host).replace(/^\[|\]$/g, '')
  const asked = askedProtocol(uri)
  const protocol = asked ?? usual(uri, question.speaks)
  const { most = MOST_HOPS } = question
  const port = uri.port ?? usualPort(protocol)
  if (isIP(host) !== 0) return [{ protocol, remote: { host, port }, name: host }]
  // A single-label name is in /etc/hosts or the local network, where SRV records are not used.
  if (uri.port === null && host.includes('.')) {
    const hops = await byRecords(uri, host, asked, question)
    if (hops.length > 0) return hops.slice(0, most)
  }
  const addresses = await question.resolver.addresses(host)
  return addresses.slice(0, most).map(address => ({ protocol, remote: { host: address, port }, name: host }))
}

async function byRecords(uri: SipUri, domain: string, asked: Protocol | null, question: Question): Promise<Hop[]> {
  const { resolver, speaks } = question
  const secure = uri.scheme === 'sips'
  const pointed = asked === null ? orderNaptr(await resolver.naptr(domain).catch(() => []), speaks, secure) : []
  const guessed = (asked !== null ? [asked] : secure ? ORDER.slice(2) : ORDER.filter(speaks)).map(protocol => ({
    protocol,
    name: `${SRV_PREFIX[protocol]}.${domain}`,
  }))
  const sources = pointed.length > 0 ? pointed : guessed
  const lists = await Promise.all(
    sources.map(async ({ protocol, name }) => {
      const records = orderSrv(await resolver.srv(name).catch(() => []), question.random)
      return (await Promise.all(records.map(record => targets(record, protocol, domain, resolver)))).flat()
    }),
  )
  return lists.flat()
}

/** Skips a target that does not resolve. `.` means that the service does not exist (RFC 2782). */
async function targets(record: SrvRecord, protocol: Protocol, name: string, resolver: Resolver): Promise<Hop[]> {
  if (record.name === '' || record.name === '.') return []
  const addresses = await resolver.addresses(record.name).catch(() => [])
  return addresses.map(host => ({ protocol, remote: { host, port: record.port }, name }))
}

function askedProtocol(uri: SipUri): Protocol | null {
  const named = uri.params.get('transport')?.toLowerCase()
  if (named === 'tls' || (named === 'tcp' && uri.scheme === 'sips')) return 'tls'
  if (uri.scheme === 'sips') return null
  return named === 'tcp' || named === 'udp' ? named : null
}

function usual(uri: SipUri, speaks: (protocol: Protocol) => boolean): Protocol {
  if (uri.scheme === 'sips') return 'tls'
  return ORDER.find(speaks) ?? 'udp'
}

export const usualPort = (protocol: Protocol): number => (protocol === 'tls' ? 5061 : 5060)

const KEEP_MS = 30_000
/** RFC 8767 §5: while DNS does not answer, its last answer is used for this long. */
const STALE_MS = 86_400_000
const MOST_KEPT = 2000

/**
 * Caches answers for 30 s: every INVITE asks for the same few names, and an unreachable DNS server costs a second each
 * time. Without a new answer the last one stays valid for up to a day.
 */
export function cachingResolver(resolver: Resolver, now: () => number = Date.now): Resolver {
  const kept = new Map<string, { readonly until: number; readonly answer: Promise<unknown>; goodAt: number }>()
  function keep<T>(key: string, ask: () => Promise<T>): Promise<T> {
    const known = kept.get(key)
    if (known !== undefined && known.until > now()) return known.answer as Promise<T>
    const answer = ask().then(
      fresh => {
        entry.goodAt = now()
        return fresh
      },
      error => {
        if (known === undefined || now() - known.goodAt > STALE_MS) throw error
        return known.answer as Promise<T>
      },
    )
    if (kept.size >= MOST_KEPT) kept.clear()
    const entry = { until: now() + KEEP_MS, answer, goodAt: known?.goodAt ?? 0 }
    kept.set(key, entry)
    answer.catch(() => {
      if (kept.get(key) === entry) kept.delete(key)
    })
    return answer
  }
  return {
    addresses: host => keep(`a ${host}`, () => resolver.addresses(host)),
    srv: name => keep(`s ${name}`, () => resolver.srv(name)),
    naptr: domain => keep(`n ${domain}`, () => resolver.naptr(domain)),
  }
}
