/**
 * Addresses that trunks may have: an owner's trunk must not be a way into the network of this installation, nor admit
 * sources that are not its carrier.
 */
import { mayName, SHORTEST_PREFIX, type SourceProblem, sourceProblem } from '../../../media/shared/addresses.ts'
import type { ControlConfig } from '../../platform/deps.ts'
import { Problem } from '../../platform/http/problem.ts'
import type { TrunkSettings } from './schema.ts'

/** `host`, `host:port`, or a whole URI. */
const PROXY_HOST = /^\s*(?:sips?:)?(?:[^@]*@)?(\[[^\]]*\]|[^:;?>\s]+)/i

/**
 * Checks literal addresses here, so that the owner gets the error at once. The engine and the SIP server check what a
 * name resolves to when they use it, because it may change at any time.
 */
export function checkHosts(
  { trunk_private_hosts, own_addresses }: Pick<ControlConfig, 'trunk_private_hosts' | 'own_addresses'>,
  { host, hosts, outbound_proxy }: Pick<TrunkSettings, 'host' | 'hosts' | 'outbound_proxy'>,
): void {
  const own = own_addresses()
  const named = [
    { pointer: '/host', host },
    ...hosts.map((one, index) => ({ pointer: `/hosts/${index}/host`, host: one.host })),
    { pointer: '/outbound_proxy', host: PROXY_HOST.exec(outbound_proxy ?? '')?.[1] ?? null },
  ]
  const errors = named
    .filter(({ host }) => host !== null && !mayName(trunk_private_hosts, host, own))
    .map(({ pointer }) => ({ pointer, code: 'private_address', message: 'must be a public internet address' }))
  if (errors.length > 0) throw new Problem('validation_failed', { errors })
}

const SOURCE_MESSAGES: Record<SourceProblem, string> = {
  malformed: 'must be an IP address or a CIDR range',
  prefix_too_short: `must have a prefix of /${SHORTEST_PREFIX.ipv4} or longer (IPv4), /${SHORTEST_PREFIX.ipv6} or longer (IPv6)`,
  private_address:
    `must be a public internet address or network that does not contain addresses of this installation, with a prefix ` +
    `of /${SHORTEST_PREFIX.ipv4} or longer (IPv4), /${SHORTEST_PREFIX.ipv6} or longer (IPv6)`,
}

/** Checks the sources of calls. The operator allows others by TRUNK_SOURCES and TRUNK_PRIVATE_HOSTS. */
export function checkSources(
  config: Pick<ControlConfig, 'trunk_private_hosts' | 'trunk_sources' | 'own_addresses'>,
  allowedIps: readonly string[],
): void {
  const policy = {
    privateHosts: config.trunk_private_hosts,
    wide: config.trunk_sources,
    own: config.own_addresses(),
  }
  const errors = allowedIps.flatMap((text, index) => {
    const code = sourceProblem(policy, text)
    return code === null ? [] : [{ pointer: `/allowed_ips/${index}`, code, message: SOURCE_MESSAGES[code] }]
  })
  if (errors.length > 0) throw new Problem('validation_failed', { errors })
}
