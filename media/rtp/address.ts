/** Canonical forms of IP addresses, so that the addresses of datagrams can be compared. */
import ipaddr from 'ipaddr.js'

export interface Address {
  address: string
  port: number
}

/**
 * IPv6 in its shortest form (RFC 5952); an IPv4-mapped address as IPv4. Returns null for anything else, such as a name.
 */
export function canonicalAddress(text: string): string | null {
  const known = canonical.get(text)
  if (known !== undefined) return known
  const address = ipaddr.isValid(text) ? ipaddr.process(text).toString() : null
  // Limit the cache: anybody can send from many addresses.
  if (canonical.size >= MOST_KNOWN) canonical.clear()
  canonical.set(text, address)
  return address
}

/** Cache: the function runs for every packet, and parsing would take longer than the rest of the address checks. */
const canonical = new Map<string, string | null>()
const MOST_KNOWN = 10_000

/** Converts for a socket's family: an IPv6 socket reaches IPv4 by mapped addresses (RFC 4291 §2.5.5.2). */
export const forFamily = (address: string, family: 'udp4' | 'udp6') =>
  family === 'udp6' && !address.includes(':') ? `::ffff:${address}` : address
