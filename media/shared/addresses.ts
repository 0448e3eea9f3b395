/** Tells public addresses from private ones, and decides which private ones a trunk may name. */
import ipaddr from 'ipaddr.js'

/** Public by its number, yet answered by the host of the virtual machine: Azure's wire server. */
const CLOUD_INSIDE = new Set(['168.63.129.16'])

/**
 * False for loopback, private, link-local, carrier-grade NAT, multicast and reserved addresses, and forms that embed
 * one.
 */
export function isPublic(address: string): boolean {
  const parsed = ipaddr.parse(address.replace(/%.*$/, ''))
  if (parsed instanceof ipaddr.IPv6) {
    if (parsed.isIPv4MappedAddress()) return isPublic(parsed.toIPv4Address().toString())
    // Only 2000::/3 is allocated as global unicast (RFC 4291 §2.4, IANA); `::7f00:1` and similar forms lie outside.
    if ((parsed.parts[0]! & 0xe000) !== 0x2000) return false
  }
  return parsed.range() === 'unicast' && !CLOUD_INSIDE.has(parsed.toString())
}

/** `allow`: trunks may be anywhere. `deny`: public addresses only. CIDRs: public addresses and these networks. */
export type PrivateHosts = 'allow' | 'deny' | readonly string[]

/** Returns null when the text is not a list of addresses and CIDRs. */
export function readPrivateHosts(text: string): PrivateHosts | null {
  if (text === 'allow' || text === 'deny') return text
  const cidrs = text
    .split(',')
    .map(part => part.trim())
    .filter(Boolean)
  return cidrs.length > 0 && cidrs.every(isNetwork) ? cidrs : null
}

const isNetwork = (text: string): boolean => ipaddr.isValidCIDR(text) || ipaddr.isValid(text)

/** True when a trunk may use this address, in any notation that a resolver accepts (`127.1`, `0x7f000001`). */
export function mayReach(hosts: PrivateHosts, address: string): boolean {
  if (hosts === 'allow') return true
  const bare = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '')
  if (!ipaddr.isValid(bare)) return false
  if (isPublic(bare)) return true
  return hosts !== 'deny' && hosts.some(network => holds(network, ipaddr.process(bare)))
}

function holds(network: string, address: ReturnType<typeof ipaddr.process>): boolean {
  const [base, bits] = ipaddr.isValidCIDR(network) ? ipaddr.parseCIDR(network) : [ipaddr.parse(network), null]
  if (base.kind() !== address.kind()) return false
  return address.match(base, bits ?? (base.kind() === 'ipv4' ? 32 : 128))
}

/** Checks a configured host before DNS: false for an address or a name of this machine that no trunk may have. */
export function mayName(hosts: PrivateHosts, host: string): boolean {
  if (hosts === 'allow') return true
  const bare = host.replace(/^\[|\]$/g, '').replace(/%.*$/, '')
  if (ipaddr.isValid(bare)) return mayReach(hosts, bare)
  return !/^(?:.*\.)?localhost\.?$/i.test(bare) || mayReach(hosts, '127.0.0.1')
}
