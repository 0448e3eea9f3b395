/** Requests that an application proxies (RFC 3261 §16), between a caller and the targets. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bestOf, forwarded, routeTarget, upstream } from '../../../sip/server/proxy-plan.ts'
import type { SipServerOptions } from '../../../sip/server/server.ts'
import { headerOf, listOf, type SipRequest, type SipResponse } from '../../../sip/text/message.ts'
import { Caller, type Peer, SDP } from '../peer.ts'
import { type App, Rig, type SrfRequest, type SrfResponse } from '../rig.ts'
import { Far, type Heard } from './far.ts'

type Results = { connected: boolean; finalStatus: number; responses: { msgs: { status: number }[] }[] }
type ProxyApp = App & {
  proxyRequest(req: SrfRequest, to: string | string[], options: object): Promise<Results>
  on(event: string, listener: (...args: string[]) => void): void
}

let rig: Rig
let app: ProxyApp
let peer: Peer
const fars: Far[] = []

async function serve(options: Partial<SipServerOptions> = {}): Promise<void> {
  if (rig !== undefined) await rig.close()
  rig = await Rig.start(options)
  app = (await rig.app()) as ProxyApp
  peer = await rig.udpPeer()
}
beforeEach(() => serve())
afterEach(async () => {
  for (const far of fars.splice(0)) far.close()
  await rig.close()
})

async function far(kind: 'udp' | 'tcp' = 'udp'): Promise<Far> {
  const party = await Far[kind]()
  fars.push(party)
  return party
}

const at = (party: Far, params = ''): string => `sip:bob@127.0.0.1:${party.port}${params}`
const uri = (): string => `sip:agent@127.0.0.1:${rig.udpPort}`

/** Proxies the next request of this method. Resolves with the result that the application gets. */
function sendOn(to: string | string[], options: object = {}, method = 'INVITE'): Promise<Results> {
  return new Promise((resolve, reject) => {
    const handle = (req: SrfRequest, _res: SrfResponse): void => {
      app.proxyRequest(req, to, options).then(resolve, reject)
    }
    if (method === 'INVITE') app.invite(handle)
    else app.use(method.toLowerCase(), handle)
  })
}

const accept = (heard: Heard, party: Far): void =>
  heard.answer('200 OK', [`Contact: <${at(party)}>`, 'Content-Type: application/sdp'], SDP)

function call(extra: readonly string[] = [], to = uri()): Caller {
  const caller = new Caller(peer, to)
  caller.invite(SDP, extra)
  return caller
}

