/** Softphones on the wire: they register, place and receive calls; strangers and password guessers are limited. */
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { busKeys } from '../../../media/bus/keys.ts'
import { createSoftphoneBook, followSoftphones, type SoftphoneBook } from '../../../media/bus/softphone-book.ts'
import { createSealer } from '../../../media/contract/seal.ts'
import type { SoftphonePlan } from '../../../media/contract/softphones.ts'
import type { Softphones } from '../../../media/ports/trunks.ts'
import { headerOf } from '../../../sip/text/message.ts'
import { SoftphoneRegistrar } from '../../../sip/trunk/registrar/registrar.ts'
import { authorization, parseChallenges } from '../../../sip/trunk/requests/digest.ts'
import { until } from '../../support/world.ts'
import { reply } from '../peer.ts'
import { Bench, callPlan, clock, FarMedia, MemoryLog, trunkPlan } from './bench.ts'
import { PASSWORD, Phone, planOf, USER } from './phone.ts'

let bench: Bench
let book: SoftphoneBook
let directory: Softphones
let phone: SoftphonePlan
const closers: (() => unknown)[] = []

beforeEach(async () => {
  const redis = new Redis(inject('redisUrl'), { maxRetriesPerRequest: null })
  const parts = { redis, keys: busKeys(`phones-${randomUUID()}`), sealer: createSealer('secret') }
  book = createSoftphoneBook(parts)
  phone = planOf(USER)
  const followed = await followSoftphones({ ...parts, clock, log: new MemoryLog() })
  directory = followed
  bench = await Bench.start({}, { softphones: { directory, secret: 'secret' } })
  closers.push(
    () => bench.close(),
    () => followed.stop(),
    () => redis.disconnect(),
  )
  await book.put(phone)
  await until(() => directory.any(), 'the engine to know')
})
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

