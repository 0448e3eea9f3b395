import { describe, expect, it } from 'vitest'
import { keyInInfo } from '../../../sip/trunk/legs/keys.ts'
import { type RegistrationState, stepRegistration, unregistered } from '../../../sip/trunk/registration/plan.ts'
import { answerOfRefusal, outcomeOf, unansweredOutcome } from '../../../sip/trunk/requests/outcome.ts'
import { proxyUri, trunkUri, userOf } from '../../../sip/trunk/routing/address.ts'
import { Trunks, type TrunksParts } from '../../../sip/trunk/routing/directory.ts'
import { NextHopResolver } from '../../../sip/trunk/routing/next-hop.ts'
import { callerNumber, ownNumber } from '../../../sip/trunk/routing/numbers.ts'
import { hostsOnly, MemoryLog, trunkPlan } from './bench.ts'

describe('outcome table', () => {
  it.each([
    [301, 'failed', 'carrier_error'],
    [401, 'failed', 'auth_failed'],
    [403, 'failed', 'forbidden_by_carrier'],
    [404, 'failed', 'number_unknown'],
    [408, 'no_answer', 'no_answer'],
    [480, 'no_answer', 'no_answer'],
    [484, 'failed', 'number_invalid'],
    [486, 'busy', 'busy'],
    [488, 'failed', 'no_common_codec'],
    [500, 'failed', 'carrier_error'],
    [503, 'failed', 'carrier_congestion'],
    [600, 'busy', 'busy'],
    [603, 'busy', 'declined'],
    [699, 'failed', 'carrier_error'],
  ])('%i: %s, %s', (code, status, reason) => {
    expect(outcomeOf(code, true)).toMatchObject({ status, reason })
    expect(outcomeOf(code, true).message).toMatch(/^[A-Z].*\.$/)
  })

  it('blames the trunk when nobody was heard', () => {
    expect(outcomeOf(408, false).reason).toBe('trunk_unreachable')
    expect(outcomeOf(503, false).reason).toBe('trunk_unreachable')
    expect(unansweredOutcome(false).reason).toBe('trunk_unreachable')
    expect(unansweredOutcome(true).status).toBe('no_answer')
  })

  it('every refusal of control has an answer', () => {
    expect(
      (['unknown_number', 'unknown_source', 'too_many_calls', 'not_ready', 'internal_error'] as const).map(
        refusal => answerOfRefusal(refusal, null).status,
      ),
    ).toEqual([404, 403, 486, 503, 503])
  })
})

describe('addresses', () => {
  it('of trunks', () => {
    expect(trunkUri({ host: 'sip.example.com', port: 5060, transport: 'udp' }, '+1 2')).toBe(
      'sip:+1%202@sip.example.com:5060',
    )
    expect(trunkUri({ host: '2001:db8::1', port: 5070, transport: 'tcp' }, null)).toBe(
      'sip:[2001:db8::1]:5070;transport=tcp',
    )
    expect(proxyUri({ outbound_proxy: 'proxy:5080', transport: 'tcp' })).toBe('sip:proxy:5080;transport=tcp')
    expect(proxyUri({ outbound_proxy: 'sip:proxy;lr', transport: 'tcp' })).toBe('sip:proxy;lr')
    expect(proxyUri({ outbound_proxy: ' ', transport: 'udp' })).toBeNull()
    expect(proxyUri({ outbound_proxy: 'a b', transport: 'udp' })).toBeNull()
  })

  it('of people', () => {
    expect(userOf('"A" <sip:+1202;isub=1@h;user=phone>;tag=1')).toBe('+1202')
    expect(userOf('<tel:+1-202-555-0100>')).toBe('+1-202-555-0100')
    expect(userOf('sip:h')).toBeNull()
    expect(userOf(undefined)).toBeNull()
    expect(callerNumber('0044 20 7946-0000')).toBe('+442079460000')
    expect(callerNumber('alice')).toBe('alice')
    expect(callerNumber(null)).toBe('anonymous')
  })

  it.each(['+12025550100', '12025550100', '0012025550100', '+1-202-555-0100'])('%s is our number', dialed => {
    expect(ownNumber(dialed, ['+4930', '+12025550100'])).toBe('+12025550100')
  })

  it('keys in INFO', () => {
    expect(keyInInfo('application/dtmf-relay', 'Signal=5\r\nDuration=160')).toBe('5')
    expect(keyInInfo('application/dtmf-relay;x=y', 'Signal= 11 ')).toBe('#')
    expect(keyInInfo('application/dtmf', '*')).toBe('*')
    expect(keyInInfo('application/dtmf', 'a')).toBe('A')
    expect(keyInInfo('application/dtmf-relay', 'Signal=99')).toBeNull()
    expect(keyInInfo('text/plain', '5')).toBeNull()
  })
})

function knowing(hosts: Readonly<Record<string, readonly string[]>>): TrunksParts {
  const nextHops = new NextHopResolver(hostsOnly(hosts), () => true)
  return { nextHops, clock: { now: () => 0 }, log: new MemoryLog() }
}

