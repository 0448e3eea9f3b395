import { BlockList, isIP } from 'node:net'

/** A list of sources that may send us requests. Null lets everybody in. */
export type AllowList = BlockList | null

export class CidrError extends Error {
  constructor(cidr: string) {
    super(`not an address or network: ${cidr}`)
    this.name = 'CidrError'
  }
}

/** Builds the list from addresses and `address/bits`. Throws CidrError. */
export function allowList(cidrs: readonly string[] | null): AllowList {
  if (cidrs === null) return null
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [address = '', bits] = cidr.trim().split('/')
    const family = isIP(address)
    const most = family === 6 ? 128 : 32
    if (family === 0 || (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most)))
      throw new CidrError(cidr)
    list.addSubnet(address, bits === undefined ? most : Number(bits), family === 6 ? 'ipv6' : 'ipv4')
  }
  return list
}

export function isAllowed(list: AllowList, address: string): boolean {
  return list === null || list.check(address, address.includes(':') ? 'ipv6' : 'ipv4')
}

/** One CIDR a line; empty lines and what follows a `#` are skipped. */
export function readCidrLines(text: string): string[] {
  return text
    .split('\n')
    .map(line => line.replace(/#.*/, '').trim())
    .filter(line => line !== '')
}
