/** Sources of trunks may place calls. For all other requests they are strangers. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { until } from '../../support/world.ts'
import { Caller } from '../peer.ts'
import { type App, Rig } from '../rig.ts'
import { Phone } from '../trunk/phone.ts'

const KNOWN = '127.0.0.1'
const TRUNK = '127.0.0.2'
const CONTACT = 'tabcdefghjkmnpqrstvw'

let rig: Rig
let app: App
/** Methods of the requests that reached applications. */
let asked: string[]
let answersCalls: number

async function start(allow: string[]): Promise<void> {
  rig = await Rig.start({ allow: [KNOWN, `@${TRUNK}/32`, `=${CONTACT}`, ...allow] })
  app = await rig.app()
  asked = []
  answersCalls = 404
  app.use('register', (_req, res) => {
    asked.push('REGISTER')
    res.send(401)
  })
  app.use('options', (_req, res) => {
    asked.push('OPTIONS')
    res.send(200)
  })
  app.invite((_req, res) => {
    asked.push('INVITE')
    res.send(answersCalls, { body: 'v=0' })
  })
}
beforeEach(() => start([]))
afterEach(() => rig.close())

const uri = (user = '100') => `sip:${user}@127.0.0.1:${rig.udpPort}`
const OTHERS = ['OPTIONS', 'REGISTER', 'SUBSCRIBE', 'MESSAGE', 'NOTIFY', 'PUBLISH', 'INFO', 'REFER']

it.each(['udp', 'tcp'] as const)('hears nothing over %s but answers to calls', async kind => {
  const trunk = await (kind === 'udp' ? rig.udpPeer(TRUNK) : rig.tcpPeer(TRUNK))
  for (const method of OTHERS) {
    new Caller(trunk, uri()).request(method, ['Event: presence'])
    const inside = new Caller(trunk, uri())
    inside.toTag = 'guessed'
    inside.request(method, ['Event: presence'])
  }
  await until(() => rig.server.counters.disallowed === 2 * OTHERS.length, 'all of it to be seen')
  expect(trunk.received).toEqual([])
  const caller = new Caller(trunk, uri())
  caller.invite('v=0')
  expect((await caller.answered(404)).status).toBe(404)
  expect(asked).toEqual(['INVITE'])
})

it('ends calls that we do not have, so that its host ends them too', async () => {
  const trunk = await rig.udpPeer(TRUNK)
  for (const method of ['BYE', 'INVITE', 'UPDATE']) {
    const caller = new Caller(trunk, uri())
    caller.toTag = 'gone'
    caller.request(method)
    expect((await trunk.response(481, method)).status).toBe(481)
  }
  expect(asked).toEqual([])
})

it('may ask for a registration of ours by its contact, which only its registrar knows', async () => {
  const trunk = await rig.udpPeer(TRUNK)
  new Caller(trunk, uri(CONTACT)).request('OPTIONS')
  await trunk.response(200, 'OPTIONS')
  expect(asked).toEqual(['OPTIONS'])
})

it('is admitted as a stranger where softphones exist, within the limits of strangers', async () => {
  await rig.close()
  await start(['?127.0.0.0/8'])
  const phone = new Phone(await rig.udpPeer(TRUNK))
  for (let n = 0; n < 300; n++) phone.ask('REGISTER', [phone.contact()])
  await until(() => rig.server.counters.flooded > 100, 'most of it to be dropped')
  // With a To tag it looks like a request of a call until it is parsed.
  const inside = new Caller(phone.peer, uri())
  inside.toTag = 'x'
  for (let n = 0; n < 300; n++) inside.request('REGISTER')
  await until(() => rig.server.counters.flooded + rig.server.counters.scanned > 400, 'these, too')
  expect(asked.length).toBeLessThan(190)
  const caller = new Caller(phone.peer, uri())
  caller.invite('v=0')
  expect((await caller.answered(404)).status).toBe(404)
})

it('proves no softphone by its calls: removed from the trunk, it is a stranger', async () => {
  await rig.close()
  await start(['?127.0.0.0/8'])
  answersCalls = 200
  const peer = await rig.udpPeer(TRUNK)
  const caller = new Caller(peer, uri())
  caller.invite('v=0')
  await caller.answered(200)
  rig.server.setAllowedSources([KNOWN, '?127.0.0.0/8'])
  const heard = peer.received.length
  new Caller(peer, uri('200')).invite('v=0')
  await until(() => rig.server.counters.scanned === 1, 'the call to be dropped')
  expect(peer.received.length).toBe(heard)
})

it('is banned as a guesser, and its calls go on', async () => {
  await rig.close()
  await start(['?127.0.0.0/8', `!${TRUNK}`])
  const phone = new Phone(await rig.udpPeer(TRUNK))
  phone.ask('REGISTER', [phone.contact()])
  phone.ask('INVITE', [phone.contact()])
  await until(() => rig.server.counters.disallowed === 2, 'both to be dropped')
  const caller = new Caller(phone.peer, uri())
  caller.invite('v=0')
  await caller.answered(404)
  expect(asked).toEqual(['INVITE'])
})