describe('which trunk a call is on', () => {
  const peer = { port: 5060 }
  const first = trunkPlan(peer, { host: '192.0.2.1', allowed_ips: ['198.51.100.0/24'], numbers: ['+111111111'] })
  const second = trunkPlan(peer, {
    host: 'sip.example.com',
    allowed_ips: ['198.51.100.7', '2001:db8::/32'],
    numbers: ['+222222222'],
  })
  const proxied = trunkPlan(peer, { host: '192.0.2.50', outbound_proxy: 'sip:[2001:db9::1]:5070;lr', numbers: [] })

  function trunks(): Trunks {
    const directory = { all: () => [first, second, proxied], onChange: () => () => {} }
    return new Trunks(directory, knowing({ 'sip.example.com': ['203.0.113.9'] }))
  }

  it('by source, then by number', () => {
    const all = trunks()
    expect(all.match('192.0.2.1', ['x'])).toEqual({ kind: 'trunk', trunk: first })
    expect(all.match('198.51.100.7', [null, '222222222'])).toEqual({ kind: 'trunk', trunk: second, by: 'number' })
    expect(all.match('198.51.100.8', ['222222222'])).toEqual({ kind: 'trunk', trunk: first })
    expect(all.match('198.51.100.7', ['999'])).toEqual({ kind: 'ambiguous', trunks: [first, second] })
    expect(all.match('2001:db8::5', [])).toEqual({ kind: 'trunk', trunk: second })
    expect(all.match('2001:db9::1', [])).toEqual({ kind: 'trunk', trunk: proxied })
    expect(all.match('203.0.113.9', [])).toEqual({ kind: 'unknown' })
  })

  it('ignores sources that no trunk may list, and private addresses that a name resolves to', async () => {
    const wide = trunkPlan(peer, { host: 'evil.example.com', allowed_ips: ['0.0.0.0/0', '37.20.4.0/24', '10.0.0.1'] })
    const directory = { all: () => [wide], onChange: () => () => {} }
    const parts = knowing({ 'evil.example.com': ['10.0.0.2', '203.0.113.9'] })
    const mayReach = (address: string) => !address.startsWith('10.')
    const all = new Trunks(directory, { ...parts, mayReach, mayAdmit: network => network === '37.20.4.0/24' })
    await all.resolve()
    all.learn('evil.example.com', '10.0.0.3')
    expect(all.allowedSources()).toEqual(['37.20.4.0/24', '203.0.113.9'])
    const sources = ['1.2.3.4', '10.0.0.1', '10.0.0.2', '10.0.0.3', '37.20.4.9', '203.0.113.9']
    expect(sources.map(source => all.match(source, []).kind)).toEqual([
      ...['unknown', 'unknown', 'unknown', 'unknown', 'trunk', 'trunk'],
    ])
  })

  it('tells each change of what may call, once', async () => {
    let list = [first]
    let changed = (): void => {}
    const directory = {
      all: () => list,
      onChange: (run: () => void) => {
        changed = run
        return () => {}
      },
    }
    const told: (readonly string[])[] = []
    const all = new Trunks(directory, knowing({}), cidrs => told.push(cidrs))
    await all.resolve()
    await all.resolve()
    list = [proxied]
    changed()
    expect(told).toEqual([
      ['192.0.2.1', '198.51.100.0/24'],
      ['192.0.2.50', '2001:db9::1'],
    ])
  })

  it('knows the addresses of host names once they are looked up, or learnt', async () => {
    const all = trunks()
    await all.resolve()
    expect(all.match('203.0.113.9', [])).toEqual({ kind: 'trunk', trunk: second })
    all.learn('sip.example.com', '203.0.113.10')
    expect(all.allowedSources()).toEqual(
      expect.arrayContaining(['198.51.100.0/24', '192.0.2.1', '203.0.113.9', '203.0.113.10', '2001:db9::1']),
    )
  })
})

describe('when to register', () => {
  const registering = stepRegistration(unregistered, { type: 'start' }, 0, 0)
  const accept = (state: RegistrationState, chance: number) =>
    stepRegistration(state, { type: 'accepted', expiresSeconds: 100 }, 1000, chance)
  const refuse = (state: RegistrationState, status: number, retryAfterSeconds: number | null = null) =>
    stepRegistration(state, { type: 'refused', status, retryAfterSeconds, minExpiresSeconds: 900 }, 1000, 1)

  it('at once, then between 50 and 90 % of the time granted', () => {
    expect(registering).toMatchObject({ state: { phase: 'registering' }, effect: 'register' })
    expect(accept(registering.state, 0).state).toMatchObject({ phase: 'registered', dueAtMs: 51_000 })
    expect(accept(registering.state, 1).state.dueAtMs).toBe(91_000)
    expect(stepRegistration(accept(registering.state, 0).state, { type: 'due' }, 51_000, 0)).toMatchObject({
      state: { phase: 'registered', dueAtMs: null },
      effect: 'register',
    })
  })

  it('after failures ever later, up to five minutes, or as the registrar says', () => {
    let state = registering.state
    const waits: number[] = []
    for (let i = 0; i < 10; i++) {
      state = refuse(state, 500).state
      waits.push(state.dueAtMs! - 1000)
    }
    expect(waits).toEqual([2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000, 300_000])
    expect(refuse(registering.state, 503, 7).state.dueAtMs).toBeCloseTo(8700)
    expect(refuse(registering.state, 403).state.dueAtMs).toBe(61_000)
    expect(accept(state, 0).state.failures).toBe(0)
  })

  it('asks for longer when 423 says so, once', () => {
    const longer = refuse(registering.state, 423)
    expect(longer).toMatchObject({ state: { expiresSeconds: 900 }, effect: 'register' })
    expect(refuse(longer.state, 423)).toMatchObject({ state: { phase: 'failed' }, effect: 'none' })
  })

  it('unregisters only what is registered', () => {
    expect(stepRegistration(registering.state, { type: 'stop' }, 0, 0).effect).toBe('none')
    expect(stepRegistration(accept(registering.state, 0).state, { type: 'stop' }, 0, 0).effect).toBe('unregister')
    expect(stepRegistration(unregistered, { type: 'due' }, 0, 0).effect).toBe('none')
  })
})
