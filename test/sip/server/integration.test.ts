/** The server between drachtio-srf and scripted SIP peers, all on loopback. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { headerOf, listOf, type SipRequest } from '../../../sip/text/message.ts'
import { Caller, type Peer, reply, SDP } from '../peer.ts'
import { type App, Rig, SECRET, type SrfDialog, type SrfMessage, type SrfRequest, type SrfResponse } from '../rig.ts'

let rig: Rig
let app: App

beforeEach(async () => {
  rig = await Rig.start()
  app = await rig.app()
})
afterEach(() => rig.close())

const uri = (): string => `sip:agent@127.0.0.1:${rig.udpPort}`
const OUR_SDP = SDP.replace('40000', '15000')

const claimantsOf = new WeakMap<App, (call: [SrfRequest, SrfResponse]) => void>()

/** The next INVITE the application gets. drachtio-srf keeps every handler, and the first one takes all. */
function nextInvite(): Promise<[SrfRequest, SrfResponse]> {
  const taking = app
  if (!claimantsOf.has(taking)) taking.invite((req, res) => claimantsOf.get(taking)?.([req, res]))
  return new Promise(resolve => claimantsOf.set(taking, resolve))
}

function nextOf<T>(subscribe: (resolve: (value: T) => void) => void): Promise<T> {
  return new Promise(subscribe)
}

async function answeredCall(peer: Peer): Promise<{ caller: Caller; dialog: SrfDialog }> {
  const invite = nextInvite()
  const caller = new Caller(peer, uri())
  caller.invite()
  const [req, res] = await invite
  const dialog = await app.createUAS(req, res, { localSdp: OUR_SDP })
  await caller.answered()
  caller.ack()
  return { caller, dialog }
}

