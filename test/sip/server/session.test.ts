/** Session timers (RFC 4028), with seconds shortened to a few milliseconds. */
import { afterEach, describe, expect, it } from 'vitest'
import {
  agreeAsServer,
  deadAfter,
  keepHeaders,
  refreshAfter,
  sessionExpires,
} from '../../../sip/server/session-plan.ts'
import { headerOf, type SipRequest, type SipResponse } from '../../../sip/text/message.ts'
import { Caller, type Peer, reply, SDP } from '../peer.ts'
import { type App, Rig, type SrfDialog } from '../rig.ts'

let rig: Rig
let app: App
let peer: Peer
afterEach(() => rig.close())

async function serve(second: number): Promise<void> {
  rig = await Rig.start({ timers: { second } })
  app = await rig.app()
  peer = await rig.udpPeer()
}

const uri = (): string => `sip:agent@127.0.0.1:${rig.udpPort}`
const OURS = SDP.replace('40000', '15000')
const TIMER = ['Supported: timer', 'Session-Expires: 1200']
const contact = (): string => `Contact: <sip:bob@127.0.0.1:${peer.port}>`

async function incoming(
  extra: readonly string[],
  headers: object = {},
): Promise<{ caller: Caller; dialog: SrfDialog }> {
  const answered = new Promise<SrfDialog>(resolve =>
    app.invite((req, res) => void app.createUAS(req, res, { localSdp: OURS, headers }).then(resolve)),
  )
  const caller = new Caller(peer, uri())
  caller.invite(SDP, extra)
  return { caller, dialog: await answered }
}

describe('a session refreshed by the caller', () => {
  it('is negotiated, and lasts while refreshed', async () => {
    await serve(1)
    const { caller, dialog } = await incoming(TIMER)
    const ok = await caller.answered()
    expect(headerOf(ok, 'Session-Expires')).toBe('1200;refresher=uac')
    expect(headerOf(ok, 'Require')).toBe('timer')
    caller.ack()
    let ended = ''
    dialog.on('destroy', (_req, reason) => {
      ended = reason
    })
    // Past its first 1200 seconds it is alive, since it was refreshed at 600.
    for (let i = 0; i < 3; i++) {
      await new Promise(resolve => setTimeout(resolve, 600))
      caller.request('UPDATE', TIMER)
      expect(headerOf(await peer.response(200, 'UPDATE'), 'Session-Expires')).toBe('1200;refresher=uac')
    }
    expect(ended).toBe('')
    const bye = await peer.request('BYE')
    expect(headerOf(bye, 'Reason')).toContain('Session timer expired')
    reply(peer, bye, '200 OK')
    while (ended === '') await new Promise(resolve => setImmediate(resolve))
    expect(ended).toBe('Session timer expired')
  })

  it('rejects short intervals: 422', async () => {
    await serve(1)
    const caller = new Caller(peer, uri())
    caller.invite(SDP, ['Supported: timer', 'Session-Expires: 30'])
    expect(headerOf(await caller.answered(422), 'Min-SE')).toBe('90')
  })
})

describe('a session refreshed by us', () => {
  it('uses re-INVITE with our last SDP, retries after glare, and ends after a timeout', async () => {
    await serve(1)
    const { caller } = await incoming(['Session-Expires: 600;refresher=uas', 'Supported: timer'])
    expect(headerOf(await caller.answered(), 'Session-Expires')).toBe('600;refresher=uas')
    caller.ack()
    const first = await peer.request('INVITE')
    expect(first.body.toString()).toBe(OURS)
    expect(headerOf(first, 'Session-Expires')).toBe('600;refresher=uac')
    reply(peer, first, '491 Request Pending')
    await peer.request('ACK')
    const second = await peer.request('INVITE')
    reply(
      peer,
      second,
      '200 OK',
      [contact(), 'Content-Type: application/sdp', 'Session-Expires: 600;refresher=uac'],
      SDP,
    )
    expect(headerOf(await peer.request('ACK'), 'CSeq')).toBe(headerOf(second, 'CSeq')!.replace('INVITE', 'ACK'))
    reply(peer, await peer.request('INVITE'), '481 Call/Transaction Does Not Exist')
    const bye = await peer.request('BYE')
    expect(headerOf(bye, 'Reason')).toContain('Session timer expired')
  })

  it("uses UPDATE where supported, with the peer's interval", async () => {
    await serve(1)
    const calling = app.createUAC(`sip:bob@127.0.0.1:${peer.port}`, {
      localSdp: OURS,
      headers: { Supported: 'timer', 'Session-Expires': '600' },
    })
    const invite = await peer.request('INVITE')
    expect(headerOf(invite, 'Session-Expires')).toBe('600')
    reply(
      peer,
      invite,
      '200 OK',
      [
        contact(),
        'Allow: INVITE, ACK, BYE, UPDATE',
        'Session-Expires: 600;refresher=uac',
        'Content-Type: application/sdp',
      ],
      SDP,
    )
    const dialog = await calling
    await peer.request('ACK')
    const update = await peer.request('UPDATE')
    expect(update.body.length).toBe(0)
    reply(peer, update, '422 Session Interval Too Small', ['Min-SE: 700'])
    const longer = await peer.request('UPDATE')
    expect(headerOf(longer, 'Session-Expires')).toBe('700;refresher=uac')
    reply(peer, longer, '200 OK', [contact(), 'Session-Expires: 700;refresher=uac'])
    const modified = dialog.modify(OURS)
    const reinvite = await peer.request('INVITE')
    expect(headerOf(reinvite, 'Session-Expires')).toBe('700;refresher=uac')
    reply(peer, reinvite, '200 OK', [contact(), 'Content-Type: application/sdp'], SDP)
    await modified
    // Its answer ended the timer: nothing comes any more, and nothing is left.
    await peer.request('ACK')
    const gone = dialog.destroy()
    reply(peer, await peer.request('BYE'), '200 OK')
    await gone
  })
})