describe('a softphone', () => {
  it.each(['MD5', 'SHA-256'])('registers with %s and unregisters', async algorithm => {
    const far = new Phone(await bench.rig.udpPeer())
    const answer = await far.register([far.contact()], algorithm)
    expect(answer.status).toBe(200)
    expect(headerOf(answer, 'Contact')).toBe(`<${far.uri}>;expires=300`)
    const [state] = await book.states([phone.id])
    expect(state!.contacts).toMatchObject([
      { uri: far.uri, host: '127.0.0.1', port: far.peer.port, transport: 'udp', user_agent: 'Test/1' },
    ])
    expect((await far.register(['Contact: *', 'Expires: 0'])).status).toBe(200)
    expect((await book.states([phone.id]))[0]!.contacts).toEqual([])
  })

  it('queries contacts, gets 423, and cannot register others', async () => {
    const far = new Phone(await bench.rig.tcpPeer())
    await far.register()
    expect(headerOf(await far.register([]), 'Contact')).toContain(`<${far.uri}>;expires=`)
    const brief = await far.register([far.contact(10)])
    expect([brief.status, headerOf(brief, 'Min-Expires')]).toEqual([423, '60'])
    expect((await far.register([far.contact(), 'Require: path'])).status).toBe(420)
    await book.put(planOf('phone-zzzzzzzz'))
    far.ask('REGISTER', [far.contact()])
    const proof = far.proof(await far.peer.response(401))
    far.peer.send([
      ...['REGISTER sip:127.0.0.1 SIP/2.0', `Via: SIP/2.0/TCP 127.0.0.1:1;branch=z9hG4bKother${randomUUID()}`],
      ...['From: <sip:phone-zzzzzzzz@127.0.0.1>;tag=p', 'To: <sip:phone-zzzzzzzz@127.0.0.1>', 'Max-Forwards: 70'],
      ...[`Call-ID: ${randomUUID()}`, 'CSeq: 1 REGISTER', far.contact(), proof],
    ])
    expect((await far.peer.response(403)).status).toBe(403)
  })

  it("calls its agent under its own identity, also from a trunk's address", async () => {
    bench.setTrunks(trunkPlan({ port: 9 }))
    const far = new Phone(await bench.rig.udpPeer())
    const media = await FarMedia.open()
    const extra = [far.contact(), 'Content-Type: application/sdp', 'P-Asserted-Identity: <sip:+12025550100@x>']
    const to = `sip:agent@127.0.0.1:${bench.rig.udpPort}`
    far.ask('INVITE', extra, to, media.sdp())
    const challenged = await far.peer.response(401, 'INVITE')
    far.ask('INVITE', [...extra, far.proof(challenged, { method: 'INVITE', uri: to })], to, media.sdp())
    const offer = await bench.offer()
    expect(offer).toMatchObject({ caller: USER, called: 'agent', softphoneId: phone.id, trunkId: null })
    const answering = offer.answer()
    const answered = await far.peer.response(200, 'INVITE')
    expect(answered.body.toString()).toContain('m=audio')
    const leg = await answering
    const over = leg!.hangup('agent_hangup')
    reply(far.peer, await far.peer.request('BYE'), '200 OK')
    media.close()
    await over
  })

  it('registered twice rings twice; the first answer wins', async () => {
    const [one, two] = [new Phone(await bench.rig.udpPeer()), new Phone(await bench.rig.tcpPeer())]
    await one.register()
    await two.register()
    const media = await FarMedia.open()
    const call = ring()
    const [first, second] = [await one.peer.request('INVITE'), await two.peer.request('INVITE')]
    expect([first.uri, second.uri]).toEqual([one.uri, two.uri])
    expect(headerOf(first, 'From')).toMatch(/^<sip:agent@127\.0\.0\.1/)
    reply(one.peer, first, '180 Ringing')
    reply(two.peer, second, '180 Ringing')
    reply(two.peer, second, '200 OK', [two.contact(), 'Content-Type: application/sdp'], media.sdp())
    const cancel = await one.peer.request('CANCEL')
    reply(one.peer, cancel, '200 OK')
    reply(one.peer, first, '487 Request Terminated')
    const result = await call.result
    expect(result.ok).toBe(true)
    expect(call.rings).toBe(1)
    if (result.ok) {
      expect([result.leg.transfer, result.leg.line]).toEqual([undefined, undefined])
      const over = result.leg.hangup('agent_hangup')
      reply(two.peer, await two.peer.request('BYE'), '200 OK')
      await over
    }
    media.close()
  })

  it('that declines, is busy or is offline reports so', async () => {
    expect((await ring().result) as object).toMatchObject({
      ok: false,
      failure: { status: 'no_answer', sipCode: null },
    })
    const [one, two] = [new Phone(await bench.rig.udpPeer()), new Phone(await bench.rig.udpPeer())]
    await one.register()
    await two.register()
    const busy = ring()
    reply(one.peer, await one.peer.request('INVITE'), '486 Busy Here')
    reply(two.peer, await two.peer.request('INVITE'), '480 Temporarily Unavailable')
    expect(await busy.result).toMatchObject({ failure: { status: 'busy', sipCode: 486 } })
    const declined = ring()
    const other = await two.peer.request('INVITE')
    reply(two.peer, other, '180 Ringing')
    reply(one.peer, await one.peer.request('INVITE'), '603 Decline')
    reply(two.peer, await two.peer.request('CANCEL'), '200 OK')
    reply(two.peer, other, '487 Request Terminated')
    expect(await declined.result).toMatchObject({ failure: { reason: 'declined', sipCode: 603 } })
  })

  it('with a new password must register again', async () => {
    const far = new Phone(await bench.rig.udpPeer())
    await far.register()
    await book.put({ ...planOf(USER, 'another'), id: phone.id })
    expect(await book.states([phone.id])).toEqual([null])
    far.ask('REGISTER', [far.contact()])
    far.ask('REGISTER', [far.contact(), far.proof(await far.peer.response(401))])
    await far.peer.response(401)
    expect(await book.states([phone.id])).toEqual([null])
    await book.remove(USER, phone.id)
    await until(() => !directory.any(), 'the engine to know')
    far.ask('REGISTER', [far.contact()])
    far.ask('REGISTER', [far.contact(), far.proof(await far.peer.response(401))])
    await far.peer.response(401)
    const [to, stranger] = [
      `sip:agent@127.0.0.1:${bench.rig.udpPort}`,
      [far.contact(), 'Content-Type: application/sdp'],
    ]
    far.ask('INVITE', stranger, to, 'v=0\r\n')
    await far.peer.response(403, 'INVITE')
  })
})