describe('an inbound call', () => {
  it('receives 100 at once, rings, is answered, and ended by the caller', async () => {
    const peer = await rig.udpPeer()
    const invite = nextInvite()
    const caller = new Caller(peer, uri())
    caller.invite()
    const trying = await peer.response(100)
    expect(headerOf(trying, 'To')).not.toContain('tag=')
    const [req, res] = await invite
    expect(req.receivedOn).toBe(`127.0.0.1:${rig.udpPort}`)
    res.send(180)
    const ringing = await peer.response(180)
    expect(headerOf(ringing, 'Via')).toContain(`rport=${peer.port}`)
    const dialog = await app.createUAS(req, res, { localSdp: OUR_SDP })
    const ok = await caller.answered()
    expect(ok.body.toString()).toBe(OUR_SDP)
    expect(headerOf(ok, 'Contact')).toBe(`<sip:127.0.0.1:${rig.udpPort}>`)
    expect(headerOf(ok, 'To')).toBe(headerOf(ringing, 'To'))
    const acked = nextOf<SrfRequest>(resolve => dialog.on('ack', resolve))
    caller.ack()
    await acked
    const ended = nextOf<string>(resolve => dialog.on('destroy', (_req, reason: unknown) => resolve(String(reason))))
    caller.request('BYE')
    expect(await ended).toBe('normal release')
    await peer.response(200, 'BYE')
    expect(rig.server.stats().dialogs).toBe(0)
  })

  it('is rejected; the response is retransmitted until ACK', async () => {
    await rig.close()
    rig = await Rig.start({ timers: { t1: 20, t2: 80, t4: 50 } })
    app = await rig.app()
    const peer = await rig.udpPeer()
    app.invite((_req, res) => res.send(486, { headers: { 'X-Why': 'lunch' } }))
    const caller = new Caller(peer, uri())
    caller.invite()
    expect(headerOf(await caller.answered(486), 'X-Why')).toBe('lunch')
    await peer.response(486)
    await peer.response(486)
    caller.ack(true)
  })

  it('is canceled: 200 for CANCEL, 487 for INVITE, and the application is notified', async () => {
    const peer = await rig.udpPeer()
    const invite = nextInvite()
    const caller = new Caller(peer, uri())
    caller.invite()
    const [req, res] = await invite
    res.send(180)
    await peer.response(180)
    const canceled = nextOf<void>(resolve => req.on('cancel', () => resolve()))
    caller.cancel()
    await peer.response(200, 'CANCEL')
    await caller.answered(487)
    caller.ack(true)
    await canceled
    const error = await nextOf<unknown>(resolve => res.send(200, { body: OUR_SDP }, resolve))
    expect(error).toBe('Server error: Response not sent due to unknown transaction')
    expect(rig.server.stats().dialogs).toBe(0)
  })

  it('absorbs retransmissions of INVITE and BYE', async () => {
    const peer = await rig.udpPeer()
    let seen = 0
    const first = nextOf<SrfResponse>(resolve =>
      app.invite((_req, res) => {
        seen += 1
        resolve(res)
      }),
    )
    const caller = new Caller(peer, uri())
    const head = caller.head('INVITE', { branch: 'z9hG4bK-same', cseq: 1, extra: ['Content-Type: application/sdp'] })
    for (let i = 0; i < 3; i++) peer.send(head, SDP)
    const res = await first
    res.send(404)
    await peer.response(404)
    peer.send(head, SDP)
    await peer.response(404)
    expect(seen).toBe(1)
  })

  it('without ACK retransmits the 200, then ends the call', async () => {
    await rig.close()
    rig = await Rig.start({ timers: { t1: 10, t2: 40, t4: 50 } })
    app = await rig.app()
    const peer = await rig.udpPeer()
    const invite = nextInvite()
    const caller = new Caller(peer, uri())
    caller.invite()
    const [req, res] = await invite
    const dialog = await app.createUAS(req, res, { localSdp: OUR_SDP })
    const ended = nextOf<string>(resolve => dialog.on('destroy', (_req, reason: unknown) => resolve(String(reason))))
    await caller.answered()
    for (let i = 0; i < 3; i++) await peer.response(200, 'INVITE')
    const bye = await peer.request('BYE')
    expect(headerOf(bye, 'Reason')).toContain('text="ACK timeout"')
    reply(peer, bye, '200 OK')
    expect(await ended).toBe('ACK timeout')
  })

  it('supports re-INVITE, INFO, OPTIONS and MESSAGE in the dialog, both ways', async () => {
    const peer = await rig.udpPeer()
    const { caller, dialog } = await answeredCall(peer)
    dialog.on('modify', (req, res) => res.send(200, { body: req.body.replace('40000', '15002') }))
    caller.request('INVITE', ['Content-Type: application/sdp'], SDP.replace('a=rtpmap', 'a=sendonly\r\na=rtpmap'))
    expect((await peer.response(200, 'INVITE')).body.toString()).toContain('15002')
    caller.ack()
    const info = nextOf<string>(resolve =>
      dialog.on('info', (req, res) => {
        res.send(200)
        resolve(req.body)
      }),
    )
    caller.request('INFO', ['Content-Type: application/dtmf-relay'], 'Signal=5\r\nDuration=160\r\n')
    expect(await info).toContain('Signal=5')
    await peer.response(200, 'INFO')
    caller.request('OPTIONS')
    await peer.response(200, 'OPTIONS')
    caller.request('MESSAGE', ['Content-Type: text/plain'], 'hello')
    await peer.response(200, 'MESSAGE')

    for (const method of ['INFO', 'NOTIFY', 'MESSAGE', 'REFER'] as const) {
      const sent = dialog.request({ method, headers: { 'X-Test': method, 'Content-Type': 'text/plain' }, body: 'x' })
      const request = await peer.request(method)
      expect(request.uri).toBe(`sip:caller@127.0.0.1:${peer.port}`)
      expect(headerOf(request, 'To')).toContain(`tag=${caller.tag}`)
      reply(peer, request, '202 Accepted')
      expect((await sent).status).toBe(202)
    }
    const modified = dialog.modify(OUR_SDP)
    const reinvite = await peer.request('INVITE')
    reply(
      peer,
      reinvite,
      '200 OK',
      [`Contact: <sip:caller@127.0.0.1:${peer.port}>`, 'Content-Type: application/sdp'],
      SDP,
    )
    expect(await modified).toBe(SDP)
    expect(headerOf(await peer.request('ACK'), 'CSeq')).toBe(headerOf(reinvite, 'CSeq')!.replace('INVITE', 'ACK'))
    const gone = dialog.destroy()
    reply(peer, await peer.request('BYE'), '200 OK')
    await gone
  })

  it('keeps the final response after a 180 to a re-INVITE', async () => {
    const peer = await rig.udpPeer()
    const { caller, dialog } = await answeredCall(peer)
    dialog.on('modify', (_req, res) => {
      res.send(180, {}, () => res.send(200, { body: OUR_SDP }))
    })
    caller.request('INVITE', ['Content-Type: application/sdp'], SDP)
    await peer.response(180, 'INVITE')
    await peer.response(200, 'INVITE')
    caller.ack()
  })

  it('queues a second re-INVITE (§14.2)', async () => {
    const peer = await rig.udpPeer()
    const { caller, dialog } = await answeredCall(peer)
    const asked = nextOf<SrfResponse>(resolve => dialog.on('modify', (_req, res) => resolve(res)))
    caller.request('INVITE', ['Content-Type: application/sdp'], SDP)
    const res = await asked
    caller.request('INVITE', ['Content-Type: application/sdp'], SDP)
    expect(headerOf(await peer.response(500, 'INVITE'), 'Retry-After')).toMatch(/^\d+$/)
    res.send(200, { body: OUR_SDP })
    await peer.response(200, 'INVITE')
    const modifying = dialog.modify(OUR_SDP)
    const ours = await peer.request('INVITE')
    caller.request('INVITE', ['Content-Type: application/sdp'], SDP)
    await peer.response(491, 'INVITE')
    reply(peer, ours, '488 Not Acceptable Here')
    await expect(modifying).rejects.toThrow()
  })

  it('follows the route set', async () => {
    const peer = await rig.udpPeer()
    const invite = nextInvite()
    const caller = new Caller(peer, uri())
    const routes = [`Record-Route: <sip:127.0.0.1:${peer.port};lr;p=1>`, 'Record-Route: <sip:192.0.2.77;lr;p=2>']
    caller.invite(SDP, routes)
    const [req, res] = await invite
    const dialog = await app.createUAS(req, res, { localSdp: OUR_SDP })
    expect(listOf(await caller.answered(), 'Record-Route')).toHaveLength(2)
    caller.ack()
    const gone = dialog.destroy()
    const bye = await peer.request('BYE')
    expect(listOf(bye, 'Route')).toEqual([`<sip:127.0.0.1:${peer.port};lr;p=1>`, '<sip:192.0.2.77;lr;p=2>'])
    reply(peer, bye, '200 OK')
    await gone
  })

  it('retransmits a reliable 180 until its PRACK (RFC 3262)', async () => {
    await rig.close()
    rig = await Rig.start({ timers: { t1: 20, t2: 80, t4: 50 } })
    app = await rig.app()
    const peer = await rig.udpPeer()
    const invite = nextInvite()
    const caller = new Caller(peer, uri())
    caller.invite(SDP, ['Supported: 100rel'])
    const [, res] = await invite
    const acked = nextOf<void>(resolve => app.use('prack', (_req, prack) => resolve(prack.send(200))))
    res.send(180, { headers: { Require: '100rel' } })
    const ringing = await caller.answered(180)
    await peer.response(180)
    const rseq = Number(headerOf(ringing, 'RSeq'))
    caller.request('PRACK', [`RAck: ${rseq + 1} 1 INVITE`])
    await peer.response(481, 'PRACK')
    caller.request('PRACK', [`RAck: ${rseq} 1 INVITE`])
    await acked
    await peer.response(200, 'PRACK')
    const plain = new Caller(peer, uri())
    const second = nextInvite()
    plain.invite()
    const [, other] = await second
    const error = await nextOf<unknown>(resolve => other.send(180, { headers: { Require: '100rel' } }, resolve))
    expect(error).toBe('Server error: peer does not support 100rel')
  })

  it('answers 504 without a PRACK', async () => {
    await rig.close()
    rig = await Rig.start({ timers: { t1: 5, t2: 20, t4: 20 } })
    app = await rig.app()
    const peer = await rig.udpPeer()
    const invite = nextInvite()
    const caller = new Caller(peer, uri())
    caller.invite(SDP, ['Supported: 100rel'])
    const [, res] = await invite
    res.send(180, { headers: { Require: '100rel' } })
    await caller.answered(504)
    caller.ack(true)
  })

  it('is answered on its TCP connection', async () => {
    const peer = await rig.tcpPeer()
    const { caller, dialog } = await answeredCall(peer)
    const gone = dialog.destroy()
    const bye = await peer.request('BYE')
    expect(headerOf(bye, 'Via')).toContain('SIP/2.0/TCP')
    reply(peer, bye, '200 OK')
    await gone
    expect(caller.toTag).not.toBeNull()
  })
})

