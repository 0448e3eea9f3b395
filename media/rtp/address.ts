/** Addresses of datagrams, in one way of writing each, so that they can be compared. */
import ipaddr from 'ipaddr.js'

export interface Address {
  address: string
  port: number
}

/** IPv6 in its shortest form (RFC 5952), and as IPv4 where it only stands for it; null for what is no address, such as a name. */
export function canonicalAddress(text: string): string | null {
  const known = canonical.get(text)
  if (known !== undefined) return known
  const address = ipaddr.isValid(text) ? ipaddr.process(text).toString() : null
  // Strangers send from as many as they like.
  if (canonical.size >= MOST_KNOWN) canonical.clear()
  canonical.set(text, address)
  return address
}

/** Asked for with every packet, and parsing takes longer than all else that is done with one's addresses. */
const canonical = new Map<string, string | null>()
const MOST_KNOWN = 10_000

/** As a socket of one family takes it: one of IPv6 reaches IPv4 by mapped addresses (RFC 4291 §2.5.5.2). */
export const forFamily = (address: string, family: 'udp4' | 'udp6') =>
  family === 'udp6' && !address.includes(':') ? `::ffff:${address}` : address
