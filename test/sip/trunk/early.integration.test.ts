/** A rejected caller hears the reason as early media, and the call is never answered. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Refusals } from '../../../media/call/refusals.ts'
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import type { Tts } from '../../../media/ports/speech.ts'
import type { Clock } from '../../../media/shared/clock.ts'
import { headerOf, type SipMessage, type SipResponse } from '../../../sip/text/message.ts'
import { settle } from '../../fakes/line.ts'
import { lacks } from '../../support/needs.ts'
import { ended } from '../../support/stack.ts'
import { expectAnswer, maybeAnswer, request, sdp, startSipp } from '../../support/stack-sipp.ts'
import { Caller, type Peer } from '../peer.ts'
import { Bench, clock, trunkPlan } from './bench.ts'
import { FarSound } from './tone-endpoint.ts'

const TONE_HZ = 700
const WORDS = { refusal_announcement: 'Our line is closed.', refusal_language: 'en' } as const

/** Says everything as a tone of so long. */
function tone(ms: number): Tts & { spoken: string[] } {
  const spoken: string[] = []
  return {
    spoken,
    async *speak({ text, language }) {
      spoken.push(`${language}: ${text}`)
      const pcm = Int16Array.from({ length: 16 * ms }, (_, i) => 8000 * Math.sin((2 * Math.PI * TONE_HZ * i) / 16_000))
      yield { pcm, sampleRate: 16_000 }
    },
  }
}

const fast: Clock = { ...clock, after: (ms, run) => clock.after(ms / 50, run) }

let bench: Bench
let peer: Peer
let far: FarSound
beforeEach(async () => {
  bench = await Bench.start()
  peer = await bench.rig.udpPeer()
  far = await FarSound.open()
})
afterEach(async () => {
  await bench.close()
  far.close()
})

async function offered(over: Partial<TrunkPlan> = WORDS, extra: readonly string[] = [], body = far.sdp()) {
  bench.setTrunks(trunkPlan(peer, over))
  const caller = new Caller(peer, `sip:+12025550100@127.0.0.1:${bench.rig.udpPort}`)
  caller.invite(body, extra)
  return { caller, offer: await bench.offer() }
}

const refusals = (announcer: Tts, over: Partial<ConstructorParameters<typeof Refusals>[0]> = {}) =>
  new Refusals({ announcer, clock, log: bench.log, capacity: 100, free: () => 100, ...over })

const statuses = () => peer.received.flatMap(message => (message.kind === 'response' ? [message.status] : []))
const toneFrames = () => far.heard.filter(hz => Math.abs(hz - TONE_HZ) < 40).length

it('plays fully under 183, then rejects', async () => {
  const { caller, offer } = await offered()
  const tts = tone(600)
  refusals(tts).refuse(offer, 'insufficient_balance')
  const early = await caller.answered(183)
  expect(String(early.body)).toContain('m=audio')
  const { toTag } = caller
  await caller.answered(403)
  expect(caller.toTag).toBe(toTag)
  caller.ack(true)
  // There are 30 frames; the first and the last may contain some silence.
  expect(toneFrames()).toBeGreaterThanOrEqual(28)
  expect(tts.spoken).toEqual(['en: Our line is closed.'])
  expect(statuses()).not.toContain(200)
})

it.each([
  ['a trunk without words', {}, 'insufficient_balance', 403],
  ['a fallback number, which goes first', { ...WORDS, fallback_number: '+12025550177' }, 'too_many_calls', 302],
  ['a reason of ours', WORDS, 'internal_error', 503],
] as const)('plays nothing for %s', async (_why, over, refusal, status) => {
  const { caller, offer } = await offered(over)
  const tts = tone(100)
  refusals(tts).refuse(offer, refusal)
  await caller.answered(status)
  caller.ack(true)
  expect([tts.spoken, statuses().filter(one => one > 100)]).toEqual([[], []])
})

it.each([
  ['who left the offer to us', () => ''],
  ['who wants no sound', () => far.sdp(true, ['a=sendonly'])],
])('rejects at once for %s', async (_who, body) => {
  const { caller, offer } = await offered(WORDS, [], body())
  refusals(tone(100)).refuse(offer, 'too_many_calls')
  await caller.answered(486)
  caller.ack(true)
  expect(statuses()).not.toContain(183)
})