describe('unroutable requests', () => {
  it.each([
    ['INVITE', 503],
    ['OPTIONS', 503],
    ['BYE', 481],
    ['UPDATE', 481],
    ['CANCEL', 481],
    ['REFER', 405],
    ['FANCY', 501],
  ])('%s: %i', async (method, status) => {
    const peer = await rig.udpPeer()
    new Caller(peer, uri()).request(method)
    await peer.response(status, method)
  })

  it('a tagged INVITE of no dialog: 481', async () => {
    const peer = await rig.udpPeer()
    const caller = new Caller(peer, uri())
    caller.toTag = 'unknown'
    caller.invite()
    await peer.response(481, 'INVITE')
  })

  it('an unknown URI scheme: 416; a CSeq of another method or no From: 400; another version: 505', async () => {
    const peer = await rig.udpPeer()
    const caller = new Caller(peer, uri())
    const head = caller.head('OPTIONS', { cseq: 1 })
    peer.send(['OPTIONS soap.beep://x SIP/2.0', ...head.slice(1)])
    await peer.response(416)
    peer.send(head.map(line => line.replace('CSeq: 1 OPTIONS', 'CSeq: 1 INVITE').replace('z9hG', 'z9hGb')))
    await peer.response(400)
    peer.send(head.filter(line => !line.startsWith('From')))
    await peer.response(400)
    peer.send([head[0]!.replace('2.0', '7.0'), ...head.slice(1)])
    await peer.response(505)
  })

  it('the same call by another way: 482', async () => {
    const peer = await rig.udpPeer()
    const invite = nextInvite()
    const caller = new Caller(peer, uri())
    caller.invite()
    await invite
    peer.send(caller.head('INVITE'))
    await peer.response(482)
  })

  it('answers 503 to a pending INVITE when its application dies, and ends its calls after a grace period', async () => {
    await rig.close()
    rig = await Rig.start({ orphanGraceMs: 20 })
    app = await rig.app()
    const peer = await rig.udpPeer()
    await answeredCall(peer)
    const second = new Caller(peer, uri())
    const dying = nextInvite()
    const other = await rig.app()
    void dying
    second.invite()
    await peer.response(100)
    other.disconnect()
    app.disconnect()
    await second.answered(503)
    const bye = await peer.request('BYE')
    expect(headerOf(bye, 'Reason')).toContain('application gone')
    reply(peer, bye, '200 OK')
  })
})