describe('refresher', () => {
  const request = (method: string, ...headers: [string, string][]): SipRequest => ({
    kind: 'request',
    method,
    uri: 'sip:a@b',
    headers,
    body: Buffer.alloc(0),
  })
  const ok = (...headers: [string, string][]): SipResponse => ({
    kind: 'response',
    status: 200,
    reason: 'OK',
    headers,
    body: Buffer.alloc(0),
  })
  const timer: [string, string] = ['Supported', 'timer']

  it.each<[string, [string, string][], [string, string][], { seconds: number; weRefresh: boolean } | null]>([
    ['nobody, when nobody asks', [timer], [], null],
    ['the caller, when it offers', [timer, ['Session-Expires', '200']], [], { seconds: 200, weRefresh: false }],
    ['we, when it says so', [timer, ['Session-Expires', '200;refresher=uas']], [], { seconds: 200, weRefresh: true }],
    ['we, when it knows no timers', [['Session-Expires', '200']], [], { seconds: 200, weRefresh: true }],
    [
      'whom the application says',
      [timer],
      [['Session-Expires', '300;refresher=uas']],
      { seconds: 300, weRefresh: true },
    ],
    ['not more often than the RFC allows', [['Session-Expires', '10']], [], { seconds: 90, weRefresh: true }],
  ])('%s', (_name, asked, answered, agreed) => {
    expect(agreeAsServer(request('INVITE', ...asked), ok(...answered)).agreed).toEqual(agreed)
  })

  it('headers are read and written with care', () => {
    expect(sessionExpires(ok(['Session-Expires', ' 1800 ; Refresher=UAS']))).toEqual({
      seconds: 1800,
      refresher: 'uas',
    })
    expect(sessionExpires(ok(['Session-Expires', 'soon']))).toBeNull()
    const agreed = { seconds: 100, weRefresh: false }
    expect(keepHeaders(agreed, request('INVITE', timer))).toEqual([['Session-Expires', '100;refresher=uas']])
    expect(keepHeaders(agreed, request('INVITE', ['Session-Expires', '5']))).toEqual([])
    expect(keepHeaders(null, request('INVITE'))).toEqual([])
    expect([refreshAfter(1800, 0), refreshAfter(1800, 1), deadAfter(1800), deadAfter(90)]).toEqual([900, 895, 1768, 60])
  })
})

it('lasts an hour with refreshes and re-INVITEs', async () => {
  await serve(2)
  const { caller, dialog } = await incoming(['Session-Expires: 600;refresher=uas', 'Supported: timer'])
  await caller.answered()
  caller.ack()
  dialog.on('modify', (req, res) => res.send(200, { body: req.body }))
  const end = performance.now() + 3600 * 2
  let refreshes = 0
  let held = 0
  for (;;) {
    const invite = await peer.request('INVITE')
    reply(
      peer,
      invite,
      '200 OK',
      [contact(), 'Content-Type: application/sdp', 'Session-Expires: 600;refresher=uac'],
      SDP,
    )
    await peer.request('ACK')
    refreshes += 1
    if (performance.now() > end) break
    // The peer's own re-INVITE in between: hold and resume.
    caller.request(
      'INVITE',
      ['Content-Type: application/sdp', 'Session-Expires: 600;refresher=uas', 'Supported: timer'],
      SDP,
    )
    await peer.response(200, 'INVITE')
    caller.ack()
    held += 1
  }
  expect(refreshes).toBeGreaterThan(9)
  expect(held).toBeGreaterThan(7)
  const gone = dialog.destroy()
  reply(peer, await peer.request('BYE'), '200 OK')
  await gone
  expect(rig.server.stats()).toMatchObject({ dialogs: 0, faults: 0 })
})
