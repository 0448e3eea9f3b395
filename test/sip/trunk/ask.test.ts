/** Requests whose response is read together with the confirmation that they were sent, as on a busy engine. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { freePort } from '../../../infra/embedded/ports.ts'
import type { SipRequest } from '../../../sip/text/message.ts'
import { reply } from '../peer.ts'
import { Bench, trunkPlan } from './bench.ts'

const HOST = '127.0.0.1'
/** Longer than an exchange over loopback takes. */
const GATHER_MS = 60

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** Sits between the engine and its SIP server, and delivers messages of the server in batches. */
async function gathering(serverPort: number): Promise<number> {
  const sockets = new Set<Socket>()
  const relay = createServer(engine => {
    const server = connect(serverPort, HOST)
    for (const socket of [engine, server]) sockets.add(socket.on('error', () => socket.destroy()))
    engine.pipe(server)
    let held: Buffer[] = []
    server.on('data', chunk => {
      if (held.length === 0) setTimeout(() => engine.write(Buffer.concat(held.splice(0))), GATHER_MS)
      held.push(chunk)
    })
    server.on('close', () => {
      held = []
      engine.destroy()
    })
  }).listen(0, HOST)
  await once(relay, 'listening')
  closers.push(() => {
    for (const socket of sockets) socket.destroy()
    relay.close()
  })
  return (relay.address() as { port: number }).port
}

it('a registration and a check go on, and a challenge is answered', async () => {
  const admin = { host: HOST, port: await freePort(19_000, HOST) }
  const port = await gathering(admin.port)
  const bench = await Bench.start({ admin }, { port })
  closers.push(() => bench.close())
  const peer = await bench.rig.udpPeer()
  void (async () => {
    for (;;) {
      const request = await peer.next((message): message is SipRequest => message.kind === 'request')
      const proven = request.method === 'OPTIONS' || request.headers.some(([name]) => name === 'Authorization')
      if (proven) reply(peer, request, '200 OK')
      else reply(peer, request, '401 Who', ['WWW-Authenticate: Digest realm="r", nonce="n"'])
    }
  })()
  const trunk = trunkPlan(peer, { mode: 'register', username: 'user', password: 'pass' })
  bench.setTrunks(trunk)
  await bench.until(() => bench.statuses.at(-1)?.registration === 'registered')
  expect(await bench.edge.check(trunk)).toMatchObject({ ok: true, diagnosis: null })
})
