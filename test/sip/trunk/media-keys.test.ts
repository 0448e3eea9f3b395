/** SRTP keys are in no trace and no log, and never leave without encryption. */
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Examiner } from '../../../sip/trunk/diagnosis/check.ts'
import type { Agent } from '../../../sip/trunk/requests/srf.ts'
import { NextHopResolver } from '../../../sip/trunk/routing/next-hop.ts'
import { Traces } from '../../../sip/trunk/trace/trace.ts'
import { Caller, type Peer, reply } from '../peer.ts'
import { Bench, clock, FarMedia, hostsOnly, trunkPlan } from './bench.ts'

let bench: Bench
let peer: Peer
let far: FarMedia
beforeEach(async () => {
  bench = await Bench.start()
  peer = await bench.rig.udpPeer()
  far = await FarMedia.open()
})
afterEach(async () => {
  await bench.close()
  far.close()
})

const SDP_TYPE = 'Content-Type: application/sdp'
const THEIRS = 'd0RmdmcmVCspeEc3QGZiNWpVLFJhQX1cfHAwJSoj'
const secured = () => far.sdp([`a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:${THEIRS}`]).replace('RTP/AVP', 'RTP/SAVP')
const keysIn = (body: { toString(): string }) => [...body.toString().matchAll(/inline:(\S+)/g)].map(([, key]) => key!)

it('keys are in no trace and no line of the log, of calls that come and calls that go', async () => {
  bench.setTrunks(trunkPlan(peer, { srtp: 'required' }))
  const caller = new Caller(peer, `sip:+12025550100@127.0.0.1:${bench.rig.udpPort}`)
  caller.invite(secured())
  const offer = await bench.offer()
  const came = randomUUID()
  offer.admitted?.(came)
  const leg = await offer.answer()
  const ours = keysIn((await caller.answered()).body)
  caller.ack()
  const hungUp = leg!.hangup('agent_hangup')
  reply(peer, await peer.request('BYE'), '200 OK')
  await hungUp

  const went = randomUUID()
  const { result } = bench.dial(peer, { srtp: 'required' }, { call_id: went })
  const invite = await peer.request('INVITE')
  ours.push(...keysIn(invite.body))
  reply(peer, invite, '200 OK', [`Contact: <sip:far@127.0.0.1:${peer.port}>`, SDP_TYPE], secured())
  const dialed = await result
  expect(dialed.ok).toBe(true)
  expect(ours.length).toBeGreaterThanOrEqual(3)
  const traces = [came, went].map(callId => bench.edge.traces.take({ callId, media: null, reason: 'api_hangup' }))
  expect(traces.map(trace => trace!.messages.length >= 2)).toEqual([true, true])
  const kept = JSON.stringify(traces) + bench.log.lines.join('\n')
  expect([THEIRS, ...ours].filter(key => kept.includes(key))).toEqual([])
})

it('a trunk that must be encrypted offers nothing else, at whichever of its hosts', async () => {
  const second = await bench.rig.udpPeer()
  const hosts = [{ host: '127.0.0.1', port: second.port, transport: 'udp' as const }]
  const { result } = bench.dial(peer, { srtp: 'required', hosts })
  const offers: string[] = []
  for (const [at, status] of [
    [peer, '503 Full'],
    [second, '488 Not Acceptable Here'],
  ] as const) {
    const invite = await at.request('INVITE')
    offers.push(String(invite.body))
    reply(at, invite, status)
    await at.request('ACK')
  }
  expect(offers.map(offer => [...offer.matchAll(/^m=audio \d+ (\S+)/gm)].map(([, profile]) => profile))).toEqual([
    ['RTP/SAVP'],
    ['RTP/SAVP'],
  ])
  expect(await result).toMatchObject({ ok: false, failure: { sipCode: 488 } })
})

it('a redirect of a trunk that must be encrypted leads nowhere else', async () => {
  const { result } = bench.dial(peer, { srtp: 'required' })
  const stranger = await bench.rig.udpPeer()
  const invite = await peer.request('INVITE')
  reply(peer, invite, '302 Moved', [`Contact: <sip:1@127.0.0.1:${stranger.port}>`])
  await peer.request('ACK')
  expect(await result).toMatchObject({ ok: false })
})

it.each([
  ['optional', 'udp', true],
  ['required', 'udp', true],
  ['off', 'udp', false],
] as const)('a check of a trunk with srtp %s over %s warns of readable keys: %s', async (srtp, transport, warns) => {
  const checking = bench.edge.check(trunkPlan(peer, { srtp, transport }))
  reply(peer, await peer.request('OPTIONS'), '200 OK')
  const report = await checking
  expect(report.ok).toBe(true)
  const words = report.checks.filter(({ name }) => name === 'encryption').map(step => step.message)
  expect(words).toHaveLength(warns ? 1 : 0)
  if (warns) expect(words[0]).toContain(`over ${transport}`)
})

it('an engine examines few trunks at once, whoever asks', async () => {
  const sent: string[] = []
  const agent = {
    request: (uri: string) => {
      sent.push(uri)
      return new Promise<never>(() => {})
    },
  } as unknown as Agent
  const resolver = hostsOnly({})
  const nextHops = new NextHopResolver(resolver, () => true)
  const examiner = new Examiner({ agent, traces: new Traces(clock), clock, resolver, nextHops, live: () => [] })
  const all = Array.from({ length: 40 }, (_, n) => examiner.examine(trunkPlan({ port: 6000 + n })))
  const outcomes = await Promise.allSettled(all)
  expect(sent).toHaveLength(8)
  expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(32)
}, 15_000)

it('a call with a hundred tries keeps the first and the last of them', () => {
  const traces = new Traces(clock)
  for (let n = 0; n < 100; n++) {
    const text = ['INVITE sip:1@h SIP/2.0', `Call-ID: c${n}`, 'CSeq: 1 INVITE', '', ''].join('\r\n')
    traces.frame(`1|sip|network|1|udp|192.0.2.9|5060|12:00|t${n}|d|192.0.2.1|5070|\r\n${text}`)
    traces.bind(`c${n}`, 'call', null)
  }
  const { messages, omitted } = traces.take('call')!
  expect(messages.length).toBeLessThanOrEqual(20)
  expect(messages.length + omitted).toBe(100)
  const ids = messages.map(({ text }) => /Call-ID: (\S+)/.exec(text)![1])
  expect([ids[0], ids.at(-1)]).toEqual(['c0', 'c99'])
})
