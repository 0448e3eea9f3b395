/**
 * Thousands of requests per second from another process, from strangers and from a faulty trunk: a live call sounds as
 * it does during the same flood to another port, and known or authenticated sources get through.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, expect, inject, it } from 'vitest'
import { busKeys } from '../../../media/bus/keys.ts'
import { createSoftphoneBook, followSoftphones } from '../../../media/bus/softphone-book.ts'
import { createSealer } from '../../../media/contract/seal.ts'
import type { InboundOffer } from '../../../media/ports/inbound.ts'
import type { Leg } from '../../../media/ports/leg.ts'
import { within } from '../../../media/shared/within.ts'
import { GATE_LIMITS } from '../../../sip/server/gate.ts'
import type { Rate } from '../../../sip/server/rate.ts'
import { headerOf, type SipMessage, type SipRequest, type SipResponse } from '../../../sip/text/message.ts'
import { until } from '../../support/world.ts'
import { Caller, type Peer, reply } from '../peer.ts'
import { audioPort, Bench, clock, Ear, FarMedia, MemoryLog, trunkPlan } from './bench.ts'
import { Phone, planOf, USER } from './phone.ts'

const RATE = 3000
const SECONDS = inject('full') ? 20 : 3
/** Addresses; each stays near the limit of an unknown source. */
const SOURCES = 200
const MAD = '127.0.0.66'
/** A packet leaves each 20 ms; so much longer than without the flood may none of them take. */
const WORSE_MS = 60
const WHOLE = 0.95
const TRIES = 5
/** Jitter of sent audio is judged in the full run only, which has the machine to itself. */
const JUDGED = inject('full')
/** A caller hears nothing until the answer; a carrier gives up after 32 s. */
const PATIENT_MS = 30_000

let bench: Bench
let far: FarMedia
let legs: ((leg: Leg | null) => void)[]
const closers: (() => unknown)[] = []

beforeEach(async () => {
  const redis = new Redis(inject('redisUrl'), { maxRetriesPerRequest: null })
  const parts = { redis, keys: busKeys(`flood-${randomUUID()}`), sealer: createSealer('secret') }
  const directory = await followSoftphones({ ...parts, clock, log: new MemoryLog() })
  legs = []
  bench = await Bench.start(
    { allow: ['127.0.0.1', MAD, '?127.0.0.0/8'] },
    { softphones: { directory, secret: 'secret' }, onOffer: offer => void take(offer) },
  )
  far = await FarMedia.open()
  closers.push(
    () => far.close(),
    () => bench.close(),
    () => directory.stop(),
    () => redis.disconnect(),
  )
  await createSoftphoneBook(parts).put(planOf(USER))
  await until(() => directory.any(), 'the engine to know')
})
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

/** Control has no line left for the flooding source. */
async function take(offer: InboundOffer): Promise<void> {
  if (offer.source === MAD) offer.reject('too_many_calls')
  else legs.shift()?.(await offer.answer())
}

const ofCall = (message: SipMessage, { callId }: Caller): boolean => headerOf(message, 'Call-ID') === callId

/** An INVITE from where the trunk is, until its ACK; how long the answer took. */
async function call(peer: Peer): Promise<{ leg: Leg; caller: Caller; port: number; ms: number }> {
  const taken = new Promise<Leg | null>(resolve => legs.push(resolve))
  const startedMs = performance.now()
  const caller = new Caller(peer, `sip:+12025550100@127.0.0.1:${bench.rig.udpPort}`)
  caller.invite(far.sdp())
  const answer = await peer.next(
    (m): m is SipResponse => m.kind === 'response' && m.status === 200 && ofCall(m, caller),
  )
  const ms = performance.now() - startedMs
  caller.toTag = /;tag=([^;]+)/.exec(headerOf(answer, 'To') ?? '')![1]!
  caller.ack()
  return { leg: (await taken)!, caller, port: audioPort(answer.body), ms }
}

async function flood(port: number, sources: number, first: string): Promise<number> {
  const file = join(import.meta.dirname, 'flood-process.ts')
  const child = spawn(process.execPath, [file, ...[port, RATE, SECONDS, sources].map(String), first])
  closers.unshift(() => child.kill())
  let told = ''
  child.stdout.on('data', (bytes: Buffer) => {
    told += bytes
  })
  await once(child, 'close')
  return (JSON.parse(told) as { sent: number }).sent
}

/** Distances between packets of ours, as they arrive at the far end. */
async function gapsDuring<T>(run: () => Promise<T>): Promise<{ gaps: number[]; result: T }> {
  const arrivals: number[] = []
  far.onPacket = () => arrivals.push(performance.now())
  const result = await run()
  far.onPacket = () => {}
  return { gaps: arrivals.slice(1).map((at, n) => at - arrivals[n]!), result }
}

/** Packets a ms. */
const pace = (gaps: readonly number[]): number => gaps.length / gaps.reduce((sum, gap) => sum + gap, 0)
const most = (all: readonly number[]): number => Math.max(...all)

/** A port that ignores requests, for the same load on the machine without a SIP server. */
async function sink(): Promise<number> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  socket.on('message', () => {})
  closers.unshift(() => socket.close())
  return socket.address().port
}

/** Once it is there, both sides speak until the end. */
async function liveCall(): Promise<{ ear: Ear; said: () => number }> {
  const { leg, port } = await call(await bench.rig.udpPeer())
  const ear = new Ear()
  leg.attach(ear)
  let said = 0
  const talk = setInterval(() => {
    far.speak(port, 1)
    said += 1
  }, 20)
  closers.unshift(() => clearInterval(talk))
  await far.heard(20)
  return { ear, said: () => said }
}

