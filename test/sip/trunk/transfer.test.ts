/** Blind transfers by REFER, with a scripted carrier. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import type { Clock } from '../../../media/shared/clock.ts'
import { headerOf, type SipRequest } from '../../../sip/text/message.ts'
import type { SipLeg } from '../../../sip/trunk/legs/leg.ts'
import { referTo, sipfragStatus } from '../../../sip/trunk/legs/transfer.ts'
import { Caller, type Peer, reply } from '../peer.ts'
import { Bench, FarMedia, trunkPlan } from './bench.ts'
import { proofIn } from './digest-server.ts'

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

async function restart(over: Parameters<typeof Bench.start>[1]): Promise<void> {
  await bench.close()
  bench = await Bench.start({}, over)
  peer = await bench.rig.udpPeer()
}

/** A call of the peer's, answered. */
async function answered(over: Partial<TrunkPlan> = {}): Promise<{ leg: SipLeg; caller: Caller }> {
  bench.setTrunks(trunkPlan(peer, { from_domain: 'carrier.example', ...over }))
  const caller = new Caller(peer, `sip:+12025550100@127.0.0.1:${bench.rig.udpPort}`)
  caller.invite(far.sdp())
  const leg = await (await bench.offer()).answer()
  await caller.answered()
  caller.ack()
  return { leg: leg as SipLeg, caller }
}

function notify(caller: Caller, frag: string, state = 'active'): void {
  const headers = ['Event: refer', `Subscription-State: ${state}`, 'Content-Type: message/sipfrag;version=2.0']
  caller.request('NOTIFY', headers, `${frag}\r\n`)
}

const accept = (refer: SipRequest) => reply(peer, refer, '202 Accepted')

/** Says goodbye to what is left of the call. */
async function stillThere(leg: SipLeg): Promise<void> {
  const over = leg.hangup('agent_hangup')
  reply(peer, await peer.request('BYE'), '200 OK')
  await over
  expect(await leg.ended).toEqual({ by: 'local', reason: 'agent_hangup' })
}

