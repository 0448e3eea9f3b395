/** The policy for addresses, from the settings: one for SIP, media and requests to customers' addresses. */
import { isIP } from 'node:net'
import { mayReach, type OwnAddresses, type SourcePolicy, sourceProblem } from '../../media/shared/addresses.ts'
import { ownAddresses } from '../../media/shared/own-addresses.ts'
import type { Config } from '../config/config.ts'
import { bareHost } from '../config/hosts.ts'

/** Addresses in the settings, such as that of a NAT, which no interface has. */
export function configuredAddresses(config: Config): string[] {
  const { HTTP_HOST, SIP_HOST, SIP_PUBLIC_HOST, RTP_HOST, RTP_PUBLIC_HOST, PUBLIC_URL } = config
  const hosts = [HTTP_HOST, SIP_HOST, SIP_PUBLIC_HOST, RTP_HOST, RTP_PUBLIC_HOST]
  const named = PUBLIC_URL === undefined ? undefined : new URL(PUBLIC_URL).hostname
  const bare = [...hosts, named].flatMap(host => (host === undefined ? [] : [bareHost(host)]))
  return [...new Set(bare.filter(host => isIP(host) !== 0))]
}

/** All interfaces of this machine, and the configured addresses of this installation. */
export const ownAddressesOf = (config: Config): OwnAddresses => ownAddresses(configuredAddresses(config))

/** Returns whether SIP and media may be sent to an address. */
export function reachOf(config: Config, own = ownAddressesOf(config)): (address: string) => boolean {
  return address => mayReach(config.TRUNK_PRIVATE_HOSTS, address, own())
}

/** Returns whether calls may come from a source that a trunk names: an address or a CIDR. */
export function sourcesOf(config: Config, own = ownAddressesOf(config)): (network: string) => boolean {
  const policy = (): SourcePolicy => ({
    privateHosts: config.TRUNK_PRIVATE_HOSTS,
    wide: config.TRUNK_SOURCES,
    own: own(),
  })
  return network => sourceProblem(policy(), network) === null
}
