import { afterEach, expect } from 'vitest'
import type { Clock } from '../../../media/shared/clock.ts'
import { headerOf, type SipRequest } from '../../../sip/text/message.ts'
import type { EdgeOptions } from '../../../sip/trunk/edge.ts'
import { needs } from '../../support/needs.ts'
import { Peer, reply } from '../peer.ts'
import { Bench, FarMedia, trunkPlan } from './bench.ts'
import { freeUdpPort, Kamailio, REALM } from './kamailio.ts'

const { describe, it } = needs('kamailio')

const closers: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function carrier(
  algorithm: string,
  password = 'pass',
  { edge = {}, insists = false }: { edge?: Partial<EdgeOptions>; insists?: boolean } = {},
): Promise<{ bench: Bench; peer: Peer; kamailio: Kamailio }> {
  const bench = await Bench.start({}, edge)
  closers.push(() => bench.close())
  const port = await freeUdpPort()
  const peer = await Peer.udp(port)
  closers.push(() => peer.close())
  const kamailio = await Kamailio.start(port, { peerPort: peer.port, algorithm, password, insists })
  closers.push(() => kamailio.close())
  return { bench, peer, kamailio }
}

describe.each(['MD5', 'SHA-256'])('Kamailio as the carrier, with %s', algorithm => {
  const account = { username: 'alice', password: 'pass', realm: REALM, mode: 'register' } as const

  it('accepts registration and authenticated calls', async () => {
    const { bench, peer, kamailio } = await carrier(algorithm)
    const far = await FarMedia.open()
    closers.push(() => far.close())
    const over = { ...account, options_interval_seconds: 30 }
    const { result } = bench.dial({ port: kamailio.port } as Peer, over)
    const invite = await peer.request('INVITE')
    reply(peer, invite, '180 Ringing', [`Contact: <sip:far@127.0.0.1:${peer.port}>`])
    const headers = [`Contact: <sip:far@127.0.0.1:${peer.port}>`, 'Content-Type: application/sdp']
    reply(peer, invite, '200 OK', headers, far.sdp())
    const outcome = await result
    expect(outcome.ok).toBe(true)
    await peer.request('ACK')
    await bench.until(() => bench.statuses.at(-1)?.registration === 'registered')
    await bench.until(() => bench.statuses.at(-1)?.hosts[0]?.alive === true)
    expect(bench.statuses.at(-1)?.hosts[0]?.optionsMs).toBeLessThan(2000)
    if (outcome.ok) {
      const over = outcome.leg.hangup('agent_hangup')
      reply(peer, await peer.request('BYE'), '200 OK')
      await over
    }
  })

  it('reports a wrong password', async () => {
    const { bench, kamailio } = await carrier(algorithm, 'other')
    bench.setTrunks(trunkPlan(kamailio, account))
    await bench.until(() => bench.statuses.at(-1)?.registration === 'failed')
    expect(bench.statuses.at(-1)?.lastError).toBe('The carrier did not accept the user name or password.')
    const { result } = bench.dial({ port: kamailio.port } as Peer, account)
    expect(await result).toMatchObject({ failure: { reason: 'auth_failed', sipCode: 407 } })
  })
})

/** Forty times as fast: of the shortest session, 90 s, the refresh is due after 1 s. The server's own takes 40. */
const fast: Clock = {
  now: () => performance.now() * 40,
  wall: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms / 40)
    return () => clearTimeout(timer)
  },
}

it.each(['UPDATE', 'INVITE'])(
  'Kamailio, which wants each request proven, lets our %s refresh the session',
  async method => {
    const edge = { clock: fast, mediaTimeoutMs: 1e9 }
    const { bench, peer, kamailio } = await carrier('SHA-256', 'pass', { edge, insists: true })
    const far = await FarMedia.open()
    closers.push(() => far.close())
    const account = { username: 'alice', password: 'pass', realm: REALM } as const
    const { result } = bench.dial({ port: kamailio.port } as Peer, account, { ring_timeout_ms: 1_200_000 })
    const session = ['Supported: timer', 'Session-Expires: 90;refresher=uac', `Allow: INVITE, ACK, BYE, ${method}`]
    const accept = (request: SipRequest): void => {
      const sdp = request.method === 'INVITE' ? ['Content-Type: application/sdp'] : []
      const headers = [`Contact: <sip:far@127.0.0.1:${peer.port}>`, ...sdp, ...session]
      reply(peer, request, '200 OK', headers, sdp.length === 0 ? '' : far.sdp())
    }
    accept(await peer.request('INVITE'))
    await peer.request('ACK')
    const outcome = await result
    if (!outcome.ok) throw new Error(outcome.failure.reason)
    for (let refresh = 0; refresh < 2; refresh++) {
      const request = await peer.request(method)
      expect(headerOf(request, 'Session-Expires')).toBe('90;refresher=uac')
      accept(request)
      if (method === 'INVITE') await peer.request('ACK')
    }
    const over = outcome.leg.hangup('agent_hangup')
    reply(peer, await peer.request('BYE'), '200 OK')
    await over
    // None of them came to Kamailio's far side unproven, or from the server, which could not prove it. Of an INVITE that
    // Kamailio rejected itself it forwards the ACK.
    expect(peer.received.filter(message => message.kind === 'request' && message.method !== 'ACK')).toEqual([])
  },
  20_000,
)
