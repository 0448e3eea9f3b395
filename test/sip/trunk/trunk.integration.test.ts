/** The edge on a real server, with scripted far ends. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Leg } from '../../../media/ports/leg.ts'
import { headerOf, type SipRequest } from '../../../sip/text/message.ts'
import { lacks } from '../../support/needs.ts'
import { until } from '../../support/world.ts'
import { Caller, type Peer, reply } from '../peer.ts'
import { audioPort, Bench, callPlan, Ear, FarMedia, trunkPlan } from './bench.ts'

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

const contact = (): string => `Contact: <sip:far@127.0.0.1:${peer.port}>`
const SDP_TYPE = 'Content-Type: application/sdp'
const accept = (invite: SipRequest, sdp = far.sdp()): void => reply(peer, invite, '200 OK', [contact(), SDP_TYPE], sdp)

async function restart(...options: Parameters<typeof Bench.start>): Promise<void> {
  await bench.close()
  bench = await Bench.start(...options)
  peer = await bench.rig.udpPeer()
}

async function dialed(): Promise<{ leg: Leg; invite: SipRequest }> {
  const { result } = bench.dial(peer)
  const invite = await peer.request('INVITE')
  accept(invite)
  const outcome = await result
  if (!outcome.ok) throw new Error(outcome.failure.reason)
  await peer.request('ACK')
  return { leg: outcome.leg, invite }
}

/** A call from the peer, answered. */
async function answered(body = far.sdp()): Promise<{ leg: Leg; caller: Caller; sdp: string }> {
  bench.setTrunks(trunkPlan(peer))
  const caller = new Caller(peer, `sip:+12025550100@127.0.0.1:${bench.rig.udpPort}`)
  caller.invite(body)
  const leg = await (await bench.offer()).answer()
  if (leg === null) throw new Error('no leg')
  const ok = await caller.answered()
  return { leg, caller, sdp: ok.body.toString() }
}

