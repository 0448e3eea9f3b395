/** Next hops of trunks: a configured address or port, or the servers that DNS names (RFC 3263). */
import type { TrunkHost, TrunkPlan } from '../../../media/contract/plan.ts'
import { type Hop, type Resolver, resolveUri } from '../../server/resolve.ts'
import type { Protocol } from '../../server/transport.ts'
import { parseUri, type SipUri } from '../../text/uri.ts'
import { proxyUri, trunkUri } from './address.ts'
import { hostsOf, type Target } from './hosts.ts'

/** A destination for requests of a trunk. */
export type NextHop = {
  /** The trunk's host, which the request is for. */
  readonly host: TrunkHost
  /** One of the servers that the records of `host` name; null when the signalling server resolves it. */
  readonly at: Target | null
}

/** Most addresses per URI; carriers have a handful, so more would be a mistake. */
const MOST_SOURCES = 256

/** The host whose health applies to this hop. */
export const hostOfHop = ({ host, at }: NextHop): TrunkHost => at ?? host

/** The URI by which a place is reached, where it is not the trunk's host itself. */
export const nextHopUri = ({ at }: NextHop): string | null => (at === null ? null : trunkUri(at, null))

export const targetOf = ({ protocol, remote }: Hop): Target => ({ ...remote, transport: protocol })

/** The first hops of a trunk's requests as URIs: its proxy or its hosts. */
export const nextHops = (trunk: TrunkPlan): string[] => {
  const proxy = proxyUri(trunk)
  return proxy === null ? hostsOf(trunk).map(host => trunkUri(host, null)) : [proxy]
}

export class NextHopResolver {
  private readonly resolver: Resolver
  private readonly speaks: (protocol: Protocol) => boolean
  /** Targets by host URI, from the latest lookup. */
  private readonly last = new Map<string, readonly Target[]>()

  /** `speaks`: the transports that the signalling server supports. */
  constructor(resolver: Resolver, speaks: (protocol: Protocol) => boolean) {
    this.resolver = resolver
    this.speaks = speaks
  }

  /** Hops, best first (RFC 2782: by priority, then at random by weight). Rejects when the URI does not resolve. */
  async hopsOf(uri: string, resolver: Resolver = this.resolver): Promise<Hop[]> {
    return resolveUri(sipUri(uri), { resolver, speaks: this.speaks, random: Math.random })
  }

  /** The next hops of all hosts of a trunk, in the order of the hosts. Never rejects. */
  async of(trunk: TrunkPlan): Promise<NextHop[]> {
    return (await Promise.all(hostsOf(trunk).map(host => this.ofHost(trunk, host)))).flat()
  }

  /**
   * Over TLS the certificate must match the name, which an address would lose: the signalling server resolves it
   * itself.
   */
  async ofHost(trunk: TrunkPlan, host: TrunkHost): Promise<NextHop[]> {
    const whole = { host, at: null }
    if (host.port !== null || proxyUri(trunk) !== null) return [whole]
    const hops = await this.hopsOf(trunkUri(host, null)).catch(() => [])
    if (hops.length === 0 || hops.some(({ protocol }) => protocol === 'tls')) return [whole]
    const targets = hops.map(targetOf)
    this.last.set(trunkUri(host, null), targets)
    return targets.map(at => ({ host, at }))
  }

  /** The known servers behind a host. */
  behind(host: TrunkHost): readonly Target[] {
    return this.last.get(trunkUri(host, null)) ?? []
  }

  /** Forgets all other hosts. */
  keep(hosts: readonly TrunkHost[]): void {
    const kept = new Set(hosts.map(host => trunkUri(host, null)))
    for (const uri of this.last.keys()) if (!kept.has(uri)) this.last.delete(uri)
  }

  /** All addresses that a URI resolves to, over any transport. Rejects when there are none. */
  async addressesOf(uri: string): Promise<string[]> {
    const question = { resolver: this.resolver, speaks: () => true, random: Math.random, most: MOST_SOURCES }
    return [...new Set((await resolveUri(sipUri(uri), question)).map(({ remote }) => remote.host))]
  }
}

function sipUri(text: string): SipUri {
  const uri = parseUri(text)
  if (uri?.scheme !== 'sip' && uri?.scheme !== 'sips') throw new Error('not a SIP URI')
  return uri
}
