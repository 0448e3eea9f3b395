/** Ringing before the answer: it starts when the call is admitted, not earlier. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Clock } from '../../../media/shared/clock.ts'
import { headerOf } from '../../../sip/text/message.ts'
import { lacks } from '../../support/needs.ts'
import { ended } from '../../support/stack.ts'
import { expectAnswer, maybeAnswer, request, sdp, startSipp } from '../../support/stack-sipp.ts'
import { Caller, type Peer } from '../peer.ts'
import { type Bench, clock, type FarMedia, trunkPlan } from './bench.ts'
import { eachWithPeer } from './peer-bench.ts'

/** A sipp scenario that requires 100rel and numbers its own requests. */
const RELIABLE = [
  request('INVITE', sdp()).replace('Max-Forwards: 70', 'Max-Forwards: 70\nRequire: 100rel'),
  maybeAnswer(100),
  '<recv response="180" rrs="true"><action><ereg regexp="[0-9]+" search_in="hdr" header="RSeq:" check_it="true" assign_to="rseq"/></action></recv>',
  request('PRACK', [], { cseq: 2 }).replace('Max-Forwards: 70', 'Max-Forwards: 70\nRAck: [$rseq] 1 INVITE'),
  expectAnswer(200),
  expectAnswer(200, 'rrs="true"'),
  request('ACK'),
  request('BYE', [], { cseq: 3 }),
  expectAnswer(200),
]

let bench: Bench
let peer: Peer
let far: FarMedia
const { restart } = eachWithPeer(opened => {
  ;({ bench, peer, far } = opened)
})

async function offered(extra: readonly string[] = []) {
  bench.setTrunks(trunkPlan(peer))
  const caller = new Caller(peer, `sip:+12025550100@127.0.0.1:${bench.rig.udpPort}`)
  caller.invite(far.sdp(), extra)
  return { caller, offer: await bench.offer() }
}

const heard = () => peer.received.flatMap(message => (message.kind === 'response' ? [message.status] : []))

it('rings when the call is admitted, then is answered in the same dialog', async () => {
  const { caller, offer } = await offered()
  offer.admitted?.('call')
  await caller.answered(180)
  const ringing = caller.toTag
  const leg = await Promise.all([offer.answer(), caller.answered(200)]).then(([answered]) => answered)
  expect(caller.toTag).toBe(ringing)
  caller.ack()
  caller.request('BYE')
  await leg?.ended
})

it('does not ring for who is refused', async () => {
  const { caller, offer } = await offered()
  offer.reject('unknown_number')
  await caller.answered(404)
  caller.ack(true)
  expect(heard()).not.toContain(180)
})

it('rings as ever for who could do more', async () => {
  const { caller, offer } = await offered(['Supported: 100rel'])
  offer.admitted?.('call')
  expect(headerOf(await caller.answered(180), 'RSeq')).toBeNull()
  const leg = await Promise.all([offer.answer(), caller.answered(200)]).then(([answered]) => answered)
  caller.ack()
  caller.request('BYE')
  await leg?.ended
})

describe('where the caller requires reliable ringing (RFC 3262)', () => {
  const REQUIRE = ['Require: 100rel']

  it('the answer follows its PRACK', async () => {
    const { caller, offer } = await offered(REQUIRE)
    offer.admitted?.('call')
    const answer = offer.answer()
    const ringing = await caller.answered(180)
    expect(headerOf(ringing, 'Require')).toBe('100rel')
    // Repeated, as nothing has confirmed it; and no answer meanwhile.
    expect(headerOf(await caller.answered(180), 'RSeq')).toBe(headerOf(ringing, 'RSeq'))
    expect(heard()).not.toContain(200)
    caller.request('PRACK', [`RAck: ${headerOf(ringing, 'RSeq')} 1 INVITE`])
    await peer.response(200, 'PRACK')
    expect(headerOf(await caller.answered(200), 'Require')).not.toBe('100rel')
    const leg = await answer
    peer.send(caller.head('ACK', { cseq: 1 }))
    caller.request('BYE')
    expect(await leg?.ended).toEqual({ by: 'remote', reason: 'caller_hangup' })
  })

  it('and never confirms it, there is no answer', async () => {
    const fast: Clock = { ...clock, after: (ms, run) => clock.after(ms / 20, run) }
    await restart({ timers: { t1: 5 } }, { clock: fast })
    const { caller, offer } = await offered(REQUIRE)
    offer.admitted?.('call')
    const answer = offer.answer()
    await caller.answered(504)
    caller.ack(true)
    expect(await answer).toBeNull()
    expect(heard()).not.toContain(200)
  })

  it('and gives up, nothing is answered', async () => {
    const { caller, offer } = await offered(REQUIRE)
    offer.admitted?.('call')
    const answer = offer.answer()
    await caller.answered(180)
    caller.cancel()
    expect(await answer).toBeNull()
    await caller.answered(487)
    caller.ack(true)
  })

  it('and leaves the offer to us, it comes with the answer', async () => {
    bench.setTrunks(trunkPlan(peer))
    const caller = new Caller(peer, `sip:+12025550100@127.0.0.1:${bench.rig.udpPort}`)
    caller.invite('', REQUIRE)
    const offer = await bench.offer()
    offer.admitted?.('call')
    const [leg, ok] = await Promise.all([offer.answer(), caller.answered(200)])
    expect(String(ok.body)).toContain('m=audio')
    expect(heard()).not.toContain(180)
    peer.send(caller.head('ACK', { extra: ['Content-Type: application/sdp'] }), far.sdp())
    caller.request('BYE')
    expect(await leg?.ended).toEqual({ by: 'remote', reason: 'caller_hangup' })
  })

  it.skipIf(lacks('sipp'))('sipp gets it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'reliable-'))
    const children: ChildProcess[] = []
    const line = {
      folder,
      sip: { host: '127.0.0.1', port: bench.rig.udpPort },
      keep: (child: ChildProcess) => void children.push(child),
    }
    try {
      bench.setTrunks(trunkPlan(peer))
      const sipp = await startSipp(line, RELIABLE, { calls: '+12025550100', seconds: 20 })
      const offer = await bench.offer()
      offer.admitted?.('call')
      const leg = await offer.answer()
      expect(await leg?.ended).toEqual({ by: 'remote', reason: 'caller_hangup' })
      await sipp.done
      expect(sipp.messages()).toMatch(/^RAck: \d+ 1 INVITE/m)
    } finally {
      for (const child of children) await ended(child)
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

it('what else is required, and we do not know, is refused by its name', async () => {
  bench.setTrunks(trunkPlan(peer))
  const caller = new Caller(peer, `sip:+12025550100@127.0.0.1:${bench.rig.udpPort}`)
  caller.invite(far.sdp(), ['Require: 100rel, precondition'])
  expect(headerOf(await caller.answered(420), 'Unsupported')).toBe('precondition')
  caller.ack(true)
})