describe('one destination', () => {
  it('record-routes a call', async () => {
    const bob = await far()
    const results = sendOn(at(bob), { remainInDialog: true, headers: { 'X-Added': 'yes' } })
    const caller = call()
    const invite = await bob.next('INVITE')
    expect(invite.request.uri).toBe(at(bob))
    expect(invite.request.body.toString()).toBe(SDP)
    expect(headerOf(invite.request, 'Max-Forwards')).toBe('69')
    expect(headerOf(invite.request, 'X-Added')).toBe('yes')
    expect(listOf(invite.request, 'Via')).toHaveLength(2)
    const [route] = listOf(invite.request, 'Record-Route')
    expect(route).toMatch(new RegExp(`^<sip:127\\.0\\.0\\.1:${rig.udpPort};lr;d=[0-9a-f]{16}>$`))
    invite.answer('180 Ringing')
    await peer.response(180)
    accept(invite, bob)
    const ok = await caller.answered()
    expect(listOf(ok, 'Via')).toHaveLength(1)
    expect(listOf(ok, 'Record-Route')).toEqual([route])
    expect(headerOf(ok, 'Contact')).toBe(`<${at(bob)}>`)
    expect(await results).toMatchObject({ connected: true, finalStatus: 200 })

    const inside = (method: string): string[] =>
      caller.head(method, { cseq: method === 'ACK' ? 1 : 2, extra: [`Route: ${route}`] })
    const toBob = ([first, ...rest]: string[]): string[] => [first!.replace(uri(), at(bob)), ...rest]
    peer.send(toBob(inside('ACK')))
    const ack = await bob.next('ACK')
    expect(ack.request.uri).toBe(at(bob))
    expect(listOf(ack.request, 'Route')).toEqual([])
    peer.send(toBob(inside('BYE')))
    const bye = await bob.next('BYE')
    expect(listOf(bye.request, 'Via')).toHaveLength(2)
    bye.answer('200 OK')
    await peer.response(200, 'BYE')
    expect(rig.server.stats()).toMatchObject({ dialogs: 0, faults: 0 })
  })

  it('keeps foreign Request-URIs and routes', async () => {
    const bob = await far()
    void sendOn(at(bob))
    call([`Route: <sip:127.0.0.1:${rig.udpPort};lr>, <${at(bob, ';lr')}>`], 'sip:number@example.com')
    const { request, answer } = await bob.next('INVITE')
    expect(request.uri).toBe('sip:number@example.com')
    expect(listOf(request, 'Route')).toEqual([`<${at(bob, ';lr')}>`])
    expect(listOf(request, 'Record-Route')).toEqual([])
    answer('486 Busy Here')
    await peer.response(486)
  })

  it('adds two Record-Routes for two interfaces (RFC 5658)', async () => {
    const bob = await far('tcp')
    void sendOn(at(bob, ';transport=tcp'), { remainInDialog: true })
    const caller = call()
    const invite = await bob.next('INVITE')
    expect(listOf(invite.request, 'Record-Route').map(value => routeTarget(value)?.at.port)).toEqual([
      rig.tcpPort,
      rig.udpPort,
    ])
    accept(invite, bob)
    const routes = listOf(await caller.answered(), 'Record-Route').reverse()
    const head = caller.head('BYE', { cseq: 2, extra: [`Route: ${routes.join(', ')}`] })
    peer.send([head[0]!.replace(uri(), at(bob, ';transport=tcp')), ...head.slice(1)])
    const bye = await bob.next('BYE')
    expect(listOf(bye.request, 'Route')).toEqual([])
    bye.answer('200 OK')
    await peer.response(200, 'BYE')
  })

  it('forwards CANCEL and the 487', async () => {
    const bob = await far()
    const results = sendOn(at(bob))
    const caller = call()
    const invite = await bob.next('INVITE')
    invite.answer('180 Ringing')
    await peer.response(180)
    caller.cancel()
    await peer.response(200, 'CANCEL')
    const cancel = await bob.next('CANCEL')
    expect(headerOf(cancel.request, 'Via')).toBe(listOf(invite.request, 'Via')[0])
    cancel.answer('200 OK')
    invite.answer('487 Request Terminated')
    await bob.next('ACK')
    await caller.answered(487)
    caller.ack(true)
    expect(await results).toMatchObject({ connected: false, finalStatus: 487 })
  })

  it('forwards a reliable 180 and its PRACK', async () => {
    const bob = await far()
    void sendOn(at(bob), { remainInDialog: true })
    const caller = call(['Supported: 100rel'])
    const invite = await bob.next('INVITE')
    invite.answer('180 Ringing', ['Require: 100rel', 'RSeq: 7', `Contact: <${at(bob)}>`])
    const ringing = await caller.answered(180)
    const extra = ['RAck: 7 1 INVITE', `Route: ${listOf(ringing, 'Record-Route')[0]}`]
    const head = caller.head('PRACK', { cseq: 2, extra })
    peer.send([head[0]!.replace(uri(), at(bob)), ...head.slice(1)])
    const prack = await bob.next('PRACK')
    expect(headerOf(prack.request, 'RAck')).toBe('7 1 INVITE')
    prack.answer('200 OK')
    await peer.response(200, 'PRACK')
  })

  it('REGISTER is followed by Path (RFC 3327)', async () => {
    const bob = await far()
    void sendOn(at(bob), { remainInDialog: true }, 'REGISTER')
    new Caller(peer, uri()).request('REGISTER')
    const register = await bob.next('REGISTER')
    expect(headerOf(register.request, 'Path')).toContain(`sip:127.0.0.1:${rig.udpPort};lr`)
    register.answer('200 OK')
    await peer.response(200, 'REGISTER')
  })

  it('answers 500 when unreachable; 482 for our own address', async () => {
    const gone = await far('tcp')
    gone.close()
    void sendOn(at(gone, ';transport=tcp'))
    const caller = call()
    await caller.answered(500)
    caller.ack(true)
    const second = (await rig.app()) as ProxyApp
    second.use('message', req => void second.proxyRequest(req, uri(), {}))
    new Caller(peer, uri()).request('MESSAGE')
    await peer.response(482)
  })

  it('rejects with 483, and 420 for proxy extensions', async () => {
    const bob = await far()
    void sendOn(at(bob))
    const spent = new Caller(peer, uri())
    peer.send(spent.head('INVITE', { cseq: 1 }).map(line => line.replace('Forwards: 70', 'Forwards: 0')))
    await peer.response(483)
    call(['Proxy-Require: time-travel'])
    expect(headerOf(await peer.response(420), 'Unsupported')).toBe('time-travel')
    expect(bob.heard).toEqual([])
  })

  it('is no open relay', async () => {
    const victim = await far()
    for (const mark of ['', ';d=0123456789abcdef']) {
      const stranger = new Caller(peer, at(victim))
      stranger.toTag = 'x'
      stranger.request('MESSAGE', [`Route: <sip:127.0.0.1:${rig.udpPort};lr${mark}>`])
      await peer.response(481)
    }
    expect(victim.heard).toEqual([])
  })

  it('rejects a repeated start, and one without targets', async () => {
    const bob = await far()
    const failures: unknown[] = []
    const asked = new Promise<SrfRequest>(resolve => app.invite(resolve))
    call()
    const req = await asked
    await app.proxyRequest(req, 'sip:a@b@c', {}).catch((error: unknown) => failures.push(error))
    void app.proxyRequest(req, at(bob), {})
    const invite = await bob.next('INVITE')
    await app.proxyRequest(req, at(bob), {}).catch((error: unknown) => failures.push(error))
    expect(failures).toEqual(['Server error: invalid request-uri: sip:a@b@c', 'Server error: unknown transaction'])
    invite.answer('486 Busy Here')
    await peer.response(486)
  })
})

