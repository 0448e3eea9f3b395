import { BlockList, isIP } from 'node:net'

/** Sources that may send us requests, and exceptions from them. Null lets everybody in. */
export type AllowList = { readonly admitted: BlockList; readonly denied: BlockList } | null

export class CidrError extends Error {
  constructor(cidr: string) {
    super(`not an address or network: ${cidr}`)
    this.name = 'CidrError'
  }
}

/** Builds the list from addresses and `address/bits`; `!` before one shuts it out. Throws CidrError. */
export function allowList(cidrs: readonly string[] | null): AllowList {
  if (cidrs === null) return null
  const [admitted, denied] = [new BlockList(), new BlockList()]
  for (const cidr of cidrs) {
    const [, sign, network = ''] = /^\s*(!?)(.*?)\s*$/s.exec(cidr) ?? []
    const [address = '', bits] = network.split('/')
    const family = isIP(address)
    const most = family === 6 ? 128 : 32
    if (family === 0 || (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most)))
      throw new CidrError(cidr)
    const list = sign === '!' ? denied : admitted
    list.addSubnet(address, bits === undefined ? most : Number(bits), family === 6 ? 'ipv6' : 'ipv4')
  }
  return { admitted, denied }
}

export function isAllowed(list: AllowList, address: string): boolean {
  if (list === null) return true
  const family = address.includes(':') ? 'ipv6' : 'ipv4'
  return list.admitted.check(address, family) && !list.denied.check(address, family)
}

/** One CIDR a line; empty lines and what follows a `#` are skipped. */
export function readCidrLines(text: string): string[] {
  return text
    .split('\n')
    .map(line => line.replace(/#.*/, '').trim())
    .filter(line => line !== '')
}