describe('an outbound call', () => {
  const dial = (peer: Peer, options: object = {}, progress: object = {}): Promise<SrfDialog> =>
    app.createUAC(`sip:bob@127.0.0.1:${peer.port}`, { localSdp: OUR_SDP, ...options }, progress)
  const contact = (peer: Peer): string => `Contact: <sip:bob@127.0.0.1:${peer.port}>`
  const accept = (peer: Peer, invite: SipRequest): void =>
    reply(peer, invite, '200 OK', [contact(peer), 'Content-Type: application/sdp'], SDP)

  it('rings, is answered, acknowledged again when the 200 comes again, and ended', async () => {
    const peer = await rig.udpPeer()
    const rung: number[] = []
    const calling = dial(peer, { callingNumber: '1000' }, { cbProvisional: (res: SrfMessage) => rung.push(res.status) })
    const invite = await peer.request('INVITE')
    expect(headerOf(invite, 'From')).toMatch(new RegExp(`^<sip:1000@127\\.0\\.0\\.1:${rig.udpPort}>;tag=`))
    expect(headerOf(invite, 'Contact')).toBe(`<sip:1000@127.0.0.1:${rig.udpPort}>`)
    expect(headerOf(invite, 'To')).toBe(`<sip:bob@127.0.0.1:${peer.port}>`)
    reply(peer, invite, '100 Trying')
    reply(peer, invite, '180 Ringing')
    accept(peer, invite)
    const dialog = await calling
    expect(rung).toEqual([180])
    expect(dialog.id).toBe(`${headerOf(invite, 'Call-ID')};from-tag=${/tag=(.*)$/.exec(headerOf(invite, 'From')!)![1]}`)
    expect(headerOf(await peer.request('ACK'), 'CSeq')).toBe(headerOf(invite, 'CSeq')!.replace('INVITE', 'ACK'))
    accept(peer, invite)
    await peer.request('ACK')
    const gone = dialog.destroy()
    reply(peer, await peer.request('BYE'), '200 OK')
    await gone
    expect(rig.server.stats().dialogs).toBe(0)
  })

  it('acknowledges and ends a second fork', async () => {
    const peer = await rig.udpPeer()
    const calling = dial(peer)
    const invite = await peer.request('INVITE')
    accept(peer, invite)
    await calling
    await peer.request('ACK')
    reply(peer, invite, '200 OK', [contact(peer), 'Content-Type: application/sdp'], SDP, 'other')
    expect(headerOf(await peer.request('ACK'), 'To')).toContain('tag=other')
    const bye = await peer.request('BYE')
    expect(headerOf(bye, 'To')).toContain('tag=other')
    reply(peer, bye, '200 OK')
  })

  it('is ended by the far end', async () => {
    const peer = await rig.udpPeer()
    const calling = dial(peer)
    const invite = await peer.request('INVITE')
    accept(peer, invite)
    const dialog = await calling
    await peer.request('ACK')
    const ended = nextOf<void>(resolve => dialog.on('destroy', () => resolve()))
    const remote = new Caller(peer, invite.uri)
    peer.send([
      `BYE sip:127.0.0.1:${rig.udpPort} SIP/2.0`,
      `Via: SIP/2.0/UDP 127.0.0.1:${peer.port};branch=z9hG4bKbye`,
      `From: ${headerOf(invite, 'To')};tag=peer`,
      `To: ${headerOf(invite, 'From')}`,
      `Call-ID: ${headerOf(invite, 'Call-ID')}`,
      'CSeq: 1 BYE',
    ])
    expect(remote.toTag).toBeNull()
    await ended
    await peer.response(200, 'BYE')
  })

  it('is rejected with 486, which the server acknowledges', async () => {
    const peer = await rig.udpPeer()
    const calling = dial(peer)
    const invite = await peer.request('INVITE')
    reply(peer, invite, '486 Busy Here')
    await expect(calling).rejects.toMatchObject({ status: 486 })
    const ack = await peer.request('ACK')
    expect(headerOf(ack, 'Via')).toBe(headerOf(invite, 'Via'))
    expect(rig.server.stats().dialogs).toBe(0)
  })

  it('is canceled after a provisional response (§9.1)', async () => {
    const peer = await rig.udpPeer()
    let sent: SrfRequest | null = null
    const calling = dial(peer, {}, { cbRequest: (_error: unknown, req: SrfRequest) => (sent = req) })
    const invite = await peer.request('INVITE')
    sent!.cancel()
    reply(peer, invite, '100 Trying')
    const cancel = await peer.request('CANCEL')
    expect(headerOf(cancel, 'Via')).toBe(headerOf(invite, 'Via'))
    reply(peer, cancel, '200 OK')
    reply(peer, invite, '487 Request Terminated')
    await expect(calling).rejects.toMatchObject({ status: 487 })
    await peer.request('ACK')
  })

  it('answers a challenge with credentials', async () => {
    const peer = await rig.udpPeer()
    const calling = dial(peer, { auth: { username: 'foo', password: 'bar' } })
    const first = await peer.request('INVITE')
    reply(peer, first, '407 Proxy Authentication Required', [
      'Proxy-Authenticate: Digest realm="r", nonce="n", qop="auth"',
    ])
    await peer.request('ACK')
    const second = await peer.request('INVITE')
    expect(headerOf(second, 'Proxy-Authorization')).toContain('username="foo"')
    expect(headerOf(second, 'Call-ID')).toBe(headerOf(first, 'Call-ID'))
    expect(headerOf(second, 'From')).toBe(headerOf(first, 'From'))
    accept(peer, second)
    await calling
    expect(headerOf(await peer.request('ACK'), 'Proxy-Authorization')).toContain('username="foo"')
  })

  it('over TCP', async () => {
    const { createServer } = await import('node:net')
    const { StreamFramer } = await import('../../../sip/text/framer.ts')
    const far = createServer(socket => {
      const framer = new StreamFramer()
      socket.on('error', () => {})
      socket.on('data', chunk => {
        for (const event of framer.push(chunk)) {
          if (event.type === 'message')
            socket.write(event.bytes.toString().replace(/^.*SIP\/2\.0\r\n/, 'SIP/2.0 603 Decline\r\n'))
        }
      })
    }).listen(0, '127.0.0.1')
    await once(far, 'listening')
    const { port } = far.address() as { port: number }
    await expect(app.createUAC(`sip:x@127.0.0.1:${port};transport=tcp`, { localSdp: OUR_SDP })).rejects.toMatchObject({
      status: 603,
    })
    far.close()
  })

  it('to a closed TCP port fails at once: 503', async () => {
    await expect(app.createUAC('sip:x@127.0.0.1:1;transport=tcp', { localSdp: OUR_SDP })).rejects.toMatchObject({
      status: 503,
    })
  })

  it('to a closed UDP port fails soon: 503', async () => {
    const gone = await rig.udpPeer()
    gone.close()
    const error = await dial(gone).catch((caught: { status: number; res: SrfMessage }) => caught)
    expect(error).toMatchObject({ status: 503, res: { source_address: '' } })
  })

  it('to a name that does not exist: 503', async () => {
    await expect(app.createUAC('sip:x@nowhere.invalid', { localSdp: OUR_SDP })).rejects.toMatchObject({ status: 503 })
  })

  it('to the server itself, or to no URI: refused', async () => {
    await expect(app.createUAC(uri(), { localSdp: OUR_SDP })).rejects.toThrow('can not send request to myself')
    await expect(app.createUAC('sip:a@b@c', { localSdp: OUR_SDP })).rejects.toThrow('invalid request-uri')
  })

  it('unanswered: 408', async () => {
    await rig.close()
    rig = await Rig.start({ timers: { t1: 5, t2: 20, t4: 20 } })
    app = await rig.app()
    const peer = await rig.udpPeer()
    await expect(dial(peer)).rejects.toMatchObject({ status: 408 })
  })

  it('REGISTER is sent and received', async () => {
    const peer = await rig.udpPeer()
    const headers = { To: 'sip:d@example.com', From: 'sip:d@example.com', Contact: '<sip:d@localhost>;expires=3600' }
    const req = await app.request(`sip:127.0.0.1:${peer.port}`, { method: 'REGISTER', headers })
    const done = nextOf<SrfMessage>(resolve => req.on('response', resolve as never))
    const register = await peer.request('REGISTER')
    expect(headerOf(register, 'Contact')).toBe(`<sip:d@127.0.0.1:${rig.udpPort}>;expires=3600`)
    reply(peer, register, '200 OK')
    expect((await done).status).toBe(200)
    app.use('register', (_req, res) => res.send(200, { headers: { Expires: '60' } }))
    new Caller(peer, uri()).request('REGISTER')
    expect(headerOf(await peer.response(200, 'REGISTER'), 'Expires')).toBe('60')
  })
})

