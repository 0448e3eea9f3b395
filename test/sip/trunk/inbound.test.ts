/** Calls as carriers send them: numbers in every format, and the responses to callers who can't be served. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { writeAllowedSources } from '../../../infra/adapters/allowed-sources.ts'
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import { allowList, readCidrLines, standingOf } from '../../../sip/server/allow.ts'
import { headerOf } from '../../../sip/text/message.ts'
import { calledNumber } from '../../../sip/trunk/legs/answer.ts'
import { answerOfRefusal } from '../../../sip/trunk/requests/outcome.ts'
import { userOf } from '../../../sip/trunk/routing/address.ts'
import { callerNumber, ownNumber, readingsOf } from '../../../sip/trunk/routing/numbers.ts'
import { Caller, type Peer } from '../peer.ts'
import { type Bench, type FarMedia, trunkPlan } from './bench.ts'
import { eachWithPeer } from './peer-bench.ts'

const german = { calling_code: '49', national_prefix: '0', international_prefix: '00' }
const american = { calling_code: '1', national_prefix: null, international_prefix: '011' }
const russian = { calling_code: '7', national_prefix: '8', international_prefix: '810' }

describe('number normalisation', () => {
  const numbers = ['+4930123456', '+12025550100', '+74951234567']

  it.each([
    ['+4930123456', german, '+4930123456'],
    ['4930123456', german, '+4930123456'],
    ['004930123456', german, '+4930123456'],
    ['030123456', german, '+4930123456'],
    ['030/123-456', german, '+4930123456'],
    ['30123456', german, '+4930123456'],
    ['030123456', null, null],
    ['004930123456', null, '+4930123456'],
    ['2025550100', american, '+12025550100'],
    ['12025550100', american, '+12025550100'],
    ['01112025550100', american, '+12025550100'],
    ['84951234567', russian, '+74951234567'],
    ['4951234567', russian, '+74951234567'],
    ['81074951234567', russian, '+74951234567'],
    ['+2025550100', american, null],
    ['123456', german, null],
    ['', german, null],
    ['alice', german, null],
  ])('%s is meant by it', (dialed, dialing, number) => {
    expect(ownNumber(dialed, numbers, dialing)).toBe(number)
  })

  it('is matched literally before normalisation', () => {
    expect(ownNumber('4930123456', ['+494930123456', '+4930123456'], german)).toBe('+4930123456')
    expect(readingsOf('+30123', german)).toEqual(['30123'])
  })

  it.each([
    ['0301234567', german, '+49301234567'],
    ['00442079460000', german, '+442079460000'],
    ['442079460000', german, '442079460000'],
    ['2025550100', american, '+12025550100'],
    ['12025550100', american, '12025550100'],
    ['84957654321', russian, '+74957654321'],
    ['anonymous', german, 'anonymous'],
    ['110', german, '110'],
    ['', german, 'anonymous'],
    [null, null, 'anonymous'],
  ])('a caller written %s', (text, dialing, number) => {
    expect(callerNumber(text, dialing)).toBe(number)
  })

  it.each([
    ['sip:+12025550100@h;user=phone', '+12025550100'],
    ['sip:+12025550100;npdi;rn=+12025551111@h;user=phone', '+12025550100'],
    ['sip:12025550100;npdi;rn=12025551111@h', '12025550100'],
    ['tel:+1-202-555-0100;rn=+1-202-555-1111;npdi', '+1-202-555-0100'],
    ['<tel:30123456;phone-context=+49>', '+4930123456'],
    ['sip:30123456;phone-context=+49@h;user=phone', '+4930123456'],
    ['tel:7042;phone-context=example.com', '7042'],
    ['sip:%2B12025550100@h', '+12025550100'],
  ])('stands in %s', (uri, user) => {
    expect(userOf(uri)).toBe(user)
  })

  it('is found where a registered carrier puts it', () => {
    const trunk = trunkPlan({ port: 1 }, { username: 'acct', numbers: ['+4930123456', '+4930123457'], dialing: german })
    expect(calledNumber(['acct', null, '030123457'], trunk)).toBe('+4930123457')
    expect(calledNumber(['acct', '+4930123456', 'acct'], trunk)).toBe('+4930123456')
    expect(calledNumber(['acct', null, '030999999'], trunk)).toBe('+4930999999')
    expect(calledNumber(['acct', null, 'acct'], trunk)).toBe('anonymous')
    const sole = { ...trunk, numbers: ['+4930123456'] }
    expect(calledNumber(['acct', null, 'acct'], sole)).toBe('+4930123456')
    expect(calledNumber(['+4930999999', null, null], sole)).toBe('+4930999999')
    // To is the caller's choice; the Request-URI and P-Called-Party-ID are the carrier's.
    expect(calledNumber(['acct', null, '+4930999999'], sole)).toBe('+4930123456')
    expect(calledNumber(['acct', '+4930999999', 'acct'], sole)).toBe('+4930999999')
    expect(calledNumber(['0301', null, null], null)).toBe('0301')
  })
})

describe('responses', () => {
  const uri = 'sip:+4930777@carrier.example'

  it('includes Retry-After where it may help', () => {
    expect(answerOfRefusal('not_ready', null)).toEqual({ status: 503, headers: { 'Retry-After': '5' } })
    expect(answerOfRefusal('too_many_calls', null)).toEqual({ status: 486, headers: {} })
  })

  it('names the fallback unless a softphone was called', () => {
    for (const refusal of ['too_many_calls', 'not_ready', 'insufficient_balance', 'subscription_inactive'] as const) {
      expect(answerOfRefusal(refusal, uri)).toEqual({ status: 302, headers: { Contact: `<${uri}>` } })
    }
    expect(answerOfRefusal('unknown_number', uri).status).toBe(404)
    expect(answerOfRefusal('unknown_source', uri).status).toBe(403)
  })
})

describe('a call comes in', () => {
  let bench: Bench
  let peer: Peer
  let far: FarMedia
  const { restart } = eachWithPeer(opened => {
    ;({ bench, peer, far } = opened)
  })

  async function offered(uri: string, over: Partial<TrunkPlan> = {}, extra: readonly string[] = []) {
    bench.setTrunks(trunkPlan(peer, over))
    const caller = new Caller(peer, uri)
    caller.invite(far.sdp(), extra)
    return { caller, offer: await bench.offer() }
  }
  const here = () => `127.0.0.1:${bench.rig.udpPort}`

  it.each([
    ['sip:2025550100@HERE;user=phone', {}, []],
    ['sip:+12025550100;rn=+12025551111;npdi@HERE;user=phone', {}, []],
    ['sip:acct@HERE', { username: 'acct' }, ['P-Called-Party-ID: <tel:+1-202-555-0100>']],
  ])('for our number: %s', async (uri, over, extra) => {
    const { caller, offer } = await offered(uri.replace('HERE', here()), { dialing: american, ...over }, extra)
    expect(offer.called).toBe('+12025550100')
    offer.reject('unknown_number')
    await caller.answered(404)
    caller.ack(true)
  })

  it('is redirected to the fallback when rejected', async () => {
    const over = { fallback_number: '+4930777', from_domain: 'carrier.example', number_format: 'digits' } as const
    const { caller, offer } = await offered(`sip:+12025550100@${here()}`, over)
    offer.reject('not_ready')
    const moved = await caller.answered(302)
    expect(headerOf(moved, 'Contact')).toBe('<sip:4930777@carrier.example>')
    caller.ack(true)
  })

  it('is answered with Retry-After when rejected', async () => {
    const { caller, offer } = await offered(`sip:+12025550100@${here()}`)
    offer.reject('internal_error')
    expect(headerOf(await caller.answered(503), 'Retry-After')).toBe('5')
    caller.ack(true)
  })

  it('is recognised from further hosts of the trunk', async () => {
    bench.setTrunks(
      trunkPlan({ port: 9 }, { host: '192.0.2.7', hosts: [{ host: '127.0.0.1', port: 9, transport: 'udp' }] }),
    )
    const caller = new Caller(peer, `sip:+12025550100@${here()}`)
    caller.invite(far.sdp())
    const offer = await bench.offer()
    offer.reject('unknown_number')
    await caller.answered(404)
    caller.ack(true)
    expect(bench.edge.allowedSources().sort()).toEqual(['127.0.0.1', '192.0.2.7'])
  })

  it("is ignored from unknown sources, which are added to the server's list", async () => {
    const folder = mkdtempSync(join(tmpdir(), 'allow-'))
    const file = join(folder, 'sources')
    const server = () => bench.rig.server.setAllowedSources(readCidrLines(readFileSync(file, 'utf8')))
    await restart({ allow: [] }, { onAllowedSources: cidrs => writeAllowedSources(file, cidrs) })
    bench.setTrunks(trunkPlan(peer, { host: '192.0.2.7', allowed_ips: ['198.51.100.0/24'] }))
    server()
    const list = allowList(readCidrLines(readFileSync(file, 'utf8')))
    const allowed = ['192.0.2.7', '198.51.100.9', '127.0.0.1', '::1', '203.0.113.1', '192.0.2.8']
    const standings = allowed.map(address => standingOf(list, address))
    expect(standings).toEqual(['trunk', 'trunk', 'known', 'known', 'out', 'out'])
    rmSync(folder, { recursive: true })
  })
})