describe('an unknown client', () => {
  it('that replays credentials is challenged as stale', async () => {
    const far = new Phone(await bench.rig.udpPeer())
    far.ask('REGISTER', [far.contact()])
    const proof = far.proof(await far.peer.response(401))
    far.ask('REGISTER', [far.contact(), proof])
    await far.peer.response(200)
    const thief = new Phone(await bench.rig.udpPeer())
    thief.ask('REGISTER', [thief.contact(), proof])
    const again = await thief.peer.response(401)
    expect(headerOf(again, 'WWW-Authenticate')).toContain('stale=true')
    expect((await book.states([phone.id]))[0]!.contacts.map(({ port }) => port)).toEqual([far.peer.port])
  })

  it.each([
    ['no such user', 'phone-22222222', PASSWORD],
    ['a wrong password', USER, 'guessed'],
    ['a user that no softphone can have', 'admin', 'admin'],
  ])('with %s is challenged, and logged alike', async (_name, user, password) => {
    const far = new Phone(await bench.rig.udpPeer(), user)
    far.ask('REGISTER', [far.contact()])
    far.ask('REGISTER', [far.contact(), far.proof(await far.peer.response(401), { password })])
    const again = await far.peer.response(401)
    expect(headerOf(again, 'WWW-Authenticate')).not.toContain('stale')
    expect(bench.log.lines.filter(line => line.startsWith('softphone sent wrong password'))).toHaveLength(1)
    expect(bench.log.lines.join()).not.toContain(password)
  })

  it('cannot call, and learns nothing by OPTIONS', async () => {
    const far = new Phone(await bench.rig.udpPeer(), 'caller')
    const to = `sip:+442079460000@127.0.0.1:${bench.rig.udpPort}`
    far.ask('INVITE', [far.contact(), 'Content-Type: application/sdp'], to, 'v=0\r\n')
    await far.peer.response(401, 'INVITE')
    far.ask('OPTIONS', [], to)
    await far.peer.response(403, 'OPTIONS')
  })

  it('receives Retry-After without Redis', async () => {
    const away = { ...directory, find: () => new Promise<null>(() => {}) }
    const soon = { ...clock, after: (_ms: number, run: () => void) => clock.after(1, run) }
    const options = { softphones: away, secret: 'secret', clock: soon, log: new MemoryLog(), isTrusted: () => true }
    const registrar = new SoftphoneRegistrar(options)
    const answers: [number, { headers?: Record<string, string> }][] = []
    const res = { send: (status: number, more: object) => answers.push([status, more]) } as never
    const ask = (Authorization?: string) => {
      const headers: Record<string, string | undefined> = { Authorization, From: `<sip:${USER}@x>`, CSeq: '1 REGISTER' }
      const req = {
        source_address: '203.0.113.9',
        method: 'REGISTER',
        uri: 'sip:x',
        get: (name: string) => headers[name],
      }
      return registrar.onRegister(req as never, res)
    }
    await ask()
    const [challenge] = parseChallenges(answers[0]![1].headers!['WWW-Authenticate']!.split('\r\n')[0]!)
    const input = { username: USER, password: PASSWORD, method: 'REGISTER', uri: 'sip:x', cnonce: 'c', nonceCount: 1 }
    await ask(authorization(challenge!, input))
    expect(answers[1]).toEqual([503, { headers: { 'Retry-After': '5' } }])
  })

  it('that guesses a name, from however many networks, never keeps its telephone out', async () => {
    const options = { softphones: directory, secret: 'secret', clock, log: new MemoryLog(), isTrusted: () => false }
    const registrar = new SoftphoneRegistrar(options)
    const ask = async (source: string, password: string | null, username = USER) => {
      const answers: [number, { headers?: Record<string, string> }][] = []
      const res = { send: (...answer: [number, object]) => answers.push(answer), finalResponseSent: false } as never
      const request = async (authorized?: string) => {
        const from = `<sip:${username}@x>`
        const contact = `<sip:${username}@${source}>`
        const headers: Record<string, string | undefined> = {
          From: from,
          To: from,
          Contact: contact,
          CSeq: '1 REGISTER',
        }
        headers['Call-ID'] = `${source}${authorized}`
        headers['Authorization'] = authorized
        const get = (name: string) => headers[name]
        await registrar.onRegister({ source_address: source, method: 'REGISTER', uri: 'sip:x', get } as never, res)
        return answers.at(-1)!
      }
      const [status, challenged] = await request()
      if (password === null || status !== 401) return status
      const [challenge] = parseChallenges(challenged.headers!['WWW-Authenticate']!.split('\r\n')[0]!)
      const input = { username, password, method: 'REGISTER', uri: 'sip:x', cnonce: 'c', nonceCount: 1 }
      return (await request(authorization(challenge!, input)))[0]
    }
    const guesses: number[] = []
    for (let place = 1; place <= 4; place++) {
      for (let n = 0; n < 5; n++) guesses.push(await ask(`198.51.100.${place}`, 'wrong'))
    }
    // Guessers learn that they are wrong ten times, then nothing.
    expect(guesses.slice(0, 10)).toEqual(Array(10).fill(401))
    expect(guesses.slice(10)).toEqual(Array(10).fill(503))
    expect(await ask('203.0.113.77', PASSWORD)).toBe(200)
    // A name that does not exist is answered alike.
    const nobody: number[] = []
    for (let n = 0; n < 12; n++) nobody.push(await ask(`198.51.101.${n >> 2}`, 'wrong', 'phone-zzzzzzzz'))
    expect(nobody).toEqual([...Array(10).fill(401), 503, 503])
  })

  it('that guesses passwords is blocked for a while; registered ones continue', async () => {
    const banned: string[] = []
    const told = { ...directory, ban: async (network: string) => void banned.push(network) }
    const options = { softphones: told, secret: 'secret', clock, log: new MemoryLog(), isTrusted: () => false }
    const registrar = new SoftphoneRegistrar(options)
    const statuses: number[] = []
    for (let i = 0; i < 101; i++) {
      const headers: Record<string, string> = { From: '<sip:100@x>;tag=1', To: '<sip:100@x>', CSeq: '1 REGISTER' }
      const req = {
        source_address: '203.0.113.9',
        method: 'REGISTER',
        uri: 'sip:x',
        get: (name: string) => headers[name],
      }
      await registrar.onRegister(req as never, { send: (status: number) => statuses.push(status) } as never)
    }
    expect(statuses.slice(0, 99).every(status => status === 401)).toBe(true)
    expect(statuses.slice(-1)).toEqual([403])
    expect(banned[0]).toBe('203.0.113.9')
    await directory.ban('203.0.113.9', 60_000)
    expect(bench.edge.allowedSources()).toEqual(['?0.0.0.0/0', '?::/0', '!203.0.113.9'])
    const far = new Phone(await bench.rig.udpPeer())
    expect((await far.register()).status).toBe(200)
  })
})

function ring() {
  const call = { rings: 0, result: null as unknown as ReturnType<typeof bench.edge.dialer.dial> }
  call.result = bench.edge.dialer.dial({
    plan: callPlan(null, { softphone_id: phone.id, from: 'agent', to: USER }),
    signal: new AbortController().signal,
    onRinging: () => {
      call.rings += 1
    },
  })
  return call
}
