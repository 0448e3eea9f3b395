/** Addresses of this installation: all interfaces of this machine, and the configured public ones. */
import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'
import { canonical, type OwnAddresses } from './addresses.ts'

/** Milliseconds: interfaces change rarely, and reading them takes 0.1 ms. */
const READ_EVERY_MS = 5000

/**
 * `configured`: further addresses, such as the public one of a NAT; host names are skipped. `now` is in ms.
 */
export function ownAddresses(
  configured: readonly (string | null | undefined)[] = [],
  read: typeof networkInterfaces = networkInterfaces,
  now: () => number = () => performance.now(),
): OwnAddresses {
  const fixed = configured.filter(address => typeof address === 'string' && ipaddr.isValid(address)) as string[]
  let known: ReadonlySet<string> = new Set()
  let readAtMs = Number.NEGATIVE_INFINITY
  return () => {
    if (now() - readAtMs >= READ_EVERY_MS) {
      readAtMs = now()
      const bound = Object.values(read()).flatMap(list => (list ?? []).map(({ address }) => address))
      known = new Set([...bound, ...fixed].map(canonical))
    }
    return known
  }
}
