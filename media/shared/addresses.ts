/** The policy for addresses: where packets may go, and which sources a trunk may name. */
import { isIP } from 'node:net'
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

export const isNetwork = (text: string): boolean => ipaddr.isValidCIDR(text) || ipaddr.isValid(text)

/** Returns addresses of this installation, in canonical form. They count as private, whatever their number. */
export type OwnAddresses = () => ReadonlySet<string>

const noAddresses: ReadonlySet<string> = new Set()
const bareAddress = (text: string): string => text.replace(/^\[|\]$/g, '').replace(/%.*$/, '')
/** One spelling per address: IPv4-mapped IPv6 addresses become IPv4. */
export const canonical = (address: string): string => ipaddr.process(bareAddress(address)).toString()

/**
 * True when a packet may go to this address, in any notation that a resolver accepts (`127.1`, `0x7f000001`). `own`:
 * addresses of this installation, which are refused like private ones.
 */
export function mayReach(hosts: PrivateHosts, address: string, own: ReadonlySet<string> = noAddresses): boolean {
  if (hosts === 'allow') return true
  const bare = bareAddress(address)
  if (!ipaddr.isValid(bare)) return false
  if (isPublic(bare) && !own.has(canonical(bare))) return true
  return hosts !== 'deny' && hosts.some(network => holds(network, bare))
}

/** True when the network (an address or a CIDR) holds the address. An IPv4-mapped IPv6 address is the IPv4 address. */
export function holds(network: string, text: string): boolean {
  const address = ipaddr.process(text)
  const [base, bits] = ipaddr.isValidCIDR(network) ? ipaddr.parseCIDR(network) : [ipaddr.parse(network), null]
  if (base.kind() !== address.kind()) return false
  return address.match(base, bits ?? (base.kind() === 'ipv4' ? 32 : 128))
}

/** Checks a configured host before DNS: false for an address or a name of this machine that no trunk may have. */
export function mayName(hosts: PrivateHosts, host: string, own: ReadonlySet<string> = noAddresses): boolean {
  if (hosts === 'allow') return true
  const bare = bareAddress(host)
  if (ipaddr.isValid(bare)) return mayReach(hosts, bare, own)
  return !/^(?:.*\.)?localhost\.?$/i.test(bare) || mayReach(hosts, '127.0.0.1')
}

/** Shortest prefixes of source networks that any trunk may name, in bits. */
export const SHORTEST_PREFIX = { ipv4: 24, ipv6: 48 } as const

export interface SourcePolicy {
  privateHosts: PrivateHosts
  /** Networks of the operator, within which trunks may name any source. */
  wide: readonly string[]
  own: ReadonlySet<string>
}

export type SourceProblem = 'malformed' | 'prefix_too_short' | 'private_address'

export interface Network {
  first: ReturnType<typeof ipaddr.process>
  last: ReturnType<typeof ipaddr.process>
  bits: number
}

/** Returns why a trunk may not accept calls from a network (an address or a CIDR); null when it may. */
export function sourceProblem({ privateHosts, wide, own }: SourcePolicy, text: string): SourceProblem | null {
  const network = networkOf(text)
  if (network === null) return 'malformed'
  if (within(wide, network) || (Array.isArray(privateHosts) && within(privateHosts, network))) return null
  const { first, last, bits } = network
  const isPrivate = !isPublic(first.toString()) && first.range() === last.range()
  if (privateHosts === 'allow' && isPrivate) return null
  if (bits < SHORTEST_PREFIX[first.kind()]) return 'prefix_too_short'
  if (privateHosts === 'allow') return null
  const refused = [...CLOUD_INSIDE, ...own].some(address => inside(network, ipaddr.process(address)))
  return refused || !isPublic(first.toString()) || !isPublic(last.toString()) ? 'private_address' : null
}

/** Strict, unlike resolvers: only what every reader of a list of networks understands in the same way. */
export function networkOf(text: string): Network | null {
  const [address = '', bits, ...rest] = text.split('/')
  const family = isIP(address)
  const most = family === 6 ? 128 : 32
  if (family === 0 || address.includes('%') || rest.length > 0) return null
  if (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most)) return null
  const parsed = ipaddr.parse(address)
  const prefix = bits === undefined ? most : Number(bits)
  const mapped = parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress() && prefix >= 96
  const base = mapped ? ipaddr.process(address) : parsed
  return spanOf(base, mapped ? prefix - 96 : prefix)
}

function spanOf(base: ReturnType<typeof ipaddr.process>, bits: number): Network {
  const bytes = base.toByteArray()
  const mask = (byte: number, index: number): number => {
    const kept = Math.min(8, Math.max(0, bits - 8 * index))
    return byte & (0xff << (8 - kept)) & 0xff
  }
  const low = bytes.map(mask)
  const high = low.map((byte, index) => byte | (0xff >> Math.min(8, Math.max(0, bits - 8 * index))))
  return { first: ipaddr.fromByteArray(low), last: ipaddr.fromByteArray(high), bits }
}

const inside = ({ first, bits }: Network, address: ReturnType<typeof ipaddr.process>): boolean =>
  address.kind() === first.kind() && address.match(first, bits)

const within = (networks: readonly string[], { first, last }: Network): boolean =>
  networks.some(network => holds(network, first.toString()) && holds(network, last.toString()))