describe('several destinations', () => {
  it('forks serially: next after a rejection', async () => {
    const [ann, bob] = [await far(), await far()]
    const results = sendOn([at(ann), at(bob)])
    const caller = call()
    ;(await ann.next('INVITE')).answer('486 Busy Here')
    await ann.next('ACK')
    accept(await bob.next('INVITE'), bob)
    await caller.answered()
    const told = await results
    expect(told).toMatchObject({ connected: true, finalStatus: 200 })
    expect(told.responses.flatMap(({ msgs }) => msgs.map(({ status }) => status))).toEqual([486, 200])
  })

  it('forks serially: next after silence or long ringing', async () => {
    const [ann, bob, eve] = [await far(), await far(), await far()]
    void sendOn([at(ann), at(bob), at(eve)], { provisionalTimeout: '60ms', finalTimeout: '200ms' })
    const caller = call()
    await ann.next('INVITE')
    const second = await bob.next('INVITE')
    second.answer('180 Ringing')
    ;(await bob.next('CANCEL')).answer('200 OK')
    accept(await eve.next('INVITE'), eve)
    await caller.answered()
  })

  it('forks in parallel: the first 2xx cancels the others', async () => {
    const [ann, bob] = [await far(), await far()]
    void sendOn([at(ann), at(bob)], { forking: 'simultaneous' })
    const caller = call()
    const [first, second] = [await ann.next('INVITE'), await bob.next('INVITE')]
    first.answer('180 Ringing')
    await peer.response(180)
    accept(second, bob)
    await caller.answered()
    ;(await ann.next('CANCEL')).answer('200 OK')
    first.answer('487 Request Terminated')
    await ann.next('ACK')
  })

  it('forks in parallel: 600 ends all branches', async () => {
    const [ann, bob] = [await far(), await far()]
    void sendOn([at(ann), at(bob)], { forking: 'simultaneous' })
    const caller = call()
    const [first, second] = [await ann.next('INVITE'), await bob.next('INVITE')]
    first.answer('180 Ringing')
    await peer.response(180)
    second.answer('603 Decline')
    ;(await ann.next('CANCEL')).answer('200 OK')
    first.answer('487 Request Terminated')
    await caller.answered(603)
  })

  it('combines all challenges (§16.7 step 7)', async () => {
    const [ann, bob] = [await far(), await far()]
    void sendOn([at(ann), at(bob)], { forking: 'simultaneous' })
    const caller = call()
    for (const [party, realm] of [
      [ann, 'a'],
      [bob, 'b'],
    ] as const)
      (await party.next('INVITE')).answer('401 Unauthorized', [`WWW-Authenticate: Digest realm="${realm}", nonce="1"`])
    const challenged = await caller.answered(401)
    const realms = challenged.headers.filter(([name]) => name === 'WWW-Authenticate').map(([, value]) => value)
    expect(realms.join()).toMatch(/realm="a".*realm="b"|realm="b".*realm="a"/)
  })

  it('follows a redirect when requested', async () => {
    const [ann, bob] = [await far(), await far()]
    void sendOn(at(ann), { followRedirects: true })
    const caller = call()
    ;(await ann.next('INVITE')).answer('302 Moved Temporarily', [`Contact: <${at(bob)}>`])
    const moved = await bob.next('INVITE')
    expect(moved.request.uri).toBe(at(bob))
    accept(moved, bob)
    await caller.answered()
  })

  it('times out an INVITE without progress (timer C): 408', async () => {
    await serve({ timers: { c: 60 } })
    const ann = await far()
    void sendOn(at(ann))
    const caller = call()
    const invite = await ann.next('INVITE')
    invite.answer('183 Session Progress')
    ;(await ann.next('CANCEL')).answer('200 OK')
    await caller.answered(408)
  })
})

