/** The deadline after which a call must not start, whatever delayed it. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Peer, reply } from '../peer.ts'
import { Bench } from './bench.ts'

let bench: Bench
let first: Peer
let second: Peer
beforeEach(async () => {
  bench = await Bench.start()
  first = await bench.rig.udpPeer()
  second = await bench.rig.udpPeer()
})
afterEach(() => bench.close())

const SOON_MS = 3_600_000

it('lets a call out before it', async () => {
  const { result } = bench.dial(first, {}, { dial_by: Date.now() + SOON_MS })
  reply(first, await first.request('INVITE'), '486 Busy Here')
  expect(await result).toMatchObject({ failure: { reason: 'busy' } })
})

it('lets nothing out after it', async () => {
  const { result } = bench.dial(first, {}, { dial_by: Date.now() })
  expect(await result).toEqual({ ok: false, failure: { status: 'failed', reason: 'queue_expired', sipCode: null } })
  expect(first.received).toEqual([])
})

it('passes no call on to another host after it; what the first said stands', async () => {
  const dialBy = Date.now() + 3000
  const { result } = bench.dial(
    first,
    { hosts: [{ host: '127.0.0.1', port: second.port, transport: 'udp' }] },
    { dial_by: dialBy },
  )
  const refused = await first.request('INVITE')
  await new Promise(resolve => setTimeout(resolve, dialBy - Date.now() + 20))
  reply(first, refused, '503 No Circuit')
  expect(await result).toMatchObject({ ok: false, failure: { reason: 'carrier_congestion' } })
  expect(second.received).toEqual([])
})