describe('other peers', () => {
  it('ignores garbage, truncated datagrams and keep-alives', async () => {
    const peer = await rig.udpPeer()
    const noise = await rig.udpPeer()
    const whole = Buffer.from(new Caller(noise, uri()).head('INVITE').join('\r\n'))
    const litter = (): void => {
      for (let i = 0; i < 50; i++) {
        noise.raw(randomBytes(Math.floor(Math.random() * 1200)))
        noise.raw(whole.subarray(0, Math.floor(Math.random() * whole.length)))
        noise.raw('\r\n\r\n')
      }
    }
    for (let i = 0; i < 5; i++) {
      litter()
      const { caller, dialog } = await answeredCall(peer)
      litter()
      const ended = nextOf<void>(resolve => dialog.on('destroy', () => resolve()))
      caller.request('BYE')
      await ended
      await peer.response(200, 'BYE')
    }
    expect(rig.server.stats()).toMatchObject({ dialogs: 0, apps: 1, faults: 0 })
    expect(rig.server.counters.malformed).toBeGreaterThan(0)
  })

  it('closes a broken TCP stream only', async () => {
    const peer = await rig.tcpPeer()
    const bad = connect(rig.tcpPort, '127.0.0.1')
    bad.on('error', () => {})
    bad.write('INVITE sip:x SIP/2.0\r\nContent-Length: pony\r\n\r\n')
    await once(bad, 'close')
    await answeredCall(peer)
  })

  it('ignores sources that are not allowed; the list can change', async () => {
    rig.server.setAllowedSources(['192.0.2.0/24'])
    const peer = await rig.udpPeer()
    const refused = connect(rig.tcpPort, '127.0.0.1')
    refused.on('error', () => {})
    await once(refused, 'close')
    new Caller(peer, uri()).request('OPTIONS')
    await vi.waitUntil(() => rig.server.counters.disallowed === 2)
    rig.server.setAllowedSources(['192.0.2.0/24', '127.0.0.1'])
    const allowed = new Caller(peer, uri())
    allowed.request('OPTIONS')
    const answer = await peer.response(503)
    expect(headerOf(answer, 'Call-ID')).toBe(allowed.callId)
    expect(() => rig.server.setAllowedSources(['nonsense'])).toThrow('Not an IP address or a CIDR network')
  })

  it('distributes calls round-robin', async () => {
    const second = await rig.app()
    const got: string[] = []
    app.use('options', (_req, res) => {
      got.push('first')
      res.send(200)
    })
    second.use('options', (_req, res) => {
      got.push('second')
      res.send(200)
    })
    const peer = await rig.udpPeer()
    const ask = async (): Promise<void> => {
      new Caller(peer, uri()).request('OPTIONS')
      await peer.next((m): m is never => m.kind === 'response')
    }
    await ask()
    got.length = 0
    for (let i = 0; i < 4; i++) await ask()
    expect(got.filter(name => name === 'first')).toHaveLength(2)
  })

  it('rejects a wrong secret and disconnects silent clients', async () => {
    const socket = connect(rig.adminPort, '127.0.0.1')
    socket.write('26#1|authenticate|wrong|tags1')
    const [data] = (await once(socket, 'data')) as [Buffer]
    expect(data.toString()).toMatch(/^\d+#[0-9a-f-]{36}\|response\|1\|NO\|incorrect secret$/)
    await once(socket, 'close')
    const silent = connect(rig.adminPort, '127.0.0.1')
    silent.on('error', () => {})
    silent.write('6#1|ping')
    await once(silent, 'close')
    expect(SECRET).not.toBe('wrong')
  })

  it('leaves nothing behind', async () => {
    await rig.close()
    rig = await Rig.start({ timers: { t1: 5, t2: 20, t4: 20 } })
    app = await rig.app()
    const peer = await rig.udpPeer()
    const { caller, dialog } = await answeredCall(peer)
    const ended = nextOf<void>(resolve => dialog.on('destroy', () => resolve()))
    caller.request('BYE')
    await ended
    new Caller(peer, uri()).request('FANCY')
    const canceled = new Caller(peer, uri())
    const invite = nextInvite()
    canceled.invite()
    await invite
    canceled.cancel()
    await canceled.answered(487)
    canceled.ack(true)
    await expect(app.createUAC(`sip:x@127.0.0.1:${peer.port}`, { localSdp: OUR_SDP })).rejects.toThrow()
    await vi.waitUntil(() => rig.server.stats().transactions === 0, { timeout: 5000 })
    expect(rig.server.stats()).toMatchObject({ dialogs: 0, pending: 0 })
  })

  it('accepts large frames of an application', async () => {
    const peer = await rig.udpPeer()
    const { dialog } = await answeredCall(peer)
    const body = 'x'.repeat(30_000)
    const sent = dialog.request({ method: 'MESSAGE', headers: { 'Content-Type': 'text/plain' }, body })
    const message = await peer.request('MESSAGE')
    expect(message.body.length).toBe(30_000)
    reply(peer, message, '200 OK')
    expect((await sent).status).toBe(200)
  })
})
