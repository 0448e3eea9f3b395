import { isIPv6 } from 'node:net'

/**
 * The network that an address is rate-limited by: itself for IPv4, its /64 for IPv6, where every host has a whole /64.
 */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const [head = '', tail] = address.split('%')[0]!.split('::')
  const groups = head === '' ? [] : head.split(':')
  const rest = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - groups.length - rest.length)).fill('0')
  return `${[...groups, ...zeros, ...rest].slice(0, 4).join(':')}::/64`
}
