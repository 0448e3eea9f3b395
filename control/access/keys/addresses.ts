/** Networks from which a key may be used. */
import { isIP } from 'node:net'
import { canonical, holds, networkOf } from '../../../media/shared/addresses.ts'

/**
 * Reads an IP address or a CIDR network, and returns it in its shortest form, with the bits of hosts set to zero:
 * `192.0.2.7/24` becomes `192.0.2.0/24`. An IPv4 network in the notation of IPv6 becomes IPv4. Null for everything else,
 * and for `/0`, which limits nothing.
 */
export function readNetwork(text: string): string | null {
  const network = networkOf(text)
  if (network === null || network.bits < 1) return null
  const { first, bits } = network
  // A shorter prefix would hold all of IPv4, in a notation that nobody means.
  if (first.range() === 'ipv4Mapped') return null
  const isWhole = bits === (first.kind() === 'ipv4' ? 32 : 128)
  return isWhole ? first.toString() : `${first.toString()}/${bits}`
}

/** `networks` are those of `readNetwork`. An IPv4 address in the notation of IPv6 is the IPv4 address. */
export function isWithin(networks: readonly string[], address: string): boolean {
  const bare = address.replace(/%.*$/, '')
  return isIP(bare) !== 0 && networks.some(network => holds(network, canonical(bare)))
}
