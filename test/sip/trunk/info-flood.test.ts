/** A peer that sends DTMF by INFO faster than a person can press keys. */
import { expect, it } from 'vitest'
import { Caller, type Peer } from '../peer.ts'
import { type Bench, Ear, type FarMedia, trunkPlan } from './bench.ts'
import { eachWithPeer } from './peer-bench.ts'

let bench: Bench
let peer: Peer
let far: FarMedia
eachWithPeer(opened => {
  ;({ bench, peer, far } = opened)
})

it('keys by INFO are taken as fast as they can be pressed, and each is answered', async () => {
  bench.setTrunks(trunkPlan(peer))
  const caller = new Caller(peer, `sip:+12025550100@127.0.0.1:${bench.rig.udpPort}`)
  caller.invite(far.sdp())
  const leg = await (await bench.offer()).answer()
  await caller.answered()
  caller.ack()
  const ear = new Ear()
  leg!.attach(ear)
  for (let n = 0; n < 300; n++) {
    caller.request('INFO', ['Content-Type: application/dtmf-relay'], `Signal=${n % 10}\r\n`)
    await peer.response(200, 'INFO')
  }
  // An account number that was held up on its way comes at once, and whole.
  expect(ear.keys.slice(0, 20).join('')).toBe('01234567890123456789')
  expect(ear.keys.length).toBeLessThan(300)
})
