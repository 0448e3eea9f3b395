/** Requests that the server answers without an application, those that it passes on, and its reports of ended calls. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { headerOf } from '../../../sip/text/message.ts'
import { Caller, type Peer, reply, SDP } from '../peer.ts'
import { type App, Rig, type SrfDialog, type SrfRequest, type SrfResponse } from '../rig.ts'

let rig: Rig
let app: App
let peer: Peer
beforeEach(async () => {
  rig = await Rig.start({ timers: { t1: 20, t2: 80, t4: 50 } })
  app = await rig.app()
  peer = await rig.udpPeer()
})
afterEach(() => rig.close())

const uri = (): string => `sip:agent@127.0.0.1:${rig.udpPort}`
const OURS = SDP.replace('40000', '15000')
const contact = (): string => `Contact: <sip:bob@127.0.0.1:${peer.port}>`

describe('answers of the server itself', () => {
  it.each(['OPTIONS', 'MESSAGE', 'NOTIFY', 'SUBSCRIBE', 'PUBLISH', 'REGISTER', 'REFER', 'INFO'])(
    'passes %s outside a dialog to the application',
    async method => {
      app.use(method.toLowerCase(), (_req, res) => res.send(method === 'REFER' ? 202 : 200))
      new Caller(peer, uri()).request(method, ['X-Kept: as it came', 'Refer-To: <sip:c@d>', 'Event: presence'])
      await peer.response(method === 'REFER' ? 202 : 200, method)
    },
  )

  it('rejects unknown extensions: 420 with Unsupported', async () => {
    app.use('options', (_req, res) => res.send(200))
    new Caller(peer, uri()).request('OPTIONS', ['Require: timer, nothingSupportsThis', 'Require: norThis'])
    expect(headerOf(await peer.response(420), 'Unsupported')).toBe('nothingSupportsThis, norThis')
    new Caller(peer, uri()).request('OPTIONS', ['Require: timer, Replaces', 'Proxy-Require: not-for-us'])
    await peer.response(200)
  })

  it('accepts Max-Forwards 0 as user agent', async () => {
    app.use('options', (_req, res) => res.send(200))
    peer.send(new Caller(peer, uri()).head('OPTIONS').map(line => line.replace('Forwards: 70', 'Forwards: 0')))
    await peer.response(200)
  })

  it('answers 482 to a merged request (§8.2.2.2)', async () => {
    let seen = 0
    const held: SrfResponse[] = []
    const asked = new Promise<void>(resolve =>
      app.use('message', (_req, res) => {
        seen += 1
        held.push(res)
        resolve()
      }),
    )
    const caller = new Caller(peer, uri())
    peer.send(caller.head('MESSAGE', { cseq: 1 }))
    await asked
    peer.send(caller.head('MESSAGE', { cseq: 1 }))
    await peer.response(482)
    peer.send(caller.head('MESSAGE', { cseq: 2 }))
    while (held.length < 2) await new Promise(resolve => setImmediate(resolve))
    for (const res of held) res.send(200)
    await peer.response(200)
    await peer.response(200)
    expect(seen).toBe(2)
  })

  it('rejects an INVITE without usable Contact: 400', async () => {
    app.invite((_req, res) => res.send(486))
    peer.send(new Caller(peer, uri()).head('INVITE', { cseq: 1 }).filter(line => !line.startsWith('Contact')))
    expect((await peer.response(400)).reason).toBe('Missing Contact')
  })
})

describe('several applications', () => {
  const calls = new WeakMap<App, SrfDialog[]>()
  const taking = (taker: App): void => {
    calls.set(taker, [])
    taker.invite((req, res) => void taker.createUAS(req, res, { localSdp: OURS }).then(d => calls.get(taker)?.push(d)))
  }

  it('receive calls round-robin and their own dialogs', async () => {
    const other = await rig.app()
    for (const taker of [app, other]) taking(taker)
    const callers: Caller[] = []
    for (let i = 0; i < 4; i++) {
      const caller = new Caller(peer, uri())
      caller.invite()
      await caller.answered()
      caller.ack()
      callers.push(caller)
    }
    for (const taker of [app, other]) while (calls.get(taker)!.length < 2) await new Promise(r => setImmediate(r))
    const infos: App[] = []
    for (const taker of [app, other]) {
      for (const dialog of calls.get(taker)!) {
        dialog.on('info', (_req, res) => {
          infos.push(taker)
          res.send(200)
        })
      }
    }
    for (const caller of callers) {
      caller.request('INFO')
      await peer.response(200, 'INFO')
    }
    expect(infos.filter(taker => taker === app)).toHaveLength(2)
    // A method that only one of them accepts goes there each time.
    other.use('options', (_req, res) => res.send(204))
    for (let i = 0; i < 3; i++) {
      new Caller(peer, uri()).request('OPTIONS')
      await peer.response(204)
    }
  })

  it('continue with another when one disconnects', async () => {
    taking(app)
    const caller = new Caller(peer, uri())
    caller.invite()
    await caller.answered()
    caller.ack()
    const other = await rig.app()
    const heard = new Promise<SrfRequest>(resolve =>
      other.use('info', (req, res) => {
        res.send(200)
        resolve(req)
      }),
    )
    // The route must exist before the first application disconnects.
    const probe = async (): Promise<void> => {
      new Caller(peer, uri()).request('INFO')
      await peer.response(200, 'INFO')
    }
    await probe()
    await heard
    app.disconnect()
    while (rig.server.stats().apps > 1) await new Promise(resolve => setImmediate(resolve))
    caller.request('INFO')
    await peer.response(200, 'INFO')
  })
})

describe('records (cdr:attempt, cdr:start, cdr:stop)', () => {
  type Records = App & { on(event: string, listener: (...args: unknown[]) => void): void }
  function recorded(): { until: (count: number) => Promise<string[]> } {
    const records: string[] = []
    let wake = (): void => {}
    for (const kind of ['attempt', 'start', 'stop']) {
      ;(app as Records).on(`cdr:${kind}`, (source, time, detail) => {
        expect(time).toMatch(/^\d\d:\d\d:\d\d\.\d{6}$/)
        records.push([kind, source, ...(typeof detail === 'string' ? [detail] : [])].join(' '))
        wake()
      })
    }
    const until = async (count: number): Promise<string[]> => {
      while (records.length < count) await new Promise<void>(resolve => (wake = resolve))
      return records
    }
    return { until }
  }

  it('of an inbound call ended by the caller', async () => {
    const { until } = recorded()
    app.invite((req, res) => void app.createUAS(req, res, { localSdp: OURS }))
    const caller = new Caller(peer, uri())
    caller.invite()
    await caller.answered()
    caller.ack()
    caller.request('BYE')
    await peer.response(200, 'BYE')
    expect(await until(3)).toEqual(['attempt network', 'start application uas', 'stop network normal-release'])
  })

  it('of one rejected and one canceled', async () => {
    const { until } = recorded()
    let refuse = true
    app.invite((_req, res) => {
      if (refuse) res.send(486)
      refuse = false
    })
    const refused = new Caller(peer, uri())
    refused.invite()
    await refused.answered(486)
    refused.ack(true)
    const canceled = new Caller(peer, uri())
    canceled.invite()
    await peer.response(100)
    await peer.response(100)
    canceled.cancel()
    await canceled.answered(487)
    canceled.ack(true)
    expect(await until(4)).toEqual([
      'attempt network',
      'stop application call-rejected',
      'attempt network',
      'stop network call-canceled',
    ])
  })

  it('of outbound calls', async () => {
    const { until } = recorded()
    const dial = (): Promise<SrfDialog> => app.createUAC(`sip:bob@127.0.0.1:${peer.port}`, { localSdp: OURS })
    const refused = dial()
    reply(peer, await peer.request('INVITE'), '404 Not Found')
    await expect(refused).rejects.toThrow()
    const calling = dial()
    const invite = await peer.request('INVITE')
    reply(peer, invite, '200 OK', [contact(), 'Content-Type: application/sdp'], SDP)
    const dialog = await calling
    const gone = dialog.destroy()
    reply(peer, await peer.request('BYE'), '200 OK')
    await gone
    expect(await until(5)).toEqual([
      'attempt application',
      'stop network call-rejected',
      'attempt application',
      'start network uac',
      'stop application normal-release',
    ])
  })

  it('of one that no application handled', async () => {
    const { until } = recorded()
    const caller = new Caller(peer, uri())
    caller.invite()
    await caller.answered(503)
    caller.ack(true)
    expect(await until(2)).toEqual(['attempt network', 'stop application call-rejected'])
  })
})
