import { BlockList, isIP } from 'node:net'

/**
 * Sources that may send us requests; null admits everybody. A source in `strangers` may be one of our softphones: its
 * requests are examined just far enough to find out. `denied` lists strangers that are blocked after too many failed
 * attempts.
 */
export type AllowList = {
  readonly known: BlockList
  readonly strangers: BlockList
  readonly denied: BlockList
} | null

/** The list's classification of an address; `unrestricted` when there is no list. */
export type SourceStanding = 'unrestricted' | 'known' | 'stranger' | 'out'

export class CidrError extends Error {
  constructor(cidr: string) {
    super(`Not an IP address or a CIDR network: ${cidr}`)
    this.name = 'CidrError'
  }
}

/**
 * Builds the list from addresses and `address/bits`. The prefix `?` marks strangers, `!` denied strangers. Throws
 * CidrError.
 */
export function allowList(cidrs: readonly string[] | null): AllowList {
  if (cidrs === null) return null
  const list = { known: new BlockList(), strangers: new BlockList(), denied: new BlockList() }
  for (const cidr of cidrs) {
    const [, sign, network = ''] = /^\s*([!?]?)(.*?)\s*$/s.exec(cidr) ?? []
    const [address = '', bits] = network.split('/')
    const family = isIP(address)
    const most = family === 6 ? 128 : 32
    if (family === 0 || (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most)))
      throw new CidrError(cidr)
    const part = sign === '!' ? list.denied : sign === '?' ? list.strangers : list.known
    part.addSubnet(address, bits === undefined ? most : Number(bits), family === 6 ? 'ipv6' : 'ipv4')
  }
  return list
}

/** A known source stays known: a trunk must not be blocked for what another host in its network does. */
export function standingOf(list: AllowList, address: string): SourceStanding {
  if (list === null) return 'unrestricted'
  const family = address.includes(':') ? 'ipv6' : 'ipv4'
  if (list.known.check(address, family)) return 'known'
  return list.strangers.check(address, family) && !list.denied.check(address, family) ? 'stranger' : 'out'
}

/** Reads one CIDR per line. Empty lines and text after `#` are skipped. */
export function readCidrLines(text: string): string[] {
  return text
    .split('\n')
    .map(line => line.replace(/#.*/, '').trim())
    .filter(line => line !== '')
}
