import { expect, it } from 'vitest'
import type { RtpSession } from '../../../media/rtp/session.ts'
import { advertisedAddress } from '../../../sip/trunk/legs/media.ts'

const told = (advertise: string | null, bound: string, peer: string) =>
  advertisedAddress(
    { open: () => Promise.reject(new Error('nothing is opened')), advertise },
    { local: { address: bound, port: 20_000 } } as RtpSession,
    peer,
  )

it.each([
  ['a carrier on the internet', '8.8.4.4', '1.2.3.4'],
  ['a name, since carriers have those', 'sip.carrier.example', '1.2.3.4'],
  ['a PBX in our own network', '10.0.0.7', '10.0.0.2'],
  ['a peer on this machine', '127.0.0.1', '10.0.0.2'],
  ['a carrier of the other family', '2a00:1450:4001::1', '10.0.0.2'],
])('behind a NAT, %s is told the address that leads to us from there', async (_, peer, address) => {
  expect(await told('1.2.3.4', '10.0.0.2', peer)).toBe(address)
})

it('tells the address of the card that leads to a peer, where sound is bound to all of them', async () => {
  expect(await told('1.2.3.4', '0.0.0.0', '127.0.0.1')).toBe('127.0.0.1')
  expect(await told(null, '0.0.0.0', '127.0.0.1')).toBe('127.0.0.1')
})