/** Fails with what came instead, which `next` of a peer waits past. */
async function inTime<T>(what: string, peer: Peer, work: Promise<T>): Promise<T> {
  const late = Symbol('late')
  const result = await within(clock, PATIENT_MS, late, work)
  if (result !== late) return result as T
  const left = peer.received.map(m => (m.kind === 'response' ? `${m.status} ${headerOf(m, 'CSeq')}` : m.method))
  throw new Error(`${what} took more than ${PATIENT_MS} ms; what came and was not waited for: ${left.join(', ')}`)
}

/** Often, but below the rate that counts as a flood (`GATE_LIMITS.proven`). */
const PACE_MS = 100

/** Again and again while `flooding` lasts, and once at least. */
async function meanwhile(flooding: Promise<unknown>, act: () => Promise<number>): Promise<number[]> {
  const times: number[] = []
  let over = false
  void flooding.finally(() => {
    over = true
  })
  do {
    const paced = new Promise(resolve => setTimeout(resolve, PACE_MS))
    times.push(await act())
    await paced
  } while (!over)
  return times
}

async function hangUp(peer: Peer, leg: Leg, caller: Caller): Promise<void> {
  const over = leg.hangup('agent_hangup')
  const bye = await peer.next((m): m is SipRequest => m.kind === 'request' && m.method === 'BYE' && ofCall(m, caller))
  reply(peer, bye, '200 OK')
  await over
}

type Round = { readonly sent: number; readonly worse: number; readonly whole: number }

/** The flood elsewhere, then here, with calls and registrations meanwhile. */
async function compare(phone: Phone, callsPeer: Peer, sources: number, first: string): Promise<Round> {
  const elsewhere = await sink()
  const quiet = await gapsDuring(() => flood(elsewhere, sources, first))
  const { gaps, result } = await gapsDuring(async () => {
    const flooding = flood(bench.rig.udpPort, sources, first)
    const calls = meanwhile(flooding, async () => {
      const { leg, caller, ms } = await inTime('a call', callsPeer, call(callsPeer))
      await inTime('its end', callsPeer, hangUp(callsPeer, leg, caller))
      return ms
    })
    const registrations = meanwhile(flooding, async () => {
      const startedMs = performance.now()
      expect((await inTime('a registration', phone.peer, phone.register())).status).toBe(200)
      return performance.now() - startedMs
    })
    return { sent: await flooding, calls: await calls, registrations: await registrations }
  })
  const told = { beside: quiet.gaps, flooded: gaps, calls: result.calls, registrations: result.registrations }
  console.log(
    result.sent,
    Object.entries(told).map(([name, all]) => `${name}: ${all.length}, most ${most(all).toFixed(0)} ms`),
  )
  expect(most([...result.calls, ...result.registrations])).toBeLessThan(PATIENT_MS)
  const worse = most(gaps) - Math.max(most(quiet.gaps), 20)
  return { sent: result.sent, worse, whole: pace(gaps) / pace(quiet.gaps) }
}

/** Tried again when it went wrong, since others use the machine too: what the flood does it does each time. */
async function expectUnharmed(sources: number, first: string): Promise<number> {
  const { ear, said } = await liveCall()
  const callsPeer = await bench.rig.udpPeer()
  // The kernel drops datagrams of a flood, and of others with them.
  const withRequiredEncryption = setInterval(() => callsPeer.again(), 500)
  closers.unshift(() => clearInterval(withRequiredEncryption))
  const phone = new Phone(await bench.rig.tcpPeer('127.0.0.9'))
  expect((await phone.register()).status).toBe(200)
  const [heardBefore, saidBefore] = [ear.frames, said()]
  let round: Round
  let sent = 0
  let tries = 0
  do {
    round = await compare(phone, callsPeer, sources, first)
    sent += round.sent
    tries += 1
  } while (JUDGED && tries < TRIES && (round.worse >= WORSE_MS || round.whole <= WHOLE))
  if (JUDGED) {
    expect(round.worse).toBeLessThan(WORSE_MS)
    // As many packets as there are 20 ms: none was lost.
    expect(round.whole).toBeGreaterThan(WHOLE)
  }
  await until(() => ear.frames - heardBefore >= said() - saidBefore - 20, 'the sound of the far end')
  return sent
}

/** Most requests that a rate allows from the start until now. */
const share = ({ perSecond, burst }: Rate, sinceMs: number): number =>
  burst + (perSecond * (performance.now() - sinceMs)) / 1000

it(`${RATE} requests a second of ${SOURCES} strangers`, { timeout: 180_000 }, async () => {
  bench.setTrunks(trunkPlan({ port: 5060 }))
  const [startedMs, memory] = [performance.now(), process.memoryUsage().rss]
  const sent = await expectUnharmed(SOURCES, '127.1.0.1')
  const { flooded, scanned, faults, transactions } = bench.rig.server.stats()
  const taken = share(GATE_LIMITS.strangers, startedMs)
  // Packets that the kernel dropped never reached us.
  expect(flooded + scanned).toBeGreaterThan(sent * 0.9 - taken)
  // Besides calls and registrations, a few hundred.
  expect(transactions).toBeLessThan(taken + 2000)
  expect(faults).toBe(0)
  expect((process.memoryUsage().rss - memory) / 1e6).toBeLessThan(300)
})

it(`${RATE} requests a second of a trunk that has gone mad`, { timeout: 180_000 }, async () => {
  bench.setTrunks(trunkPlan({ port: 5060 }), trunkPlan({ port: 5060 }, { host: MAD }))
  const startedMs = performance.now()
  const sent = await expectUnharmed(1, MAD)
  const { flooded, faults } = bench.rig.server.stats()
  expect(flooded).toBeGreaterThan(sent * 0.9 - share(GATE_LIMITS.knownOpening, startedMs))
  expect(faults).toBe(0)
})
