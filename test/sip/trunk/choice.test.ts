/** Which trunk a call belongs to, at a carrier that has customers of several accounts. */
import { describe, expect, it } from 'vitest'
import type { NumberClaim, TrunkPlan } from '../../../media/contract/plan.ts'
import { type CallFacts, chooseTrunk } from '../../../sip/trunk/routing/choice.ts'
import { trunkPlan } from './bench.ts'

const CARRIER = '198.51.100.7'
const NUMBER = '+12025550177'
let made = 0
/** Trunks that are made later have greater ids, as UUIDv7 do. */
function trunk(over: Partial<TrunkPlan> = {}): TrunkPlan {
  made += 1
  const id = `0190${String(made).padStart(4, '0')}-0000-7000-8000-000000000000`
  return trunkPlan({ port: 5060 }, { id, host: CARRIER, numbers: [], contact_user: `tcontact${made}`, ...over })
}
const registered = (over: Partial<TrunkPlan> = {}) => trunk({ mode: 'register', registrars: [CARRIER], ...over })
const claim = (over: Partial<NumberClaim> = {}): Pick<TrunkPlan, 'numbers' | 'claims'> => ({
  numbers: [NUMBER],
  claims: [{ number: NUMBER, listed_at: 1000, verified_at: null, called: {}, ...over }],
})

function choose(trunks: TrunkPlan[], dialed: CallFacts['dialed'], domains: string[] = []) {
  const registrarsOf = ({ registrars }: TrunkPlan) => registrars
  const match = chooseTrunk(trunks, { source: CARRIER, dialed, domains, registrarsOf })
  return match.kind === 'trunk' ? match.trunk : match.kind
}

describe('the trunk of a call', () => {
  it('is the one whose registration has that contact', () => {
    const [a, b] = [registered({ username: 'acctA' }), registered({ username: 'acctB', ...claim() })]
    expect(choose([a, b], [a.contact_user, null, NUMBER])).toBe(a)
    expect(choose([a, b], ['acctX', b.contact_user, null])).toBe(b)
  })

  it('is the one whose account the carrier has accepted, whatever others write into theirs', () => {
    const a = registered({ username: 'acctA' })
    const wrongPassword = trunk({ mode: 'register', username: 'acctA' })
    const byAddress = trunk({ username: 'acctA', ...claim() })
    const other = registered({ username: 'acctB', ...claim(), realm: 'carrier.example' })
    for (const trunks of [
      [a, wrongPassword, byAddress, other],
      [other, byAddress, wrongPassword, a],
    ]) {
      expect(choose(trunks, ['acctA', null, 'acctA'])).toBe(a)
      expect(choose(trunks, ['acctA', null, NUMBER], ['carrier.example'])).toBe(a)
    }
    // Accounts that are numbers come with and without the plus.
    const number = registered({ username: '12025550177' })
    expect(choose([byAddress, number], [NUMBER])).toBe(number)
  })

  it('is the one with that user name, not one that registers under that name with another account', () => {
    const [b, a] = [registered({ username: 'acctB', from_user: 'acctA' }), registered({ username: 'acctA' })]
    expect(choose([b, a], ['acctA'])).toBe(a)
    expect(choose([registered({ username: '4711', from_user: 'office' }), a], ['office'])).toMatchObject({
      from_user: 'office',
    })
  })

  it('is not the one that a registrar elsewhere accepted', () => {
    const [a, b] = [registered({ username: 'acctA' }), trunk({ username: 'acctA', registrars: ['203.0.113.66'] })]
    expect(choose([b, a], ['acctA'])).toBe(a)
  })

  it('is the one that a registrar in the carrier’s network accepted, if none at the very address did', () => {
    const near = trunk({ username: 'acctA', registrars: ['198.51.100.9'] })
    const squatter = trunk({ username: 'acctA', id: '01800000-0000-7000-8000-000000000000', ...claim() })
    expect(choose([squatter, near], ['acctA', null, NUMBER])).toBe(near)
    const exact = registered({ username: 'acctA' })
    expect(choose([near, exact], ['acctA'])).toBe(exact)
  })

  it('is, of two accounts of one name, the one of that realm, else of that number, else the first', () => {
    const [one, two] = [registered({ username: '100', realm: 'one' }), registered({ username: '100', realm: 'two' })]
    expect(choose([one, two], ['100'], ['two'])).toBe(two)
    expect(choose([two, one], ['100'], ['three'])).toBe(one)
    const owning = registered({ username: '100', ...claim() })
    expect(choose([one, two, owning], ['100', null, NUMBER])).toBe(owning)
  })

  it('follows the Request-URI before To, which callers may choose', () => {
    const [a, b] = [trunk(claim()), registered({ username: 'acctB', numbers: ['+12025550188'] })]
    for (const to of ['acctB', '+12025550188']) expect(choose([b, a], [NUMBER, null, to])).toBe(a)
  })

  it('of an account that nobody has shown to be his is decided after the numbers', () => {
    const [a, b] = [trunk(claim()), trunk({ username: 's' })]
    expect(choose([b, a], ['s', null, NUMBER])).toBe(a)
    expect(choose([a, trunk({ username: 'acctA' }), b], ['acctA'])).toMatchObject({ username: 'acctA' })
  })

  it('is not found by digits within a name', () => {
    const [a, b] = [trunk({ username: 'line12025550177' }), trunk(claim())]
    expect(choose([b, a], ['line12025550177'])).toBe(a)
  })
})

describe('a number that several accounts list', () => {
  it('is of whoever verified it last', () => {
    const calls = registered({ ...claim({ called: { [CARRIER]: 1 }, verified_at: 10 }) })
    const ported = trunk(claim({ listed_at: 9000, verified_at: 9500 }))
    expect(choose([calls, ported], [NUMBER])).toBe(ported)
  })

  it('stays with whoever has had its calls from there, unless another verifies it', () => {
    const a = trunk(claim({ listed_at: 5000, called: { [CARRIER]: 6000 } }))
    const b = registered({ ...claim({ called: { '203.0.113.66': 1, [CARRIER]: 7000 } }) })
    expect(choose([b, a], [NUMBER])).toBe(a)
  })

  it('stays so if another number would be dialled in the same way', () => {
    const us = { calling_code: '1', national_prefix: '1', international_prefix: '011' }
    const ru = { calling_code: '7', national_prefix: '8', international_prefix: '810' }
    const a = trunk({ ...claim({ called: { [CARRIER]: 6000 } }), dialing: us })
    const b = registered({ numbers: ['+72025550177'], dialing: ru })
    expect(choose([b, a], ['2025550177'])).toBe(a)
  })

  it('is of whoever is registered there, if it has had no calls', () => {
    const [squatter, a] = [trunk(claim({ listed_at: 1 })), registered({ ...claim({ listed_at: 9000 }) })]
    expect(choose([squatter, a], [NUMBER])).toBe(a)
  })

  it('is of whoever listed it first, if nobody has shown anything', () => {
    const [late, first] = [trunk(claim({ listed_at: 2000 })), trunk(claim({ listed_at: 1000 }))]
    expect(choose([late, first], [NUMBER])).toBe(first)
  })
})

it('is nobody if the call names nothing of anybody, unless only one may be meant', () => {
  const [a, b] = [trunk(), trunk()]
  expect(choose([], ['x'])).toBe('unknown')
  expect(choose([a], ['x'])).toBe(a)
  expect(choose([a, b], ['x'])).toBe('ambiguous')
  const known = registered()
  expect(choose([a, known, b], ['x'])).toBe(known)
  expect(choose([a, known, registered()], ['x'])).toBe('ambiguous')
})
