import type { networkInterfaces } from 'node:os'
import { expect, it } from 'vitest'
import { interfaceAddresses } from '../../../sip/server/network.ts'

it('reads network interfaces once a second', () => {
  let [now, reads, mine] = [0, 0, '192.0.2.1']
  const read = () => {
    reads += 1
    return { lo: [{ family: 'IPv6', address: '::1' }], eth0: [{ family: 'IPv4', address: mine }], down: undefined }
  }
  const addresses = interfaceAddresses(read as unknown as typeof networkInterfaces, () => now)
  expect(addresses(false)).toEqual(['192.0.2.1'])
  expect(addresses(true)).toEqual(['::1'])
  ;[now, mine] = [999, '192.0.2.2']
  expect(addresses(false)).toEqual(['192.0.2.1'])
  expect(reads).toBe(1)
  now = 1000
  expect(addresses(false)).toEqual(['192.0.2.2'])
})
