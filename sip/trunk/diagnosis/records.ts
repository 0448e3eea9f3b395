/** Reports the DNS records of a host without a port (RFC 3263), and the servers they lead to. */
import type { Clock } from '../../../media/shared/clock.ts'
import { within } from '../../../media/shared/within.ts'
import type { Hop, NaptrRecord, Resolver, SrvRecord } from '../../server/resolve.ts'
import { formatHostPort } from '../../text/grammar.ts'
import type { NextHopResolver } from '../routing/next-hop.ts'
import { blocked, type MayReach, type Probed } from './probe.ts'

export type Resolved = Probed & { readonly hops: readonly Hop[] }
type Parts = {
  readonly resolver: Resolver
  readonly nextHops: NextHopResolver
  readonly clock: Clock
  readonly mayReach: MayReach
}

/** Milliseconds for NAPTR, SRV and address lookups, which follow one another. */
const RECORDS_WAIT_MS = 5000

type Noted = { readonly pointers: string[]; readonly services: string[]; readonly targets: string[]; silent: boolean }

/** `uri` is the destination of requests; `host` its host. */
export async function probeRecords(
  { resolver, nextHops, clock, mayReach }: Parts,
  uri: string,
  host: string,
): Promise<Resolved> {
  const startedMs = clock.now()
  const noted: Noted = { pointers: [], services: [], targets: [], silent: false }
  const asked = nextHops.hopsOf(uri, noting(resolver, noted)).catch(() => [])
  const hops = await within(clock, RECORDS_WAIT_MS, null, asked)
  const ms = Math.round(clock.now() - startedMs)
  const failed = (message: string): Resolved => ({ ok: false, message, ms, hops: [] })
  if (hops === null) return failed(`DNS did not answer for ${host} in time.`)
  if (hops.length === 0) return failed(nowhere(host, noted))
  if (!hops.every(({ remote }) => mayReach(remote.host))) return { ...blocked(host, ms), hops: [] }
  return { ok: true, message: inWords(host, noted, hops), ms, hops }
}

const unique = (texts: readonly string[]): string => [...new Set(texts)].join(', ')

function nowhere(host: string, { services, targets, silent }: Noted): string {
  if (services.length > 0)
    return `The SRV records of ${host} point to ${unique(targets)}, none of which has an address.`
  if (silent) return `DNS did not answer for the records of ${host}.`
  return `${host} has neither an SRV record nor an address (A, AAAA).`
}

function inWords(host: string, { pointers, services, targets, silent }: Noted, hops: readonly Hop[]): string {
  const nextHops = unique(hops.map(({ protocol, remote }) => `${protocol} ${formatHostPort(remote)}`))
  const pointed = pointers.length === 0 ? '' : `NAPTR: ${unique(pointers)}. `
  if (services.length > 0) return `${pointed}SRV: ${unique(services)}. Next hops: ${nextHops}.`
  // Without SRV targets the host's own address is used.
  const none = silent && targets.length === 0 ? 'The SRV lookup failed' : 'No SRV record'
  return `${pointed}${none}; address of ${host}: ${nextHops}.`
}

const pointer = ({ service, replacement }: NaptrRecord): string => `${service} at ${replacement}`
const service = (name: string, { name: target, port, priority, weight }: SrvRecord): string =>
  `${name} at ${target}:${port} (priority ${priority}, weight ${weight})`

function noting(resolver: Resolver, noted: Noted): Resolver {
  const noteSilence = <T>(asked: Promise<T>): Promise<T> =>
    asked.catch(error => {
      noted.silent = true
      throw error
    })
  return {
    addresses: host => resolver.addresses(host),
    async naptr(domain) {
      const records = await noteSilence(resolver.naptr(domain))
      noted.pointers.push(...records.map(pointer))
      return records
    },
    async srv(name) {
      const records = await noteSilence(resolver.srv(name))
      noted.services.push(...records.map(record => service(name, record)))
      noted.targets.push(...records.map(record => record.name))
      return records
    },
  }
}
