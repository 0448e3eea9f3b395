import { promises as dns } from 'node:dns'
import { isIP } from 'node:net'
import type { SipUri } from '../text/uri.ts'
import type { HostPortOf, Protocol } from './transport.ts'

/** Where a URI leads. */
export type Hop = { readonly protocol: Protocol; readonly remote: HostPortOf }

export type Resolver = {
  address(host: string): Promise<string>
  /** Best SRV target, or null. */
  srv(name: string): Promise<HostPortOf | null>
}

const SRV_TIMEOUT_MS = 1500

/** `lookup` heeds /etc/hosts, as people expect of a host name in a trunk. */
export function systemResolver(): Resolver {
  const resolver = new dns.Resolver({ timeout: SRV_TIMEOUT_MS, tries: 1 })
  return {
    address: async host => (await dns.lookup(host)).address,
    srv: async name => {
      try {
        return pickSrv(await resolver.resolveSrv(name), Math.random())
      } catch {
        return null
      }
    },
  }
}

type SrvRecord = { readonly name: string; readonly port: number; readonly priority: number; readonly weight: number }

/** RFC 2782: lowest priority, then by chance in proportion to weight. */
export function pickSrv(records: readonly SrvRecord[], chance: number): HostPortOf | null {
  const lowest = Math.min(...records.map(record => record.priority))
  const group = records.filter(record => record.priority === lowest)
  let left = chance * group.reduce((sum, record) => sum + record.weight, 0)
  for (const record of group) {
    left -= record.weight
    if (left <= 0) return { host: record.name, port: record.port }
  }
  return null
}

/**
 * RFC 3263 §4 without NAPTR: the transport is the URI's, else UDP (or TCP where we speak no UDP); a name without port is
 * looked up by SRV, then by address. Rejects when the name leads nowhere.
 */
export async function resolveUri(uri: SipUri, speaksUdp: boolean, resolver: Resolver): Promise<Hop> {
  const protocol = protocolOf(uri, speaksUdp)
  const host = uri.params.get('maddr') ?? uri.host
  const port = uri.port ?? (protocol === 'tls' ? 5061 : 5060)
  if (isIP(host) !== 0) return { protocol, remote: { host, port } }
  if (uri.port === null && host.includes('.')) {
    const target = await resolver.srv(
      `${uri.scheme === 'sips' ? '_sips' : '_sip'}._${protocol === 'udp' ? 'udp' : 'tcp'}.${host}`,
    )
    if (target !== null) return { protocol, remote: { host: await resolver.address(target.host), port: target.port } }
  }
  return { protocol, remote: { host: await resolver.address(host), port } }
}

function protocolOf(uri: SipUri, speaksUdp: boolean): Protocol {
  const named = uri.params.get('transport')?.toLowerCase()
  if (uri.scheme === 'sips' || named === 'tls') return 'tls'
  if (named === 'tcp') return 'tcp'
  return named === 'udp' || speaksUdp ? 'udp' : 'tcp'
}
