/**
 * Several next hops for one request (RFC 3263 §4.3), and the switch from UDP to TCP for long ones (RFC 3261 §18.1.1).
 */
import { afterEach, describe, expect, it } from 'vitest'
import type { Resolver, SrvRecord } from '../../../sip/server/resolve.ts'
import type { SipServerOptions } from '../../../sip/server/server.ts'
import { headerOf } from '../../../sip/text/message.ts'
import { SDP } from '../peer.ts'
import { type App, Rig, type SrfDialog, type SrfMessage, type SrfRequest } from '../rig.ts'
import { Far, type Heard } from './far.ts'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** A carrier with several hosts behind one name, in the order given. */
const carrier = (ports: readonly number[], transport = 'udp'): Resolver => ({
  addresses: async () => ['127.0.0.1'],
  naptr: async () => [],
  srv: async name =>
    name === `_sip._${transport}.carrier.example`
      ? ports.map((port, priority): SrvRecord => ({ name: `host${priority}`, port, priority, weight: 0 }))
      : [],
})

/** For what waits for silence; everything else has the usual time to answer. */
const QUICK = { t1: 20, t2: 80, t4: 50 }

async function serve(options: Partial<SipServerOptions>): Promise<{ rig: Rig; app: App }> {
  const rig = await Rig.start(options)
  closers.push(() => rig.close())
  return { rig, app: await rig.app() }
}

async function far(kind: 'udp' | 'tcp' = 'udp', port = 0): Promise<Far> {
  const party = await Far[kind]('127.0.0.1', port)
  closers.push(() => party.close())
  return party
}

const accept = (heard: Heard, party: Far, extra = ''): void =>
  heard.answer('200 OK', [`Contact: <sip:bob@127.0.0.1:${party.port}${extra}>`, 'Content-Type: application/sdp'], SDP)
const call = (app: App, options: object = {}, progress: object = {}): Promise<SrfDialog> =>
  app.createUAC('sip:bob@carrier.example', { localSdp: SDP, ...options }, progress)
const callId = (heard: Heard): string | null => headerOf(heard.request, 'Call-ID')

describe('the next host is tried', () => {
  it('after 503, with the same Call-ID, and skips the first host for a while', async () => {
    const [a, b] = [await far(), await far()]
    const { app } = await serve({ resolver: carrier([a.port, b.port]) })
    const calling = call(app)
    const first = await a.next('INVITE')
    first.answer('503 Service Unavailable', ['Retry-After: 20'])
    const second = await b.next('INVITE')
    for (const name of ['Call-ID', 'From', 'To', 'CSeq', 'Contact'])
      expect(headerOf(second.request, name)).toBe(headerOf(first.request, name))
    expect(headerOf(second.request, 'Via')).not.toBe(headerOf(first.request, 'Via'))
    expect(second.request.body.toString()).toBe(SDP)
    accept(second, b)
    const dialog = await calling
    await b.next('ACK')
    const gone = dialog.destroy()
    ;(await b.next('BYE')).answer('200 OK')
    await gone
    const again = call(app)
    ;(await b.next('INVITE')).answer('486 Busy Here')
    await expect(again).rejects.toMatchObject({ status: 486 })
    expect(a.heard.filter(({ request }) => request.method === 'INVITE')).toEqual([])
  })

  it('when the connection is refused, over UDP and TCP', async () => {
    for (const kind of ['udp', 'tcp'] as const) {
      const [a, b] = [await far(kind), await far(kind)]
      const { app } = await serve({ resolver: carrier([a.port, b.port], kind) })
      a.close()
      const calling = app.createUAC(`sip:bob@carrier.example;transport=${kind}`, { localSdp: SDP })
      ;(await b.next('INVITE')).answer('486 Busy Here')
      await expect(calling).rejects.toMatchObject({ status: 486 })
    }
  })

  it('when the first is silent; a late ringing fork is canceled', async () => {
    const [a, b] = [await far(), await far()]
    const { app } = await serve({ timers: QUICK, resolver: carrier([a.port, b.port]) })
    const calling = call(app)
    const silent = await a.next('INVITE')
    const second = await b.next('INVITE')
    silent.answer('180 Ringing')
    const cancel = await a.next('CANCEL')
    expect(headerOf(cancel.request, 'Via')).toBe(headerOf(silent.request, 'Via'))
    cancel.answer('200 OK')
    silent.answer('487 Request Terminated')
    await a.next('ACK')
    accept(second, b)
    expect((await calling).id).toContain(callId(second))
  })

  it('acknowledges and ends a late answer', async () => {
    const [a, b] = [await far(), await far()]
    const { app } = await serve({ timers: QUICK, resolver: carrier([a.port, b.port]) })
    const calling = call(app)
    const silent = await a.next('INVITE')
    accept(await b.next('INVITE'), b)
    await calling
    accept(silent, a)
    await a.next('ACK')
    ;(await a.next('BYE')).answer('200 OK')
  })

  it('not after a rejection, and the last 503 is returned', async () => {
    const [a, b] = [await far(), await far()]
    const { app } = await serve({ resolver: carrier([a.port, b.port]) })
    const refused = call(app)
    ;(await a.next('INVITE')).answer('404 Not Found')
    await expect(refused).rejects.toMatchObject({ status: 404 })
    expect(b.heard).toEqual([])
    const failing = call(app)
    ;(await a.next('INVITE')).answer('503 Service Unavailable')
    ;(await b.next('INVITE')).answer('503 Service Unavailable')
    await expect(failing).rejects.toMatchObject({ status: 503 })
  })

  it('not after a cancel', async () => {
    const [a, b] = [await far(), await far()]
    const { app } = await serve({ timers: { t1: 50, t2: 200, t4: 100 }, resolver: carrier([a.port, b.port]) })
    let sent: SrfRequest | null = null
    const calling = call(app, {}, { cbRequest: (_error: unknown, request: SrfRequest) => (sent = request) })
    await a.next('INVITE')
    sent!.cancel()
    await expect(calling).rejects.toMatchObject({ status: 408 })
    expect(b.heard).toEqual([])
  })

  it('for REGISTER as for INVITE', async () => {
    const [a, b] = [await far(), await far()]
    const { app } = await serve({ resolver: carrier([a.port, b.port]) })
    const sent = app.request('sip:carrier.example', { method: 'REGISTER', headers: { Contact: '<sip:d@localhost>' } })
    const answered = sent.then(req => new Promise<SrfMessage>(resolve => req.on('response', resolve as never)))
    ;(await a.next('REGISTER')).answer('503 Service Unavailable')
    ;(await b.next('REGISTER')).answer('200 OK')
    expect((await answered).status).toBe(200)
  })
})