describe('an outbound call', () => {
  it('offers our number and SDP, carries audio both ways, and is hung up', async () => {
    const { result, rings } = bench.dial(peer)
    const invite = await peer.request('INVITE')
    expect(invite.uri).toBe(`sip:+12025550199@127.0.0.1:${peer.port}`)
    expect(headerOf(invite, 'From')).toContain('sip:+12025550100@')
    reply(peer, invite, '180 Ringing')
    reply(peer, invite, '180 Ringing')
    accept(invite)
    const outcome = await result
    expect(outcome.ok).toBe(true)
    if (!outcome.ok) return
    expect(rings).toHaveLength(1)
    await peer.request('ACK')
    const ear = new Ear()
    outcome.leg.attach(ear)
    far.speak(audioPort(invite.body), 20)
    await Promise.all([far.heard(5), ear.until(() => ear.frames >= 3)])
    const hungUp = outcome.leg.hangup('agent_hangup')
    reply(peer, await peer.request('BYE'), '200 OK')
    await hungUp
    await outcome.leg.hangup('api_hangup')
    expect(await outcome.leg.ended).toEqual({ by: 'local', reason: 'agent_hangup' })
    expect(outcome.leg.stats()).toMatchObject({ codec: 'PCMU' })
    expect(bench.rig.server.stats().dialogs).toBe(0)
  })

  it.each([
    ['486 Busy Here', { status: 'busy', reason: 'busy', sipCode: 486 }],
    ['404 Not Found', { status: 'failed', reason: 'number_unknown', sipCode: 404 }],
    ['480 Gone Fishing', { status: 'no_answer', reason: 'no_answer', sipCode: 480 }],
    ['503 No Circuit', { status: 'failed', reason: 'carrier_congestion', sipCode: 503 }],
    ['302 Elsewhere', { status: 'failed', reason: 'carrier_error', sipCode: 302 }],
    ['401 No Credentials Here', { status: 'failed', reason: 'auth_failed', sipCode: 401 }],
  ])('%s', async (line, failure) => {
    const { result } = bench.dial(peer)
    reply(peer, await peer.request('INVITE'), line, ['Contact: <sip:x@192.0.2.1>'])
    expect(await result).toEqual({ ok: false, failure })
    await peer.request('ACK')
    expect(peer.received.filter(message => message.kind === 'request' && message.method === 'INVITE')).toEqual([])
  })

  it('answers challenges of its realm only', async () => {
    const over = { username: 'user', password: 'pass', realm: 'carrier' }
    const first = bench.dial(peer, over)
    reply(peer, await peer.request('INVITE'), '407 Prove It', ['Proxy-Authenticate: Digest realm="carrier", nonce="n"'])
    const second = await peer.request('INVITE')
    expect(headerOf(second, 'Proxy-Authorization')).toContain('username="user"')
    expect(headerOf(second, 'From')).toContain('@127.0.0.1>')
    reply(peer, second, '486 Busy Here')
    expect((await first.result).ok).toBe(false)
    const other = bench.dial(peer, over)
    const invite = await peer.request('INVITE')
    reply(peer, invite, '407 Prove It', ['Proxy-Authenticate: Digest realm="thief", nonce="n"'])
    expect(await other.result).toMatchObject({ failure: { reason: 'auth_failed', sipCode: 407 } })
  })

  it('fails with auth_failed after two attempts', async () => {
    const { result } = bench.dial(peer, { username: 'user', password: 'wrong' })
    for (let i = 0; i < 2; i++) {
      reply(peer, await peer.request('INVITE'), '401 Prove It', ['WWW-Authenticate: Digest realm="r", nonce="n"'])
    }
    expect(await result).toMatchObject({ failure: { status: 'failed', reason: 'auth_failed', sipCode: 401 } })
  })

  it('cancels after the ring timeout: no_answer', async () => {
    const { result } = bench.dial(peer, {}, { ring_timeout_ms: 150 })
    const invite = await peer.request('INVITE')
    reply(peer, invite, '180 Ringing')
    const cancel = await peer.request('CANCEL')
    reply(peer, cancel, '200 OK')
    reply(peer, invite, '487 Request Terminated')
    expect(await result).toEqual({ ok: false, failure: { status: 'no_answer', reason: 'no_answer', sipCode: 487 } })
  })

  it('is canceled by the API: CANCEL, canceled', async () => {
    const { result, abort } = bench.dial(peer)
    const invite = await peer.request('INVITE')
    reply(peer, invite, '183 Session Progress', [contact(), SDP_TYPE], far.sdp())
    abort.abort()
    const cancel = await peer.request('CANCEL')
    reply(peer, cancel, '200 OK')
    reply(peer, invite, '487 Request Terminated')
    expect(await result).toEqual({
      ok: false,
      failure: { status: 'canceled', reason: 'canceled_by_api', sipCode: 487 },
    })
  })

  it('acknowledges and ends a call when CANCEL and 200 cross', async () => {
    const { result, abort } = bench.dial(peer)
    const invite = await peer.request('INVITE')
    reply(peer, invite, '180 Ringing')
    abort.abort()
    const cancel = await peer.request('CANCEL')
    accept(invite)
    reply(peer, cancel, '481 Too Late')
    await peer.request('ACK')
    reply(peer, await peer.request('BYE'), '200 OK')
    expect(await result).toMatchObject({ failure: { status: 'canceled' } })
  })

  it('sends nothing when aborted first', async () => {
    const signal = AbortSignal.abort()
    const trunk = trunkPlan(peer)
    bench.setTrunks(trunk)
    const result = await bench.edge.dialer.dial({ plan: callPlan(trunk.id), signal, onRinging: () => {} })
    expect(result).toMatchObject({ failure: { status: 'canceled', reason: 'canceled_by_api' } })
    expect(peer.received).toEqual([])
  })

  it('ends an answer without a common codec', async () => {
    for (const [sdp, reason] of [
      [far.sdp([], '18'), 'no_common_codec'],
      ['nonsense', 'bad_sdp'],
    ] as const) {
      const { result } = bench.dial(peer)
      accept(await peer.request('INVITE'), sdp)
      await peer.request('ACK')
      reply(peer, await peer.request('BYE'), '200 OK')
      expect(await result).toMatchObject({ failure: { status: 'failed', reason } })
    }
  })

  it('treats an answer without Contact as no call', async () => {
    const { result } = bench.dial(peer)
    const invite = await peer.request('INVITE')
    reply(peer, invite, '200 OK', [SDP_TYPE], far.sdp())
    await peer.request('ACK')
    reply(peer, await peer.request('BYE'), '200 OK')
    expect(await result).toMatchObject({ failure: { status: 'failed', reason: 'carrier_error' } })
    expect(bench.rig.server.stats().dialogs).toBe(0)
  })

  it('distinguishes a dead trunk from no answer', async () => {
    await restart({ timers: { t1: 5, t2: 20, t4: 20 } })
    const { result } = bench.dial(peer)
    expect(await result).toEqual({
      ok: false,
      failure: { status: 'failed', reason: 'trunk_unreachable', sipCode: null },
    })
    const refused = bench.dial({ port: 1 } as Peer, { transport: 'tcp' })
    expect(await refused.result).toMatchObject({ failure: { reason: 'trunk_unreachable' } })
    const nowhere = bench.dial(peer, { host: 'nowhere.invalid' })
    expect(await nowhere.result).toMatchObject({ failure: { reason: 'trunk_unreachable' } })
  })

  it('goes by the outbound proxy', async () => {
    const { result } = bench.dial(peer, { host: 'carrier.invalid', outbound_proxy: `127.0.0.1:${peer.port}` })
    const invite = await peer.request('INVITE')
    expect(invite.uri).toBe(`sip:+12025550199@carrier.invalid:${peer.port}`)
    reply(peer, invite, '486 Busy Here')
    expect((await result).ok).toBe(false)
  })

  it('reports trunk_unknown', async () => {
    for (const id of [null, randomUUID()]) {
      const request = { plan: callPlan(id), signal: new AbortController().signal, onRinging: () => {} }
      expect(await bench.edge.dialer.dial(request)).toMatchObject({ failure: { reason: 'trunk_unknown' } })
    }
  })

  it('waits for a trunk the engine learns of later', async () => {
    const trunk = trunkPlan(peer)
    const request = { plan: callPlan(trunk.id), signal: new AbortController().signal, onRinging: () => {} }
    const result = bench.edge.dialer.dial(request)
    bench.setTrunks()
    bench.setTrunks(trunk)
    reply(peer, await peer.request('INVITE'), '486 Busy Here')
    expect(await result).toMatchObject({ failure: { reason: 'busy' } })
  })

  it('is canceled while it waits for its trunk', async () => {
    const abort = new AbortController()
    const result = bench.edge.dialer.dial({ plan: callPlan(randomUUID()), signal: abort.signal, onRinging: () => {} })
    abort.abort()
    expect(await result).toMatchObject({ failure: { status: 'canceled' } })
  })

  it('is ended by the far end', async () => {
    const { leg, invite } = await dialed()
    peer.send([
      `BYE sip:127.0.0.1:${bench.rig.udpPort} SIP/2.0`,
      `Via: SIP/2.0/UDP 127.0.0.1:${peer.port};branch=z9hG4bKbye`,
      `From: ${headerOf(invite, 'To')};tag=peer`,
      `To: ${headerOf(invite, 'From')}`,
      `Call-ID: ${headerOf(invite, 'Call-ID')}`,
      'CSeq: 1 BYE',
    ])
    await peer.response(200, 'BYE')
    expect(await leg.ended).toEqual({ by: 'remote', reason: 'caller_hangup' })
  })

  it('ends when RTP stops', async () => {
    await restart({}, { mediaTimeoutMs: 100 })
    const { leg } = await dialed()
    expect(await leg.ended).toEqual({ by: 'network', reason: 'media_timeout' })
    reply(peer, await peer.request('BYE'), '200 OK')
  })

  it('keeps numbers and credentials out of the log', async () => {
    const { result } = bench.dial(peer, { username: 'user77', password: 'pass77' })
    reply(peer, await peer.request('INVITE'), '403 Forbidden')
    await result
    const log = bench.log.lines.join('\n')
    expect(log).toContain('outbound call failed')
    expect(log).not.toMatch(/2025550|user77|pass77/)
  })
})