describe('a transfer', () => {
  it('uses REFER, follows NOTIFY, and ends the call after the answer', async () => {
    const { leg, caller } = await answered()
    const result = leg.transfer!('+1 202 555-0199')
    const refer = await peer.request('REFER')
    expect(headerOf(refer, 'Refer-To')).toBe('<sip:+12025550199@carrier.example>')
    expect(headerOf(refer, 'Referred-By')).toBe('<sip:+12025550100@carrier.example>')
    expect(headerOf(refer, 'Contact')).toContain(`127.0.0.1:${bench.rig.udpPort}`)
    accept(refer)
    notify(caller, 'SIP/2.0 100 Trying')
    await peer.response(200, 'NOTIFY')
    expect(await leg.transfer!('+12025550198')).toMatchObject({ ok: false, code: 'busy' })
    notify(caller, 'SIP/2.0 180 Ringing')
    await peer.response(200, 'NOTIFY')
    notify(caller, 'SIP/2.0 200 OK', 'terminated;reason=noresource')
    await peer.response(200, 'NOTIFY')
    reply(peer, await peer.request('BYE'), '200 OK')
    expect(await result).toEqual({ ok: true })
    expect(await leg.ended).toEqual({ by: 'local', reason: 'transferred' })
  })

  it('succeeds when the first NOTIFY precedes the REFER response', async () => {
    const { leg, caller } = await answered()
    const result = leg.transfer!('+12025550199')
    const refer = await peer.request('REFER')
    notify(caller, 'SIP/2.0 200 OK', 'terminated')
    await peer.response(200, 'NOTIFY')
    reply(peer, await peer.request('BYE'), '200 OK')
    accept(refer)
    expect(await result).toEqual({ ok: true })
  })

  it('succeeds when NOTIFY arrives before the response', async () => {
    const { leg, caller } = await answered()
    const result = leg.transfer!('+12025550199')
    await peer.request('REFER')
    notify(caller, 'SIP/2.0 100 Trying')
    await peer.response(200, 'NOTIFY')
    caller.request('BYE')
    expect(await result).toEqual({ ok: true })
    expect((await leg.ended).reason).toBe('transferred')
  })

  it('succeeds when the carrier hangs up on us', async () => {
    const { leg, caller } = await answered()
    const result = leg.transfer!('+12025550199')
    accept(await peer.request('REFER'))
    notify(caller, 'SIP/2.0 100 Trying')
    await peer.response(200, 'NOTIFY')
    caller.request('BYE')
    expect(await result).toEqual({ ok: true })
    expect(await leg.ended).toEqual({ by: 'remote', reason: 'transferred' })
  })

  it.each(['405 Not Here', '501 Not Ever', '603 No', '403 No', '420 Bad Extension', '500 Broken'])(
    'rejected with %s falls back to a bridge',
    async line => {
      const { leg } = await answered()
      const result = leg.transfer!('+12025550199')
      reply(peer, await peer.request('REFER'), line)
      expect(await result).toMatchObject({ ok: false, code: 'refused' })
      await stillThere(leg)
    },
  )

  it.each([
    ['SIP/2.0 486 Busy Here', 'The line is busy.'],
    ['SIP/2.0 480 Away', 'The phone is switched off or out of reach.'],
    ['SIP/2.0 603 Decline', 'The call was declined.'],
  ])('to an unanswered target (%s) returns to the agent', async (frag, reason) => {
    const { leg, caller } = await answered()
    const result = leg.transfer!('+12025550199')
    accept(await peer.request('REFER'))
    notify(caller, frag, 'terminated;reason=noresource')
    await peer.response(200, 'NOTIFY')
    expect(await result).toEqual({ ok: false, code: 'failed', reason })
    notify(caller, frag)
    await peer.response(481, 'NOTIFY')
    await stillThere(leg)
  })

  it('without further NOTIFY times out, and the call continues', async () => {
    const fast: Clock = {
      now: () => performance.now() * 100,
      wall: () => Date.now(),
      after(ms, run) {
        const timer = setTimeout(run, ms / 100)
        return () => clearTimeout(timer)
      },
    }
    await restart({ clock: fast, mediaTimeoutMs: 40_000 })
    const { leg, caller } = await answered()
    const result = leg.transfer!('+12025550199')
    accept(await peer.request('REFER'))
    notify(caller, 'SIP/2.0 100 Trying', 'terminated;reason=timeout')
    await peer.response(200, 'NOTIFY')
    // The NOTIFY ended the subscription, so the caller is asked by OPTIONS; it does not respond.
    await peer.request('OPTIONS')
    expect(await result).toMatchObject({ ok: false, code: 'unknown' })
    await stillThere(leg)
  })

  it('accepted without NOTIFY probes the call and returns the caller', async () => {
    await restart({ referSilenceMs: 50 })
    const { leg } = await answered({ username: 'user', password: 'pass' })
    const result = leg.transfer!('+12025550199')
    accept(await peer.request('REFER'))
    reply(peer, await peer.request('OPTIONS'), '200 OK')
    expect(await result).toMatchObject({ ok: false, code: 'unknown' })
    await stillThere(leg)
  })

  it('accepted without NOTIFY succeeds when the call is gone', async () => {
    await restart({ referSilenceMs: 50 })
    const { leg } = await answered()
    const result = leg.transfer!('+12025550199')
    accept(await peer.request('REFER'))
    reply(peer, await peer.request('OPTIONS'), '481 No Such Call')
    reply(peer, await peer.request('BYE'), '481 No Such Call')
    expect(await result).toEqual({ ok: true })
    expect(await leg.ended).toEqual({ by: 'local', reason: 'transferred' })
  })

  it('with progress is not probed', async () => {
    await restart({ referSilenceMs: 50 })
    const { leg, caller } = await answered()
    const result = leg.transfer!('+12025550199')
    const refer = await peer.request('REFER')
    notify(caller, 'SIP/2.0 100 Trying')
    await peer.response(200, 'NOTIFY')
    accept(refer)
    await new Promise(resolve => setTimeout(resolve, 150))
    notify(caller, 'SIP/2.0 486 Busy Here', 'terminated;reason=noresource')
    await peer.response(200, 'NOTIFY')
    expect(await result).toMatchObject({ ok: false, code: 'failed' })
    expect(peer.received.filter(message => message.kind === 'request' && message.method === 'OPTIONS')).toEqual([])
    await stillThere(leg)
  })

  it('authenticates the REFER', async () => {
    const { leg } = await answered({ username: 'user', password: 'pass' })
    const result = leg.transfer!('+12025550199')
    const challenge = 'WWW-Authenticate: Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256'
    reply(peer, await peer.request('REFER'), '401 Prove It', [challenge])
    const refer = await peer.request('REFER')
    expect(proofIn(refer, 'pass')?.right).toBe(true)
    expect(headerOf(refer, 'Refer-To')).toContain('+12025550199')
    reply(peer, refer, '405 Not Here')
    expect(await result).toMatchObject({ code: 'refused' })
    await stillThere(leg)
  })

  it('ends when the caller hangs up first', async () => {
    const { leg, caller } = await answered()
    const result = leg.transfer!('+12025550199')
    await peer.request('REFER')
    caller.request('BYE')
    expect(await result).toMatchObject({ ok: false, code: 'gone' })
    expect(await leg.ended).toEqual({ by: 'remote', reason: 'caller_hangup' })
    expect(await leg.transfer!('+12025550199')).toMatchObject({ ok: false, code: 'gone' })
  })

  it('of an outbound call names its caller ID', async () => {
    const { result } = bench.dial(peer, { from_domain: 'carrier.example' })
    const invite = await peer.request('INVITE')
    const headers = [`Contact: <sip:far@127.0.0.1:${peer.port}>`, 'Content-Type: application/sdp']
    reply(peer, invite, '200 OK', headers, far.sdp())
    const outcome = await result
    if (!outcome.ok) throw new Error(outcome.failure.reason)
    const moved = outcome.leg.transfer!('sip:desk@pbx.example')
    const refer = await peer.request('REFER')
    expect(headerOf(refer, 'Refer-To')).toBe('<sip:desk@pbx.example>')
    expect(headerOf(refer, 'Referred-By')).toBe('<sip:+12025550100@carrier.example>')
    reply(peer, refer, '405 Not Here')
    expect((await moved).ok).toBe(false)
    await stillThere(outcome.leg as SipLeg)
  })
})