describe('a request too long for UDP', () => {
  const long = SDP.replace('s=-', `s=-\r\ni=${'x'.repeat(1500)}`)
  const dial = (app: App, port: number): Promise<SrfDialog> =>
    app.createUAC(`sip:bob@127.0.0.1:${port}`, { localSdp: long })

  it('uses TCP, in Via and Contact, too; a short one UDP', async () => {
    const tcp = await far('tcp')
    const udp = await far('udp', tcp.port)
    const { app, rig } = await serve({})
    const calling = dial(app, tcp.port)
    const invite = await tcp.next('INVITE')
    expect(headerOf(invite.request, 'Via')).toContain('SIP/2.0/TCP')
    expect(headerOf(invite.request, 'Contact')).toBe(`<sip:127.0.0.1:${rig.tcpPort};transport=tcp>`)
    accept(invite, tcp, ';transport=tcp')
    await calling
    await tcp.next('ACK')
    expect(udp.heard).toEqual([])
    const short = app.createUAC(`sip:bob@127.0.0.1:${udp.port}`, { localSdp: SDP })
    ;(await udp.next('INVITE')).answer('486 Busy Here')
    await expect(short).rejects.toMatchObject({ status: 486 })
  })

  it('falls back to UDP when TCP is refused, at once the next time', async () => {
    const udp = await far('udp')
    const { app } = await serve({})
    for (let i = 0; i < 2; i++) {
      const calling = dial(app, udp.port)
      const invite = await udp.next('INVITE')
      expect(headerOf(invite.request, 'Via')).toContain('SIP/2.0/UDP')
      expect(invite.request.body.length).toBeGreaterThan(1500)
      invite.answer('486 Busy Here')
      await expect(calling).rejects.toMatchObject({ status: 486 })
      await udp.next('ACK')
    }
  })

  it('uses UDP when the server has no TCP', async () => {
    const tcp = await far('tcp')
    const udp = await far('udp', tcp.port)
    const { app } = await serve({ listen: [{ protocol: 'udp', host: '127.0.0.1', port: 0 }] })
    const calling = dial(app, udp.port)
    ;(await udp.next('INVITE')).answer('486 Busy Here')
    await expect(calling).rejects.toMatchObject({ status: 486 })
    expect(tcp.connections).toBe(0)
  })

  it('inside a call too', async () => {
    const tcp = await far('tcp')
    const udp = await far('udp', tcp.port)
    const { app } = await serve({})
    const calling = app.createUAC(`sip:bob@127.0.0.1:${udp.port}`, { localSdp: SDP })
    accept(await udp.next('INVITE'), udp)
    const dialog = await calling
    await udp.next('ACK')
    const sent = dialog.request({ method: 'INFO', headers: { 'Content-Type': 'text/plain' }, body: 'x'.repeat(2000) })
    ;(await tcp.next('INFO')).answer('200 OK')
    expect((await sent).status).toBe(200)
    const gone = dialog.destroy()
    ;(await udp.next('BYE')).answer('200 OK')
    await gone
  })
})

it('keeps the order of requests in a dialog during DNS', async () => {
  const party = await far()
  let slow = 20
  const resolver: Resolver = {
    ...carrier([]),
    addresses: async () => {
      // Each answer comes sooner than the one before.
      slow -= 5
      await new Promise(resolve => setTimeout(resolve, slow))
      return ['127.0.0.1']
    },
  }
  const { app } = await serve({ resolver })
  const calling = app.createUAC(`sip:bob@127.0.0.1:${party.port}`, { localSdp: SDP })
  const invite = await party.next('INVITE')
  accept(
    { ...invite, answer: (status, extra = [], body) => invite.answer(status, [...extra, route(party)], body) },
    party,
  )
  const dialog = await calling
  void dialog.request({ method: 'INFO', headers: { 'Content-Type': 'text/plain' }, body: '1' })
  void dialog.destroy().catch(() => {})
  const methods: string[] = []
  while (methods.at(-1) !== 'BYE') {
    const heard = await party.any()
    if (heard.request.method !== methods.at(-1)) methods.push(heard.request.method)
    if (heard.request.method !== 'ACK') heard.answer('200 OK')
  }
  expect(methods).toEqual(['ACK', 'INFO', 'BYE'])
})

const route = (party: Far): string => `Record-Route: <sip:proxy.carrier.example:${party.port};lr>`
