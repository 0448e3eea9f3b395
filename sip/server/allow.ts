import { BlockList, isIP } from 'node:net'

/**
 * Sources that may send us requests; null admits everybody. Sources in `trunks` may place calls, and nothing else. A
 * source in `strangers` may be one of our softphones: its requests are examined just far enough to find out. `denied`
 * lists strangers that are blocked after too many failed attempts.
 */
export type AllowList = {
  known: BlockList
  trunks: BlockList
  strangers: BlockList
  denied: BlockList
  /** Users of our registrations' contacts, whose registrars may send OPTIONS. */
  contacts: ReadonlySet<string>
} | null

/** The list's classification of an address; `unrestricted` when there is no list. */
export type SourceStanding = 'unrestricted' | 'known' | 'trunk' | 'stranger' | 'out'

export class CidrError extends Error {
  constructor(cidr: string) {
    super(`Not an IP address or a CIDR network: ${cidr}`)
    this.name = 'CidrError'
  }
}

/**
 * Builds the list from addresses and `address/bits`. The prefix `@` marks sources of trunks, `?` strangers, `!` denied
 * strangers; `=` precedes the user of a registration's contact. Throws CidrError.
 */
export function allowList(lines: readonly string[] | null): AllowList {
  if (lines === null) return null
  const contacts = new Set<string>()
  const list = {
    known: new BlockList(),
    trunks: new BlockList(),
    strangers: new BlockList(),
    denied: new BlockList(),
    contacts,
  }
  const parts: Record<string, BlockList> = { '@': list.trunks, '?': list.strangers, '!': list.denied, '': list.known }
  for (const line of lines) {
    const [, sign = '', text = ''] = /^\s*([@!?=]?)(.*?)\s*$/s.exec(line) ?? []
    if (sign === '=') contacts.add(text)
    else addNetwork(parts[sign]!, text, line)
  }
  return list
}

function addNetwork(list: BlockList, network: string, line: string): void {
  const [address = '', bits] = network.split('/')
  const family = isIP(address)
  const most = family === 6 ? 128 : 32
  if (family === 0 || (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most)))
    throw new CidrError(line)
  list.addSubnet(address, bits === undefined ? most : Number(bits), family === 6 ? 'ipv6' : 'ipv4')
}

const familyOf = (address: string): 'ipv6' | 'ipv4' => (address.includes(':') ? 'ipv6' : 'ipv4')

/** A source of a trunk stays one: its calls must not be blocked for what another host in its network does. */
export function standingOf(list: AllowList, address: string): SourceStanding {
  if (list === null) return 'unrestricted'
  if (list.known.check(address, familyOf(address))) return 'known'
  return list.trunks.check(address, familyOf(address)) ? 'trunk' : standingBesideTrunks(list, address)
}

/** The classification of an address for requests other than calls of a trunk. */
export function standingBesideTrunks(list: NonNullable<AllowList>, address: string): 'stranger' | 'out' {
  const family = familyOf(address)
  return list.strangers.check(address, family) && !list.denied.check(address, family) ? 'stranger' : 'out'
}

/** Reads one entry per line. Empty lines and text after `#` are skipped. */
export function readCidrLines(text: string): string[] {
  return text
    .split('\n')
    .map(line => line.replace(/#.*/, '').trim())
    .filter(line => line !== '')
}