describe('an inbound call', () => {
  it('is offered with its numbers, carries audio and DTMF, and is ended by the caller', async () => {
    const { leg, caller, sdp } = await answered()
    caller.ack()
    const ear = new Ear()
    leg.attach(ear)
    far.speak(audioPort(sdp), 20)
    await Promise.all([far.heard(5), ear.until(() => ear.frames >= 3)])
    caller.request('INFO', ['Content-Type: application/dtmf-relay'], 'Signal=7\r\nDuration=100\r\n')
    await ear.until(() => ear.keys.length > 0)
    expect(ear.keys).toEqual(['7'])
    await peer.response(200, 'INFO')
    caller.request('BYE')
    await peer.response(200, 'BYE')
    expect(await leg.ended).toEqual({ by: 'remote', reason: 'caller_hangup' })
  })

  it('reports caller and callee', async () => {
    const trunk = trunkPlan(peer)
    bench.setTrunks(trunk)
    const caller = new Caller(peer, `sip:12025550100@127.0.0.1:${bench.rig.udpPort}`)
    caller.invite(far.sdp(), ['P-Asserted-Identity: "A, B" <sip:+442079460000@carrier.example>, <tel:+442079460000>'])
    const offer = await bench.offer()
    expect(offer).toMatchObject({
      called: '+12025550100',
      caller: '+442079460000',
      source: '127.0.0.1',
      trunkId: trunk.id,
    })
    offer.reject('unknown_number')
    offer.reject('internal_error')
    await caller.answered(404)
    caller.ack(true)
    expect(await offer.answer()).toBeNull()
  })

  it('is hung up by us', async () => {
    const { leg, caller } = await answered()
    caller.ack()
    const hungUp = leg.hangup('agent_hangup')
    reply(peer, await peer.request('BYE'), '200 OK')
    await hungUp
    expect(await leg.ended).toEqual({ by: 'local', reason: 'agent_hangup' })
  })

  it('is canceled by the caller before the answer', async () => {
    bench.setTrunks(trunkPlan(peer))
    const caller = new Caller(peer, `sip:+12025550100@127.0.0.1:${bench.rig.udpPort}`)
    caller.invite(far.sdp())
    const offer = await bench.offer()
    const gaveUp = once(offer.signal, 'abort')
    caller.cancel()
    await caller.answered(487)
    caller.ack(true)
    await gaveUp
    expect(await offer.answer()).toBeNull()
  })

  it.each([
    ['from nowhere known', 403, () => far.sdp(), false],
    ['with SDP that is none', 400, () => 'v=0\r\nnonsense\r\n', true],
    ['with no codec of ours', 488, () => far.sdp([], '18 3'), true],
    ['with video only', 488, () => far.sdp().replace('m=audio', 'm=video'), true],
    ['with SRTP only', 488, () => far.sdp().replace('RTP/AVP', 'RTP/SAVP'), true],
  ])('%s: %i', async (_name, status, body, known) => {
    bench.setTrunks(trunkPlan(peer, known ? {} : { host: '192.0.2.1' }))
    const caller = new Caller(peer, `sip:+12025550100@127.0.0.1:${bench.rig.udpPort}`)
    caller.invite(body())
    await caller.answered(status)
    caller.ack(true)
  })

  it('without Contact: 400', async () => {
    bench.setTrunks(trunkPlan(peer))
    const caller = new Caller(peer, `sip:+12025550100@127.0.0.1:${bench.rig.udpPort}`)
    const head = caller.head('INVITE', { cseq: 1, extra: [SDP_TYPE] }).filter(line => !line.startsWith('Contact'))
    peer.send(head, far.sdp())
    await caller.answered(400)
  })

  it('receives our offer, and answers it in the ACK', async () => {
    const { leg, caller, sdp } = await answered('')
    expect(sdp).toContain('RTP/AVP 0 8 101')
    peer.send(caller.head('ACK', { extra: [SDP_TYPE] }), far.sdp([], '8'))
    const ear = new Ear()
    leg.attach(ear)
    // Audio from us shows that the ACK has arrived; earlier audio is not accepted.
    await far.heard(3)
    far.speak(audioPort(sdp), 20, 8)
    await ear.until(() => ear.frames >= 3)
    expect(leg.stats().codec).toBe('PCMA')
  })

  it('ends after an unusable ACK', async () => {
    const { leg, caller } = await answered('')
    peer.send(caller.head('ACK', { extra: [SDP_TYPE] }), far.sdp([], '18'))
    reply(peer, await peer.request('BYE'), '200 OK')
    expect((await leg.ended).reason).toBe('no_common_codec')
  })

  it('supports hold, resume, moves and late offers', async () => {
    const { leg, caller, sdp } = await answered()
    caller.ack()
    leg.attach(new Ear())
    await far.heard(2)
    const reinvite = async (body: string): Promise<string> => {
      caller.request('INVITE', body === '' ? [] : [SDP_TYPE], body)
      const ok = await peer.response(200, 'INVITE')
      return ok.body.toString()
    }
    const held = await reinvite(far.sdp(['a=sendonly']))
    caller.ack()
    expect(held).toContain('a=recvonly')
    expect(audioPort(held)).toBe(audioPort(sdp))
    expect(versionOf(held)).toBe(versionOf(sdp) + 1)
    const moved = await FarMedia.open()
    expect(await reinvite(moved.sdp())).toContain('a=sendrecv')
    caller.ack()
    await moved.heard(3)
    expect(await reinvite('')).toContain('RTP/AVP 0 8 101')
    peer.send(caller.head('ACK', { extra: [SDP_TYPE] }), far.sdp())
    const before = far.packets
    await far.heard(before + 3)
    caller.request('INVITE', [SDP_TYPE], far.sdp([], '18'))
    await peer.response(488, 'INVITE')
    moved.close()
  })

  it('is not transferred: 405', async () => {
    const { caller } = await answered()
    caller.ack()
    caller.request('REFER', ['Refer-To: <sip:x@192.0.2.1>'])
    await peer.response(405, 'REFER')
  })

  it('answers OPTIONS', async () => {
    new Caller(peer, `sip:127.0.0.1:${bench.rig.udpPort}`).request('OPTIONS')
    expect(headerOf(await peer.response(200, 'OPTIONS'), 'Allow')).toContain('INVITE')
  })
})