describe('NOTIFY', () => {
  it('for an unknown subscription is rejected', async () => {
    const { leg, caller } = await answered()
    notify(caller, 'SIP/2.0 200 OK')
    await peer.response(481, 'NOTIFY')
    const result = leg.transfer!('+12025550199')
    accept(await peer.request('REFER'))
    caller.request('NOTIFY', ['Event: presence', 'Subscription-State: active'])
    await peer.response(489, 'NOTIFY')
    notify(caller, 'nonsense')
    await peer.response(400, 'NOTIFY')
    notify(caller, 'SIP/2.0 486 Busy', 'terminated')
    await peer.response(200, 'NOTIFY')
    expect((await result).ok).toBe(false)
    await stillThere(leg)
  })

  it('says how far it is', () => {
    expect(sipfragStatus('SIP/2.0 180 Ringing\r\n')).toBe(180)
    expect(sipfragStatus('SIP/2.0 1800')).toBeNull()
    expect(sipfragStatus(undefined)).toBeNull()
  })
})

describe('transfer target', () => {
  const trunk = trunkPlan({ port: 1 }, { from_domain: 'carrier.example', number_format: 'digits' })

  it.each([
    ['+4930 123-456', 'sip:4930123456@carrier.example'],
    ['tel:+4930123456', 'sip:4930123456@carrier.example'],
    ['112233', 'sip:112233@carrier.example'],
    ['sip:a@b;transport=tcp', 'sip:a@b;transport=tcp'],
    ['sips:a@b', 'sips:a@b'],
    ['somebody', null],
    ['sip:a@b>\r\nX: y', null],
    ['http://a', null],
    ['', null],
  ])('%s', (to, uri) => {
    expect(referTo(to, trunk)).toBe(uri)
  })
})