it.each(['CANCEL', 'BYE'] as const)('stops at a %s', async method => {
  const { caller, offer } = await offered()
  const all = refusals(tone(14_000), { capacity: 8 })
  all.refuse(offer, 'too_many_calls')
  await caller.answered(183)
  await far.until(() => toneFrames() > 3)
  if (method === 'CANCEL') caller.cancel()
  else caller.request('BYE')
  await peer.response(200, method)
  await caller.answered(487)
  caller.ack(true)
  // Its place is free again: there is one for this trunk.
  const next = await offered()
  await settle()
  all.refuse(next.offer, 'too_many_calls')
  await next.caller.answered(183)
  await all.close()
  await next.caller.answered(486)
  next.caller.ack(true)
})

it('stops at the time limit', async () => {
  const { caller, offer } = await offered()
  refusals(tone(60_000), { clock: fast }).refuse(offer, 'subscription_inactive')
  await caller.answered(403)
  caller.ack(true)
  expect(statuses()).toContain(183)
})

it('limits announcements in all and per trunk', async () => {
  const trunks = ['+12025550100', '+12025550101', '+12025550102'].map(number =>
    trunkPlan(peer, { ...WORDS, numbers: [number] }),
  )
  bench.setTrunks(...trunks)
  let free = 100
  const all = refusals(tone(14_000), { capacity: 16, free: () => free })
  const call = async (number: string) => {
    const caller = new Caller(peer, `sip:${number}@127.0.0.1:${bench.rig.udpPort}`)
    caller.invite(far.sdp())
    all.refuse(await bench.offer(), 'too_many_calls')
    const told = (m: SipMessage): m is SipResponse =>
      m.kind === 'response' && m.status > 100 && headerOf(m, 'Call-ID') === caller.callId
    return (await peer.next(told)).status
  }
  const said: number[] = []
  for (const number of ['+12025550100', '+12025550100', '+12025550100', '+12025550101']) said.push(await call(number))
  free = 3
  said.push(await call('+12025550101'))
  free = 100
  for (const number of ['+12025550101', '+12025550102']) said.push(await call(number))
  expect(said).toEqual([183, 183, 486, 183, 486, 183, 486])
  await all.close()
})

describe('where the caller requires reliable responses (RFC 3262)', () => {
  const REQUIRE = ['Require: 100rel']

  it('plays after PRACK', async () => {
    const { caller, offer } = await offered(WORDS, REQUIRE)
    refusals(tone(200)).refuse(offer, 'too_many_calls')
    const early = await caller.answered(183)
    expect(headerOf(early, 'Require')).toBe('100rel')
    await caller.answered(183)
    expect(toneFrames()).toBe(0)
    caller.request('PRACK', [`RAck: ${headerOf(early, 'RSeq')} 1 INVITE`])
    await peer.response(200, 'PRACK')
    await caller.answered(486)
    peer.send(caller.head('ACK', { cseq: 1 }))
    expect(toneFrames()).toBeGreaterThanOrEqual(8)
  })

  it('without PRACK plays nothing', async () => {
    const { caller, offer } = await offered(WORDS, REQUIRE)
    const tts = tone(200)
    refusals(tts, { clock: fast }).refuse(offer, 'too_many_calls')
    await caller.answered(183)
    await caller.answered(486)
    caller.ack(true)
    expect([toneFrames(), tts.spoken]).toEqual([0, []])
  })
})

it.skipIf(lacks('sipp'))('works with sipp', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'early-'))
  const children: ChildProcess[] = []
  const line = {
    folder,
    sip: { host: '127.0.0.1', port: bench.rig.udpPort },
    keep: (child: ChildProcess) => void children.push(child),
  }
  const scenario = [
    request('INVITE', sdp()).replace('Max-Forwards: 70', 'Max-Forwards: 70\nRequire: 100rel'),
    maybeAnswer(100),
    '<recv response="183" rrs="true"><action><ereg regexp="[0-9]+" search_in="hdr" header="RSeq:" check_it="true" assign_to="rseq"/><ereg regexp="m=audio" search_in="body" check_it="true" assign_to="media"/></action></recv>',
    '<Reference variables="media"/>',
    request('PRACK', [], { cseq: 2 }).replace('Max-Forwards: 70', 'Max-Forwards: 70\nRAck: [$rseq] 1 INVITE'),
    expectAnswer(200),
    expectAnswer(486),
    request('ACK'),
  ]
  try {
    bench.setTrunks(trunkPlan(peer, WORDS))
    const sipp = await startSipp(line, scenario, { calls: '+12025550100', seconds: 20 })
    refusals(tone(200)).refuse(await bench.offer(), 'too_many_calls')
    await sipp.done
    expect(sipp.messages()).toMatch(/^RAck: \d+ 1 INVITE/m)
  } finally {
    for (const child of children) await ended(child)
    rmSync(folder, { recursive: true, force: true })
  }
})
