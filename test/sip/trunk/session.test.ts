/** Sessions (RFC 4028) in which the carrier challenges every request, with simulated time. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import type { Leg } from '../../../media/ports/leg.ts'
import { headerOf, type SipMessage, type SipRequest } from '../../../sip/text/message.ts'
import { Caller, type Peer, reply } from '../peer.ts'
import { Bench, FarMedia, trunkPlan } from './bench.ts'
import { proofIn, seqOf } from './digest-server.ts'

const EXPIRES = 600
/** Ours, before the server's half. */
const DUE = EXPIRES * 0.42
/** Iterations of the event loop until a message has passed all sockets of this process. */
const TURNS = 12
const ACCOUNT = { username: 'user', password: 'pass' } as const
const CHALLENGE = 'Proxy-Authenticate: Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256'
const TIMER = ['Supported: timer', `Session-Expires: ${EXPIRES};refresher=uac`]

let bench: Bench
let peer: Peer
let far: FarMedia
let caller: Caller
let startedMs = 0
/** Requests inside the dialog, with the second of the call. */
let heard: { request: SipRequest; second: number }[] = []
/** Response of the peer to a request with valid credentials. */
let answer: (request: SipRequest) => void
/** Password that the peer accepts. */
let password = 'pass'

const settle = async (): Promise<void> => {
  for (let i = 0; i < TURNS; i++) await new Promise(resolve => setImmediate(resolve))
}

async function advanceTo(second: number): Promise<void> {
  while (performance.now() < startedMs + second * 1000) {
    vi.advanceTimersByTime(1000)
    await settle()
  }
}

const contact = (): string => `Contact: <sip:far@127.0.0.1:${peer.port}>`
const accept =
  (extra: readonly string[] = TIMER) =>
  (request: SipRequest): void => {
    const sdp = request.method === 'INVITE' ? far.sdp() : ''
    reply(peer, request, '200 OK', [contact(), ...(sdp === '' ? [] : ['Content-Type: application/sdp']), ...extra], sdp)
  }
const refuse =
  (status: string, extra: readonly string[] = []) =>
  (request: SipRequest): void =>
    reply(peer, request, status, extra)

const inCall = (message: SipMessage): message is SipRequest => message.kind === 'request' && message.method !== 'ACK'

/** Challenges each request without valid credentials. */
async function serve(): Promise<void> {
  for (;;) {
    const request = await peer.next(inCall)
    heard.push({ request, second: (performance.now() - startedMs) / 1000 })
    if (proofIn(request, password, 'Proxy-Authorization')?.right) answer(request)
    else reply(peer, request, '407 Prove It', [CHALLENGE])
  }
}

const proven = () => heard.filter(({ request }) => proofIn(request, password, 'Proxy-Authorization')?.right)
const seconds = (of = proven()): number[] => of.map(({ second }) => Math.floor(second))
const methods = (of = heard): string[] => of.map(({ request }) => request.method)

/** A call of the peer's, with these headers of the session. */
async function called(session: readonly string[], over: Partial<TrunkPlan> = ACCOUNT): Promise<Leg> {
  bench.setTrunks(trunkPlan(peer, over))
  caller = new Caller(peer, `sip:+12025550100@127.0.0.1:${bench.rig.udpPort}`)
  caller.invite(far.sdp(), session)
  const leg = await (await bench.offer()).answer()
  await caller.answered()
  caller.ack()
  await settle()
  startedMs = performance.now()
  void serve()
  return leg!
}

const OURS = ['Supported: timer', `Session-Expires: ${EXPIRES};refresher=uas`]

beforeEach(async () => {
  ;[heard, answer, password] = [[], accept(), 'pass']
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance', 'Date'] })
  vi.spyOn(Math, 'random').mockReturnValue(0)
  // Nothing is sent twice within a step.
  bench = await Bench.start({ timers: { t1: 4000, t2: 8000, t4: 8000 } }, { mediaTimeoutMs: 1e9 })
  peer = await bench.rig.udpPeer()
  far = await FarMedia.open()
})
afterEach(async () => {
  vi.restoreAllMocks()
  vi.useRealTimers()
  await bench.close()
  far.close()
})

async function ends(leg: Leg): Promise<void> {
  const over = leg.hangup('agent_hangup')
  await settle()
  await over
  expect(methods().slice(-2)).toEqual(['BYE', 'BYE'])
  expect(bench.rig.server.stats()).toMatchObject({ dialogs: 0, faults: 0 })
}