const versionOf = (sdp: string): number => Number(/^o=\S+ \S+ (\d+)/m.exec(sdp)?.[1])

describe('the signalling server', () => {
  it('disconnects: legs and attempts end, and the edge reports it', async () => {
    const { leg } = await dialed()
    const { result } = bench.dial(peer)
    await peer.request('INVITE')
    await bench.rig.server.close()
    expect(await leg.ended).toEqual({ by: 'network', reason: 'connection_lost' })
    expect(await result).toMatchObject({ failure: { status: 'failed', reason: 'internal_error' } })
    expect(bench.edge.isUp()).toBe(false)
    const again = bench.dial(peer)
    expect(await again.result).toMatchObject({ failure: { reason: 'internal_error' } })
  })

  it('comes back: the edge is up again and takes calls', async () => {
    const { SipServer } = await import('../../../sip/server/server.ts')
    await bench.rig.server.close()
    await bench.until(() => !bench.edge.isUp())
    const again = new SipServer({
      admin: { host: '127.0.0.1', port: bench.rig.adminPort },
      secret: 'cymru',
      listen: [{ protocol: 'udp', host: '127.0.0.1', port: bench.rig.udpPort }],
    })
    const early = bench.dial(peer)
    await again.start()
    await peer.request('INVITE') // it had waited
    early.abort.abort()
    await early.result
    await bench.until(() => bench.edge.isUp())
    const { caller } = await answered()
    caller.ack()
    await again.close()
  })
})

