/** More requests than applications can handle: new calls are rejected, and existing ones lose nothing. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { encodeFrame, FrameDecoder } from '../../../sip/server/wire.ts'
import { headerOf } from '../../../sip/text/message.ts'
import { until } from '../../support/world.ts'
import { Caller, type Peer } from '../peer.ts'
import { Rig, SECRET, type SrfRequest } from '../rig.ts'

/** Fills what kernels keep for a connection in a few hundred. */
const BIG = `v=0\r\n${'a=x-filler:0123456789\r\n'.repeat(1500)}`
const MOST = 2000

let rig: Rig
let peer: Peer
beforeEach(async () => {
  rig = await Rig.start()
  peer = await rig.tcpPeer()
})
afterEach(() => rig.close())

const uri = () => `sip:100@127.0.0.1:${rig.tcpPort}`
const stats = () => rig.server.stats()

/** An application that asks for calls and then reads nothing. */
async function sttUnavailable(): Promise<Socket> {
  const before = stats().apps
  const socket = connect(rig.adminPort, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(encodeFrame('1', `authenticate|${SECRET}|`))
  socket.write(encodeFrame('2', 'route|invite'))
  await once(socket, 'data')
  socket.pause()
  await until(() => stats().apps === before + 1, 'the application to be known')
  return socket
}

/** Calls come, each after the server has dealt with the one before, until one of them is refused. */
async function flood(): Promise<number> {
  for (let calls = 1; calls <= MOST; calls++) {
    const seen = peer.received.length
    new Caller(peer, uri()).invite(BIG)
    await until(() => peer.received.length > seen, 'an answer to a call')
    if (stats().shed > 0) return calls
  }
  throw new Error('nothing is ever refused')
}

it('sends no new calls to a slow application, and keeps its connection', {
  timeout: 60_000,
}, async () => {
  const socket = await sttUnavailable()
  const taken = (await flood()) - 1
  expect(taken).toBeGreaterThan(5)
  const refused = await peer.response(503, 'INVITE')
  expect(headerOf(refused, 'Retry-After')).toBe('1')
  for (let i = 0; i < 200; i++) new Caller(peer, uri()).invite(BIG)
  await until(() => stats().shed === 201, 'all that are too many to be refused')
  expect(stats()).toMatchObject({ apps: 1, unhandled: 0 })
  // Whatever it had not read comes first.
  let read = 0
  const decoder = new FrameDecoder(2 ** 24)
  socket.on('data', chunk => {
    read += decoder.push(chunk).filter(frame => frame.includes('INVITE sip:')).length
  })
  socket.resume()
  await until(() => read === taken, 'all that was taken to be read')
  const { shed } = stats()
  new Caller(peer, uri()).invite()
  await until(() => read === taken + 1, 'the next call to be taken')
  expect(stats().shed).toBe(shed)
  socket.destroy()
})

it('prefers a faster application', { timeout: 60_000 }, async () => {
  await sttUnavailable()
  await flood()
  expect(stats().shed).toBe(1)
  const app = await rig.app()
  app.invite((_req, res) => res.send(486))
  await until(async () => {
    new Caller(peer, uri()).invite()
    return peer.received.some(message => message.kind === 'response' && message.status === 486)
  }, 'the other one to be asked')
  const before = stats().shed
  for (let i = 0; i < 10; i++) {
    const caller = new Caller(peer, uri())
    caller.invite()
    await caller.answered(486)
    caller.ack(true)
  }
  expect(stats().shed).toBe(before)
})

it('ends existing calls while new ones are rejected', { timeout: 60_000 }, async () => {
  const app = await rig.app()
  let ended = 0
  let socket: Socket | undefined
  app.invite(async (req, res) => {
    if (socket !== undefined) {
      res.send(486)
      return
    }
    socket = (req as SrfRequest & { socket: Socket }).socket
    const dialog = await app.createUAS(req, res, { localSdp: 'v=0\r\n' })
    dialog.on('destroy', () => {
      ended += 1
    })
  })
  const caller = new Caller(peer, uri())
  caller.invite()
  await caller.answered()
  caller.ack()
  socket!.pause()
  await flood()
  caller.request('BYE')
  socket!.resume()
  await peer.response(200, 'BYE')
  await until(() => ended === 1, 'the application to hear of the end')
  expect(stats().apps).toBe(1)
})