describe('a session refreshed by us', () => {
  it('lasts an hour with authenticated re-INVITEs', async () => {
    const leg = await called(OURS)
    await advanceTo(3600)
    const times = seconds()
    expect(times).toHaveLength(14)
    for (const [at, second] of times.entries()) expect(Math.abs(second - (at + 1) * DUE)).toBeLessThan(20)
    // The server cannot authenticate, so it sent none: each request was challenged once and then authenticated.
    expect(new Set(methods())).toEqual(new Set(['INVITE']))
    expect(heard).toHaveLength(28)
    const offers = proven().map(({ request }) => request.body.toString())
    // §7.4: what repeats the description repeats its version.
    expect(new Set(offers).size).toBe(1)
    expect(heard.map(({ request }) => seqOf(request))).toEqual(heard.map((_, at) => seqOf(heard[0]!.request) + at))
    await ends(leg)
  }, 30_000)

  it('uses UPDATE where supported', async () => {
    answer = accept([])
    const leg = await called([...OURS, 'Allow: INVITE, ACK, BYE, UPDATE'])
    await advanceTo(1300)
    expect(seconds().map(second => Math.round(second / DUE))).toEqual([1, 2, 3, 4, 5])
    expect(new Set(methods())).toEqual(new Set(['UPDATE']))
    expect(headerOf(proven()[0]!.request, 'Session-Expires')).toBe('600;refresher=uac')
    await ends(leg)
  })

  it("uses the far end's interval, after glare and 422", async () => {
    const leg = await called(OURS)
    const script = [
      refuse('491 Request Pending'),
      refuse('422 Session Interval Too Small', ['Min-SE: 1000']),
      (request: SipRequest) =>
        accept(['Supported: timer', `Session-Expires: ${headerOf(request, 'Session-Expires')}`])(request),
    ]
    answer = request => (script.length > 1 ? script.shift()! : script[0]!)(request)
    await advanceTo(1200)
    const [first, again, longer, next] = proven()
    expect(again!.second - first!.second).toBeLessThan(5)
    expect(headerOf(longer!.request, 'Session-Expires')).toBe('1000;refresher=uac')
    expect(headerOf(longer!.request, 'Min-SE')).toBe('1000')
    expect(Math.abs(next!.second - longer!.second - 420)).toBeLessThan(5)
    await ends(leg)
  })

  it.each(['481 Call/Transaction Does Not Exist', '408 Request Timeout'])(
    'ends when the response is %s',
    async status => {
      const leg = await called(OURS)
      answer = refuse(status)
      await advanceTo(DUE + 10)
      expect(await leg.ended).toEqual({ by: 'network', reason: 'connection_lost' })
    },
  )

  it('ends at expiry with a wrong password', async () => {
    password = 'other'
    const leg = await called(OURS)
    await advanceTo(EXPIRES)
    expect(await leg.ended).toMatchObject({ by: 'network', reason: 'connection_lost' })
    expect(proven()).toEqual([])
    expect(bench.log.lines.join()).toContain('session refresh failed')
  })
})

describe('a session refreshed by the far end', () => {
  it('leaves refreshing until told otherwise', async () => {
    const leg = await called(TIMER)
    const refresh = async (method: 'INVITE' | 'UPDATE', session: readonly string[]): Promise<void> => {
      if (method === 'INVITE') caller.invite(far.sdp(), session)
      else caller.request('UPDATE', session)
      await settle()
      await (method === 'INVITE' ? caller.answered() : peer.response(200, 'UPDATE'))
      if (method === 'INVITE') caller.ack()
    }
    await advanceTo(300)
    await refresh('UPDATE', TIMER)
    await advanceTo(600)
    await refresh('INVITE', TIMER)
    await advanceTo(900)
    expect(heard).toEqual([])
    await refresh('UPDATE', OURS)
    await advanceTo(900 + DUE + 10)
    expect(proven()).toHaveLength(1)
    await refresh('INVITE', TIMER)
    await advanceTo(900 + DUE + 400)
    expect(proven()).toHaveLength(1)
    await ends(leg)
  })
})

describe('a call that we placed', () => {
  it.each([
    ['uac', 2],
    ['uas', 0],
  ])('is refreshed by us when the response says %s', async (refresher, times) => {
    const session = ['Supported: timer', `Session-Expires: ${EXPIRES};refresher=${refresher}`]
    answer = accept(session)
    const { result } = bench.dial(peer, ACCOUNT)
    await settle()
    accept(session)(await peer.request('INVITE'))
    await settle()
    const outcome = await result
    if (!outcome.ok) throw new Error(outcome.failure.reason)
    startedMs = performance.now()
    void serve()
    // Before the far end's silence ends the call.
    await advanceTo(2 * DUE + 10)
    expect(proven()).toHaveLength(times)
    await ends(outcome.leg)
  })
})