describe('registration', () => {
  const account = { mode: 'register', username: 'user', password: 'pass', host: '127.0.0.1' } as const

  it('registers, refreshes under one Call-ID, reports, and unregisters', async () => {
    const trunk = trunkPlan(peer, account)
    bench.setTrunks(trunk)
    const first = await peer.request('REGISTER')
    expect(headerOf(first, 'To')).toBe('<sip:user@127.0.0.1>')
    expect(headerOf(first, 'Contact')).toBe(`<sip:user@127.0.0.1:${bench.rig.udpPort}>;expires=300`)
    reply(peer, first, '401 Prove It', ['WWW-Authenticate: Digest realm="r", nonce="n"'])
    const second = await peer.request('REGISTER')
    expect(headerOf(second, 'Authorization')).toContain('username="user"')
    expect(headerOf(second, 'Call-ID')).toBe(headerOf(first, 'Call-ID'))
    reply(peer, second, '200 OK', [`${'Contact'}: <sip:user@127.0.0.1:${bench.rig.udpPort}>;expires=60`])
    await bench.until(() => bench.statuses.at(-1)?.registration === 'registered')
    expect(bench.statuses.map(status => status.registration)).toEqual(['registering', 'registered'])
    const closing = bench.edge.close()
    const last = await peer.request('REGISTER')
    expect(headerOf(last, 'Contact')).toContain(';expires=0')
    expect(Number.parseInt(headerOf(last, 'CSeq')!, 10)).toBeGreaterThan(Number.parseInt(headerOf(second, 'CSeq')!, 10))
    reply(peer, last, '200 OK')
    await closing
    expect(bench.statuses.at(-1)).toMatchObject({ registration: 'none', trunkId: trunk.id })
  })

  it('reports a rejection, and retries at once with a changed password', async () => {
    bench.setTrunks(trunkPlan(peer, account))
    reply(peer, await peer.request('REGISTER'), '403 Forbidden')
    await bench.until(() => bench.statuses.at(-1)?.registration === 'failed')
    expect(bench.statuses.at(-1)?.lastError).toBe('The carrier does not allow this user to register.')
    bench.setTrunks(trunkPlan(peer, { ...account, password: 'better' }))
    reply(peer, await peer.request('REGISTER'), '200 OK')
    await bench.until(() => bench.statuses.at(-1)?.registration === 'registered')
  })

  it('asks for longer after 423', async () => {
    bench.setTrunks(trunkPlan(peer, account))
    reply(peer, await peer.request('REGISTER'), '423 Interval Too Brief', ['Min-Expires: 1800'])
    const longer = await peer.request('REGISTER')
    expect(headerOf(longer, 'Contact')).toContain(';expires=1800')
    reply(peer, longer, '200 OK')
  })

  it("is skipped for ip trunks and other engines' trunks", async () => {
    await restart({}, { mayRegister: () => false })
    bench.setTrunks(trunkPlan(peer, account), trunkPlan(peer, { ...account, mode: 'ip' }))
    const { caller } = await answered()
    caller.ack()
    expect(bench.statuses).toEqual([])
  })
})