it('leaves nothing behind, also when the application disconnects', async () => {
  await serve({ timers: { t1: 5, t2: 20, t4: 20 } })
  const bob = await far()
  void sendOn(at(bob))
  const caller = call()
  const invite = await bob.next('INVITE')
  invite.answer('180 Ringing')
  await peer.response(180)
  app.disconnect()
  accept(invite, bob)
  await caller.answered()
  while (rig.server.stats().transactions > 0) await new Promise(resolve => setTimeout(resolve, 20))
  expect(rig.server.stats()).toMatchObject({ pending: 0, dialogs: 0, faults: 0 })
})

it('writes CDRs of a proxied call', async () => {
  const bob = await far()
  const records: string[] = []
  const ended = new Promise<void>(resolve => {
    for (const kind of ['attempt', 'start', 'stop']) {
      app.on(`cdr:${kind}`, (source, _time, detail) => {
        records.push(`${kind} ${source}${typeof detail === 'string' ? ` ${detail}` : ''}`)
        if (kind === 'stop') resolve()
      })
    }
  })
  void sendOn(at(bob), { remainInDialog: true })
  const caller = call()
  accept(await bob.next('INVITE'), bob)
  const [route] = listOf(await caller.answered(), 'Record-Route')
  const head = caller.head('BYE', { cseq: 2, extra: [`Route: ${route}`] })
  peer.send([head[0]!.replace(uri(), at(bob)), ...head.slice(1)])
  ;(await bob.next('BYE')).answer('200 OK')
  await ended
  expect(records).toEqual([
    'attempt network',
    'attempt application',
    'start network proxy-uac',
    'start application proxy-uas',
    'stop network normal-release',
  ])
})

describe('decisions', () => {
  const response = (status: number, ...headers: [string, string][]): SipResponse => ({
    kind: 'response',
    status,
    reason: '',
    headers,
    body: Buffer.alloc(0),
  })
  it.each<[number[], number]>([
    [[404, 486], 404],
    [[486, 603, 404], 603],
    [[500, 404], 404],
    [[404, 407], 407],
    [[302, 404], 302],
    [[503], 500],
    [[503, 486], 486],
  ])('of %j the best is %i', (statuses, best) => expect(bestOf(statuses.map(s => response(s)))?.status).toBe(best))

  it('has no best response without responses', () => expect(bestOf([])).toBeNull())

  it('adds Max-Forwards, and removes only its own Via', () => {
    const request = {
      kind: 'request',
      method: 'MESSAGE',
      uri: 'sip:a@b',
      headers: [],
      body: Buffer.alloc(0),
    } as SipRequest
    const self = { local: { host: '::1', port: 5060 }, protocol: 'tcp' as const }
    const sent = forwarded({ request, uri: null, extra: [], mark: 'm', cameBy: self }, self)
    expect(headerOf(sent, 'Max-Forwards')).toBe('69')
    expect(headerOf(sent, 'Record-Route')).toBe('<sip:[::1]:5060;transport=tcp;lr;d=m>')
    const back = upstream(response(200, ['Via', 'SIP/2.0/UDP a, SIP/2.0/UDP b'], ['Via', 'SIP/2.0/UDP c']))
    expect(listOf(back, 'Via')).toEqual(['SIP/2.0/UDP b', 'SIP/2.0/UDP c'])
  })
})
