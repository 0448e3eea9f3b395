/** A call of one hour, with session timers (RFC 4028) and re-INVITEs both ways, with simulated time. */
import { afterEach, beforeEach, expect, inject, it, vi } from 'vitest'
import type { Leg } from '../../media/ports/leg.ts'
import { headerOf, type SipMessage, type SipRequest } from '../../sip/text/message.ts'
import { Caller, type Peer, reply } from '../sip/peer.ts'
import { audioPort, Bench, Ear, FarMedia, trunkPlan } from '../sip/trunk/bench.ts'

/** 180,000 packets each way take half a minute. */
const WITH_SOUND = inject('full')
const EXPIRES = 600
const SECOND = 1000
/** Short enough for the sound of one step to fit into a socket. */
const STEP_MS = 250
/** Iterations of the event loop until a message has passed all sockets of this process. */
const TURNS = 12

let bench: Bench
let peer: Peer
let far: FarMedia
let caller: Caller
let leg: Leg
let startedMs = 0
/** Port of our RTP. */
let port = 0
/** When our refreshes came, in seconds of the call. */
let refreshes: number[] = []
/** When we hung up. */
let endedAt = 0
/** Responses of the peer to the next requests; after them it accepts all. */
let answers: ((invite: SipRequest) => void)[] = []

const settle = async (): Promise<void> => {
  for (let i = 0; i < TURNS; i++) await new Promise(resolve => setImmediate(resolve))
}

/** Advances to this second of the call; the peer sends audio each second. */
async function advanceTo(seconds: number): Promise<void> {
  for (let steps = 0; performance.now() < startedMs + seconds * SECOND; steps++) {
    vi.advanceTimersByTime(STEP_MS)
    if (steps % 4 === 0) far.speak(port, 1)
    await settle()
  }
}

const session = (seconds = EXPIRES): string[] => [`Session-Expires: ${seconds};refresher=uac`, 'Supported: timer']
const agree = (invite: SipRequest): void => {
  const seconds = Number.parseInt(headerOf(invite, 'Session-Expires') ?? '', 10)
  const headers = [`Contact: <sip:far@127.0.0.1:${peer.port}>`, 'Content-Type: application/sdp', ...session(seconds)]
  reply(peer, invite, '200 OK', headers, far.sdp())
}
const refuse =
  (status: string, extra: string[] = []) =>
  (invite: SipRequest): void =>
    reply(peer, invite, status, extra)

const isOurs = (message: SipMessage): message is SipRequest =>
  message.kind === 'request' && (message.method === 'INVITE' || message.method === 'BYE')

/** Answers our refreshes, each as the test has it, until we hang up; a repeated one is counted again. */
async function serve(): Promise<void> {
  for (;;) {
    const invite = await peer.next(isOurs)
    const seconds = (performance.now() - startedMs) / SECOND
    if (invite.method === 'BYE') {
      endedAt = seconds
      return reply(peer, invite, '200 OK')
    }
    refreshes.push(seconds)
    const answer = answers.shift() ?? agree
    answer(invite)
  }
}

const offers = (sdp: string): void =>
  caller.invite(sdp, [`Session-Expires: ${EXPIRES};refresher=uas`, 'Supported: timer'])

/** The peer's own re-INVITE, agreed on. */
async function reinvites(extra: readonly string[]): Promise<void> {
  offers(far.sdp(extra))
  await settle()
  expect((await caller.answered()).body.toString()).toContain('m=audio')
  caller.ack()
  await settle()
}

async function begin(): Promise<Ear> {
  offers(far.sdp())
  leg = (await (await bench.offer()).answer())!
  port = audioPort((await caller.answered()).body)
  caller.ack()
  await settle()
  startedMs = performance.now()
  const ear = new Ear()
  if (WITH_SOUND) leg.attach(ear)
  void serve()
  return ear
}

beforeEach(async () => {
  ;[refreshes, answers] = [[], []]
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance', 'Date'] })
  // Refreshes come a little early, by chance; here by none.
  vi.spyOn(Math, 'random').mockReturnValue(0)
  bench = await Bench.start({}, { mediaTimeoutMs: 20_000 })
  peer = await bench.rig.udpPeer()
  far = await FarMedia.open()
  bench.setTrunks(trunkPlan(peer))
  caller = new Caller(peer, `sip:+12025550100@127.0.0.1:${bench.rig.udpPort}`)
})
afterEach(async () => {
  vi.restoreAllMocks()
  vi.useRealTimers()
  await bench.close()
  far.close()
})

it('an hour: refreshed when it is time, held, moved, with answers that are late, refuse, and want more', async () => {
  const idle = vi.getTimerCount()
  const ear = await begin()
  await advanceTo(1000)
  expect(refreshes).toEqual([300, 600, 900])
  // A re-INVITE of the peer's agrees anew, and the wait for the next refresh begins again.
  await reinvites(['a=sendonly'])
  await advanceTo(1060)
  await reinvites(['a=sendrecv'])
  answers = [refuse('491 Request Pending'), agree, () => {}, agree]
  await advanceTo(1700)
  // Glare is tried again after 4 s; one that is lost is sent again after T1.
  expect(refreshes.slice(3)).toEqual([1360, 1364, 1664, 1664.5])
  answers = [refuse('422 Session Interval Too Small', ['Min-SE: 800'])]
  await advanceTo(3600)
  // For as long as the peer wants it from then on.
  expect(refreshes.slice(7).map(Math.round)).toEqual([1965, 1965, 2365, 2765, 3165, 3565])
  expect(leg.stats().packets_lost).toBe(0)
  if (WITH_SOUND) {
    // 20 ms each, but for the minute on hold.
    expect(Math.abs(leg.stats().packets_sent - (3600 - 60) * 50)).toBeLessThanOrEqual(2)
    expect(ear.frames).toBeGreaterThan(3400)
  }
  expect(bench.rig.server.stats()).toMatchObject({ dialogs: 1, faults: 0 })
  const over = leg.hangup('agent_hangup')
  await settle()
  await over
  expect(endedAt).toBe(3600)
  // The state that answers retransmissions is gone as well.
  vi.advanceTimersByTime(60 * SECOND)
  await settle()
  expect(bench.rig.server.stats()).toMatchObject({ dialogs: 0, transactions: 0, faults: 0 })
  expect(vi.getTimerCount()).toBe(idle)
}, 180_000)

it.each([
  ['481 Call/Transaction Does Not Exist', 300],
  ['408 Request Timeout', 300],
  ['500 Broken', 568],
])(
  'a refresh that is answered by %s ends the call at %i s',
  async (status, endsAt) => {
    await begin()
    answers = [refuse(status)]
    await advanceTo(endsAt + 2)
    expect(await leg.ended).toMatchObject({ by: 'network', reason: 'connection_lost' })
    expect(refreshes).toEqual([300])
    expect(Math.abs(endedAt - endsAt)).toBeLessThan(1)
  },
  30_000,
)
