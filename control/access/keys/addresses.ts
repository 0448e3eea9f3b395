/** Networks from which a key may be used. */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Reads an IP address or a CIDR network, and returns it in its shortest form, with the bits of hosts set to zero:
 * `192.0.2.7/24` becomes `192.0.2.0/24`. An IPv4 network in the notation of IPv6 becomes IPv4. Null for everything else,
 * and for `/0`, which limits nothing.
 */
export function readNetwork(text: string): string | null {
  const [address = '', bits, ...rest] = text.split('/')
  const family = isIP(address)
  if (family === 0 || address.includes('%') || rest.length > 0) return null
  if (bits !== undefined && !/^\d{1,3}$/.test(bits)) return null
  const most = family === 4 ? 32 : 128
  const given = bits === undefined ? most : Number(bits)
  const parsed = ipaddr.parse(address)
  const mapped = parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress()
  const length = mapped ? given - 96 : given
  if (given > most || length < 1) return null
  const ip = ipaddr.process(address)
  const whole = length === (ip.kind() === 'ipv4' ? 32 : 128)
  return whole ? ip.toString() : `${firstOf(ip, length).toString()}/${length}`
}

function firstOf(ip: ReturnType<typeof ipaddr.process>, length: number) {
  const bytes = ip.toByteArray().map((byte, index) => byte & maskOf(length - index * 8))
  return ipaddr.fromByteArray(bytes)
}

/** The first `bits` bits of a byte. */
const maskOf = (bits: number) => (bits >= 8 ? 0xff : bits <= 0 ? 0 : (0xff << (8 - bits)) & 0xff)

/** `networks` are those of `readNetwork`. An IPv4 address in the notation of IPv6 is the IPv4 address. */
export function isWithin(networks: readonly string[], address: string): boolean {
  const bare = address.replace(/%.*$/, '')
  if (isIP(bare) === 0) return false
  const ip = ipaddr.process(bare)
  return networks.some(network => {
    const [base = '', bits] = network.split('/')
    const first = ipaddr.parse(base)
    if (first.kind() !== ip.kind()) return false
    return ip.match(first, bits === undefined ? (ip.kind() === 'ipv4' ? 32 : 128) : Number(bits))
  })
}
