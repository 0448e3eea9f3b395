/**
 * Two engines at one SIP server: a draining one gets no calls, keeps its current ones, and gets its share again later.
 */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { InboundOffer } from '../../../media/ports/inbound.ts'
import type { Leg } from '../../../media/ports/leg.ts'
import type { TrunkDirectory } from '../../../media/ports/trunks.ts'
import { dtlsIdentity } from '../../../media/rtp/dtls-crypto.ts'
import { createPacer } from '../../../media/rtp/pacer.ts'
import { openRtp } from '../../../media/rtp/session.ts'
import { selfSigned } from '../../../sip/server/self-signed.ts'
import { encodeFrame, FrameDecoder, leader, parseAppFrame } from '../../../sip/server/wire.ts'
import { type Edge, type EdgeOptions, openEdge } from '../../../sip/trunk/edge.ts'
import { Caller, type Peer } from '../peer.ts'
import { Rig, SECRET } from '../rig.ts'
import { clock, FarMedia, MemoryLog, trunkPlan } from './bench.ts'

const identity = dtlsIdentity(selfSigned(Date.now()))
const edges: Edge[] = []

interface Engine {
  edge: Edge
  offers: InboundOffer[]
}

/** An engine's edge that is connected. */
async function engineAt(port: number, peer: Pick<Peer, 'port'>, over: Partial<EdgeOptions> = {}): Promise<Engine> {
  const [log, pacer, offers]: [MemoryLog, ReturnType<typeof createPacer>, InboundOffer[]] = [
    new MemoryLog(),
    createPacer(clock),
    [],
  ]
  const trunk = trunkPlan(peer)
  const directory: TrunkDirectory = { all: () => [trunk], onChange: () => () => {} }
  const { promise: up, resolve } = Promise.withResolvers<void>()
  const edge = openEdge({
    host: '127.0.0.1',
    port,
    secret: SECRET,
    directory,
    clock,
    log,
    media: {
      open: () => openRtp({ host: '127.0.0.1', ports: { min: 0, max: 0 }, clock, pacer, log, identity }),
      advertise: null,
      fingerprint: identity.fingerprint,
    },
    onOffer: offer => void offers.push(offer),
    ...over,
    onState(now) {
      over.onState?.(now)
      if (now) resolve()
    },
  })
  edges.push(edge)
  await up
  return { edge, offers }
}

describe('at our SIP server', () => {
  let rig: Rig
  let peer: Peer
  let far: FarMedia
  let one: Engine
  let other: Engine
  beforeEach(async () => {
    rig = await Rig.start()
    peer = await rig.udpPeer()
    far = await FarMedia.open()
    one = await engineAt(rig.adminPort, peer)
    other = await engineAt(rig.adminPort, peer)
  })
  afterEach(async () => {
    await Promise.all(edges.splice(0).map(edge => edge.close()))
    await rig.close()
    far.close()
  })

  const uri = () => `sip:+12025550100@127.0.0.1:${rig.udpPort}`
  const count = () => [one.offers.length, other.offers.length]
  /** A call that an engine turns down with the words for a full one; which engine it was shows in its offers. */
  async function refused(calls: number): Promise<void> {
    for (; calls > 0; calls--) {
      const caller = new Caller(peer, uri())
      const before = [...one.offers, ...other.offers]
      caller.invite(far.sdp())
      await peer.response(100)
      while (count()[0]! + count()[1]! === before.length) await new Promise(resolve => setImmediate(resolve))
      ;[...one.offers, ...other.offers].find(offer => !before.includes(offer))!.reject('too_many_calls')
      await caller.answered(486)
      caller.ack(true)
    }
  }
  /** Waits until a message has arrived; later ones arrive after it, because they use the same connection. */
  async function told({ edge }: Engine): Promise<void> {
    expect(edge.isUp()).toBe(true)
    await refused(2)
    one.offers.length = 0
    other.offers.length = 0
  }

  it('sends no calls to a draining engine', async () => {
    await refused(6)
    expect(count()).toEqual([3, 3])
    one.edge.listen(false)
    await told(one)
    await refused(5)
    expect(count()).toEqual([0, 5])
    one.edge.listen(true)
    await told(one)
    await refused(6)
    expect(count()).toEqual([3, 3])
  })

  it('delivers requests of live calls to a draining engine', async () => {
    other.edge.listen(false)
    await told(other)
    const caller = new Caller(peer, uri())
    caller.invite(far.sdp())
    await peer.response(100)
    while (one.offers.length === 0) await new Promise(resolve => setImmediate(resolve))
    const leg = (await one.offers[0]!.answer()) as Leg
    const keys: string[] = []
    leg.attach({ pull: () => null, push() {}, dtmf: digit => void keys.push(digit) })
    // Before it is acknowledged.
    one.edge.listen(false)
    other.edge.listen(true)
    await caller.answered()
    caller.ack()
    caller.request('INFO', ['Content-Type: application/dtmf-relay'], 'Signal=5\r\nDuration=160\r\n')
    await peer.response(200, 'INFO')
    expect(keys).toEqual(['5'])
    caller.invite(far.sdp())
    await caller.answered()
    caller.ack()
    caller.request('BYE')
    await peer.response(200, 'BYE')
    expect((await leg.ended).reason).toBe('caller_hangup')

    one.edge.listen(true)
    other.edge.listen(false)
    await told(one)
    const ringing = new Caller(peer, uri())
    ringing.invite(far.sdp())
    while (one.offers.length === 0) await new Promise(resolve => setImmediate(resolve))
    one.edge.listen(false)
    ringing.cancel()
    await ringing.answered(487)
    ringing.ack(true)
    expect(one.offers[0]!.signal.aborted || (await once(one.offers[0]!.signal, 'abort'))).toBeTruthy()
  })

  it('removes all methods by one remove_route', async () => {
    one.edge.listen(false)
    other.edge.listen(false)
    const socket = connect(rig.adminPort, '127.0.0.1')
    await once(socket, 'connect')
    const say = async (text: string) => {
      socket.write(encodeFrame('1', text))
      await once(socket, 'data')
    }
    for (const text of [`authenticate|${SECRET}|`, 'route|options', 'route|invite', 'remove_route|invite'])
      await say(text)
    new Caller(peer, uri()).request('OPTIONS')
    await peer.response(503, 'OPTIONS')
    socket.destroy()
  })

  it('uses the same server identity in all engines', () => {
    expect(one.edge.server()).toBe(other.edge.server())
    expect(one.edge.server()).toContain(`udp/127.0.0.1:${rig.udpPort}`)
  })

  it('redirects calls to other engines before it disconnects', async () => {
    await one.edge.close()
    await refused(4)
    expect(count()).toEqual([0, 4])
  })
})