describe.skipIf(lacks('sipp'))('with sipp', () => {
  const children: ChildProcess[] = []
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
  })

  function sipp(...args: string[]): ChildProcess {
    const cwd = mkdtempSync(join(tmpdir(), 'sipp-'))
    const child = spawn('sipp', [...args, '-i', '127.0.0.1', '-nostdin'], { cwd, stdio: 'ignore' })
    children.push(child)
    return child
  }

  async function freePort(): Promise<number> {
    const socket = createSocket('udp4').bind(0, '127.0.0.1')
    await once(socket, 'listening')
    const { port } = socket.address()
    socket.close()
    await once(socket, 'close')
    return port
  }

  /** By the kernel's table, so that sipp gets no message that it did not ask for. */
  const listens = (port: number) =>
    readFileSync('/proc/net/udp', 'utf8').includes(`:${port.toString(16).toUpperCase().padStart(4, '0')} `)

  it('as the one called', async () => {
    const port = await freePort()
    const uas = sipp('-sn', 'uas', '-p', String(port), '-m', '1')
    const exit = once(uas, 'exit')
    await until(() => listens(port), 'sipp to listen')
    const { result } = bench.dial({ port } as Peer)
    const outcome = await result
    expect(outcome).toMatchObject({ ok: true })
    if (outcome.ok) await outcome.leg.hangup('agent_hangup')
    expect(await exit).toEqual([0, null])
  })

  it('as the one who calls, three times at once', async () => {
    bench.setTrunks(trunkPlan(peer))
    const args = [
      '-sn',
      'uac',
      '-s',
      '+12025550100',
      '-m',
      '3',
      '-r',
      '30',
      '-d',
      '100',
      '-p',
      String(await freePort()),
    ]
    const exit = once(sipp(...args, `127.0.0.1:${bench.rig.udpPort}`), 'exit')
    const legs = await Promise.all([1, 2, 3].map(async () => (await bench.offer()).answer()))
    expect(await Promise.all(legs.map(leg => leg?.ended))).toEqual(
      legs.map(() => ({ by: 'remote', reason: 'caller_hangup' })),
    )
    expect(await exit).toEqual([0, null])
  })
})
