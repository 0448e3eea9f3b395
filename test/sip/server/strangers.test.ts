/** Requests from sources that are not trunks: a scanner gets no response, a phone is accepted. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { headerOf } from '../../../sip/text/message.ts'
import { until } from '../../support/world.ts'
import { Caller, type Peer } from '../peer.ts'
import { type App, Rig } from '../rig.ts'
import { Phone } from '../trunk/phone.ts'

const TRUNK = '127.0.0.1'
const STRANGER = '127.0.0.2'

let rig: Rig
let app: App
/** Methods of the requests that reached applications. */
let asked: string[]

beforeEach(async () => {
  rig = await Rig.start({ allow: [TRUNK, '?127.0.0.0/8'] })
  app = await rig.app()
  asked = []
  app.use('register', (req, res) => {
    asked.push('REGISTER')
    res.send(req.has('Authorization') ? 200 : 401, { headers: { 'WWW-Authenticate': 'Digest realm="x", nonce="n"' } })
  })
  app.use('options', (_req, res) => {
    asked.push('OPTIONS')
    res.send(200)
  })
  app.invite((_req, res) => {
    asked.push('INVITE')
    res.send(404)
  })
})
afterEach(() => rig.close())

const uri = () => `sip:100@127.0.0.1:${rig.udpPort}`

/** A trunk asks and is answered: all that was sent before has been dealt with. */
async function settled(): Promise<void> {
  const trunk = await rig.udpPeer()
  new Caller(trunk, uri()).request('OPTIONS')
  await trunk.response(200, 'OPTIONS')
}

async function sendScan(peer: Peer): Promise<number> {
  const methods = [
    'OPTIONS',
    'INVITE',
    'REGISTER',
    'SUBSCRIBE',
    'MESSAGE',
    'NOTIFY',
    'PUBLISH',
    'BYE',
    'INFO',
    'CANCEL',
  ]
  for (const method of methods) new Caller(peer, uri()).request(method, ['Event: presence'])
  // As an in-dialog request, and as garbage.
  const inside = new Caller(peer, uri())
  inside.toTag = 'guessed'
  for (const method of ['INVITE', 'BYE', 'INFO']) inside.request(method)
  peer.raw(`INVITE ${uri()} SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.2:5060;branch=z9hG4bKx\r\nCSeq: 1 INVITE\r\n\r\n`)
  return methods.length + 3
}

it.each(['udp', 'tcp'] as const)('counts a scanner over %s and never answers it', async kind => {
  const scanner = await (kind === 'udp' ? rig.udpPeer(STRANGER) : rig.tcpPeer(STRANGER))
  const sent = await sendScan(scanner)
  await until(() => rig.server.counters.scanned === sent && rig.server.counters.malformed === 1, 'all of it to be seen')
  await settled()
  expect(scanner.received).toEqual([])
  expect(asked).toEqual(['OPTIONS'])
  // Only the trunk's own request is left.
  expect(rig.server.stats()).toMatchObject({ dialogs: 0, pending: 1, transactions: 1, faults: 0, disallowed: 0 })
})

it("authenticates a softphone's name before further requests", async () => {
  const phone = new Phone(await rig.udpPeer(STRANGER))
  phone.ask('OPTIONS')
  phone.ask('REGISTER', [phone.contact()])
  const challenged = await phone.peer.response(401, 'REGISTER')
  phone.ask('OPTIONS')
  expect(headerOf(challenged, 'WWW-Authenticate')).toContain('Digest')
  phone.ask('REGISTER', [phone.contact(), 'Authorization: Digest username="x"'])
  await phone.peer.response(200, 'REGISTER')
  phone.ask('OPTIONS')
  await phone.peer.response(200, 'OPTIONS')
  expect(rig.server.counters.scanned).toBe(2)
  expect(asked).toEqual(['REGISTER', 'REGISTER', 'OPTIONS'])
})

it("isolates calls of a stranger with a softphone's name", async () => {
  const phone = await rig.udpPeer(STRANGER)
  const head = (method: string, user: string) =>
    new Caller(phone, uri())
      .head(method, { cseq: 1 })
      .map(line => (line.startsWith('From') ? `From: <sip:${user}@x>;tag=1` : line))
  phone.send(head('INVITE', 'phone-abcdefgh'))
  expect((await phone.response(404, 'INVITE')).status).toBe(404)
  phone.send(head('INVITE', 'phone-1'))
  phone.send(head('INVITE', '100'))
  await until(() => rig.server.counters.scanned === 2, 'the others to be dropped')
  expect(asked).toEqual(['INVITE'])
})

it('drops floods before parsing', async () => {
  const guesser = new Phone(await rig.udpPeer(STRANGER), 'phone-zzzzzzzz')
  for (let n = 0; n < 500; n++) guesser.ask('REGISTER', [guesser.contact()])
  const { flooded } = rig.server.counters
  await until(() => rig.server.counters.flooded > flooded + 300, 'most of it to be dropped')
  const phone = new Phone(await rig.udpPeer('127.0.0.3'))
  phone.ask('REGISTER', [phone.contact()])
  await phone.peer.response(401, 'REGISTER')
  expect(asked.length).toBeLessThan(250)
})

it('limits unsolicited responses', async () => {
  const stranger = await rig.udpPeer(STRANGER)
  const response = ['SIP/2.0 200 OK', ...new Caller(stranger, uri()).head('OPTIONS').slice(1)]
  for (let n = 0; n < 500; n++) stranger.send(response)
  await until(() => rig.server.counters.flooded > 200, 'most of them to be dropped')
  expect(rig.server.counters.strayResponses).toBeLessThan(290)
})