describe('as a drachtio-server sees it', () => {
  /** A fake admin port that records commands, and drops all connections on request. */
  async function listener() {
    const heard: string[] = []
    const sockets = new Set<Socket>()
    const server = createServer(socket => {
      sockets.add(socket)
      const decoder = new FrameDecoder(4096)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
      socket.on('data', chunk => {
        for (const bytes of decoder.push(chunk)) {
          const frame = parseAppFrame(bytes)
          if ('verb' in frame) heard.push(`${frame.type} ${frame.verb}`)
          if (frame.type === 'ping') heard.push('ping')
          const answer =
            frame.type === 'authenticate'
              ? leader.authenticated(frame.msgId, 'udp/192.0.2.1:5060', 'v0.9.10', 'udp/10.0.0.1:5060')
              : leader.reply(frame.msgId, 'OK')
          socket.write(encodeFrame('0', answer))
        }
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const close = () => {
      for (const socket of sockets) socket.destroy()
      return new Promise(resolve => server.close(resolve))
    }
    return { heard, port, close, drop: () => sockets.forEach(socket => void socket.destroy()) }
  }
  const VERBS = ['route bye', 'route invite', 'route options', 'route register']
  /** Waits for this number of messages, because no other message marks the end. */
  async function saidTo({ heard }: { heard: string[] }, enough: number): Promise<string[]> {
    while (heard.length < enough) await new Promise(resolve => setImmediate(resolve))
    await new Promise(resolve => setTimeout(resolve, 50))
    return heard.splice(0).sort()
  }

  it('registers each method once per change', async () => {
    const at = await listener()
    const { edge } = await engineAt(at.port, { port: 9 })
    expect(await saidTo(at, 4)).toEqual(VERBS)
    edge.listen(true)
    edge.listen(false)
    edge.listen(false)
    expect(await saidTo(at, 4)).toEqual(VERBS.map(verb => `remove_${verb}`))
    edge.listen(true)
    expect(await saidTo(at, 4)).toEqual(VERBS)
    expect(edge.server()).toBe(`127.0.0.1:${at.port} udp/192.0.2.1:5060 udp/10.0.0.1:5060`)
    await edge.close()
    await at.close()
  })

  it('applies the accepting state to new connections', async () => {
    const at = await listener()
    let ups = 0
    const onState = (up: boolean) => {
      if (up) ups += 1
    }
    const { edge } = await engineAt(at.port, { port: 9 }, { listening: false, onState })
    const again = async () => {
      const before = ups
      at.drop()
      while (ups === before) await new Promise(resolve => setImmediate(resolve))
    }
    expect(await saidTo(at, 0)).toEqual([])
    await again()
    expect(await saidTo(at, 0)).toEqual([])
    at.drop()
    while (edge.isUp()) await new Promise(resolve => setImmediate(resolve))
    expect(edge.server()).toBeNull()
    edge.listen(true) // without a connection
    expect(await saidTo(at, 4)).toEqual(VERBS)
    edge.listen(false)
    expect((await saidTo(at, 4)).length).toBe(4)
    await edge.close()
    await at.close()
  })
})
