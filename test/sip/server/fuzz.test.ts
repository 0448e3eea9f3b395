/** Thousands of slightly damaged messages to a live server: none may crash it, and no state may stay. */
import { connect } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { afterEach, expect, inject, it, vi } from 'vitest'
import { serialise } from '../../../sip/text/message.ts'
import { Caller, type Peer, reply, SDP } from '../peer.ts'
import { Rig } from '../rig.ts'
import { mutated, type Random, randomFrom } from './mutate.ts'
import { Noise } from './noise.ts'
import { TORTURE } from './torture-messages.ts'
import { WireApp } from './wire-app.ts'

/** A million in `npm run test:full`. */
const MESSAGES = inject('full') ? 1_000_000 : 20_000
/** So few at once that the kernel's buffer holds them. */
const BATCH = 50
/** Bytes by which the heap may grow between a tenth of the run and its end: noise, not proportional to the messages. */
const GROWTH_BYTES = 12_000_000
const VERBS = ['invite', 'options', 'register', 'message', 'subscribe', 'notify', 'refer', 'info']
const METHODS = [...VERBS.map(verb => verb.toUpperCase()), 'ACK', 'BYE', 'CANCEL', 'PRACK', 'UPDATE', 'FANCY']

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

function heapAfterCollection(): number {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
  return process.memoryUsage().heapUsed
}

/** Messages of real calls both ways, as they stood on the wire. */
async function realTraffic(): Promise<string[]> {
  const rig = await Rig.start()
  const app = await rig.app()
  const peer = await rig.udpPeer()
  app.invite((req, res) => void app.createUAS(req, res, { localSdp: SDP }))
  const caller = new Caller(peer, `sip:agent@127.0.0.1:${rig.udpPort}`)
  const ours = [
    ['INVITE', 1],
    ['ACK', 1],
    ['BYE', 2],
    ['CANCEL', 1],
    ['REGISTER', 3],
    ['SUBSCRIBE', 4],
  ].map(([method, cseq]) => `${caller.head(String(method), { cseq: Number(cseq) }).join('\r\n')}\r\n\r\n`)
  caller.invite(SDP, ['Supported: timer, 100rel', 'Session-Expires: 1800'])
  const theirs = [await peer.response(100), await caller.answered()]
  caller.ack()
  const calling = app.createUAC(`sip:bob@127.0.0.1:${peer.port}`, { localSdp: SDP })
  const invite = await peer.request('INVITE')
  reply(peer, invite, '200 OK', [`Contact: <sip:bob@127.0.0.1:${peer.port}>`, 'Content-Type: application/sdp'], SDP)
  const dialog = await calling
  const ack = await peer.request('ACK')
  const gone = dialog.destroy()
  const bye = await peer.request('BYE')
  reply(peer, bye, '200 OK')
  await gone
  await rig.close()
  return [...ours, ...[...theirs, invite, ack, bye].map(message => serialise(message).toString('latin1'))]
}

/** Header lines dropped, doubled, swapped and damaged, as fast-check thinks of them. */
function edited(count: number, seed: number, peer: Peer, uri: string): Buffer[] {
  const edit = fc.tuple(fc.constantFrom('drop', 'double', 'swap', 'damage'), fc.nat(9), fc.nat(60), fc.nat(255))
  const one = fc.tuple(fc.constantFrom(...METHODS), fc.array(edit, { maxLength: 4 }))
  return fc.sample(one, { numRuns: count, seed }).map(([method, edits]) => {
    const lines = new Caller(peer, uri).head(method, { cseq: 1 })
    for (const [how, at, column, byte] of edits) {
      const line = lines[at]
      if (line === undefined) continue
      if (how === 'drop') lines.splice(at, 1)
      else if (how === 'double') lines.splice(at, 0, line)
      else if (how === 'swap') lines.splice(0, 0, ...lines.splice(at, 1))
      else lines[at] = line.slice(0, column) + String.fromCharCode(byte) + line.slice(column + 1)
    }
    return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  })
}

/** Sends everything over one connection, or several: the server closes a connection when its framing is lost. */
async function overTcp(port: number, messages: readonly Buffer[]): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
  socket.on('error', () => {})
  socket.resume()
  socket.end(Buffer.concat(messages))
  await closed
}

/** Sends a request until it gets a response, which also shows that the queues are empty. */
async function alive(peer: Peer, uri: string): Promise<void> {
  const caller = new Caller(peer, uri)
  const head = caller.head('OPTIONS', { cseq: 1 })
  const ask = (): void => peer.send(head)
  ask()
  const again = setInterval(ask, 200)
  await peer.next((m): m is never => m.headers.some(([name, value]) => name === 'Call-ID' && value === caller.callId))
  clearInterval(again)
  peer.received.length = 0
}

it(
  `survives ${MESSAGES} damaged messages, and answers valid ones meanwhile`,
  async () => {
    const corpus = [
      ...(await realTraffic()),
      ...TORTURE.map(({ head, body = '' }) => `${head.join('\r\n')}\r\n\r\n${body}`),
    ]
    const timers = { t1: 5, t2: 20, t4: 20, patience: 300, second: 1 }
    const rig = await Rig.start({ timers, limits: { partialMs: 100, unprovenMs: 200, idleMs: 500 } })
    closers.push(() => rig.close())
    const app = await WireApp.start(rig.adminPort, VERBS)
    closers.push(() => app.close())
    const peer = await rig.udpPeer()
    const random: Random = randomFrom(20_260_101)
    const noise = await Noise.start(rig.udpPort, random)
    closers.push(() => noise.close())
    const uri = `sip:x@127.0.0.1:${rig.udpPort}`
    let early = 0
    for (let sent = 0; sent < MESSAGES; sent += BATCH) {
      const half = BATCH / 2
      const batch = Array.from({ length: half }, () => mutated(corpus, random))
      batch.push(...edited(half, sent + 1, peer, uri))
      if (sent % (20 * BATCH) === 0) await overTcp(rig.tcpPort, batch)
      else for (const bytes of batch) noise.raw(bytes)
      // Requests of our own, which the noise answers with anything but sense.
      app.ask(['INVITE', 'OPTIONS', 'SUBSCRIBE'][random(3)]!, `sip:n@127.0.0.1:${noise.port}`)
      await alive(peer, uri)
      if (early === 0 && sent >= MESSAGES / 10) early = heapAfterCollection()
    }
    const { server } = rig
    await vi.waitUntil(() => server.stats().transactions + server.stats().dialogs === 0, { timeout: 180_000 })
    expect(rig.server.stats()).toMatchObject({ faults: 0, pending: 0, dialogs: 0, transactions: 0, apps: 1 })
    expect(rig.server.counters.malformed).toBeGreaterThan(MESSAGES / 10)
    expect(app.unreadable).toBe(0)
    expect(heapAfterCollection() - early).toBeLessThan(GROWTH_BYTES)
  },
  inject('full') ? 30 * 60_000 : 60_000,
)
