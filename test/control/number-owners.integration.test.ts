/** Numbers and accounts of one carrier that several owners name: what control records, and what engines are told. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { handleEvent } from '../../control/background/engine.ts'
import { admitCall } from '../../control/telephony/calls/admit.ts'
import { publishTrunks } from '../../control/telephony/trunks/service.ts'
import type { TrunksSnapshot } from '../../media/contract/plan.ts'
import { trunkAccount } from '../../media/contract/trunk-account.ts'
import { createControl, createTenant, nextPhone, type Tenant, type TestControl } from '../support/control.ts'

let control: TestControl
beforeAll(async () => {
  control = await createControl()
})
afterAll(() => control?.close())

const SOURCE = '198.51.100.7'

async function published(trunkId: string) {
  let snapshot: TrunksSnapshot | undefined
  const bus = {
    async publishTrunks(told: TrunksSnapshot) {
      snapshot = told
    },
  }
  await publishTrunks({ ...control.deps, bus } as never)
  return snapshot!.trunks.find(({ id }) => id === trunkId)!
}

const version = async () => (await control.deps.sql`select version from trunks_version`)[0]!['version']

const ring = (owner: Tenant, called: string, over: object = {}) =>
  admitCall(control.deps, {
    ...{ engine: 'e', boot: 'b', trunk_id: owner.trunkId, source: SOURCE, called, caller: nextPhone() },
    ...over,
  })

test('a number may stand in several accounts, and nothing tells one of the other', async () => {
  const [a, b] = [await createTenant(control), await createTenant(control)]
  const [free, second] = [nextPhone(), { name: 'Second', mode: 'ip', host: 'carrier.example' }]
  const listed = await b.call('PATCH', `/trunks/${b.trunkId}`, { numbers: [a.number, free] })
  expect([listed.status, listed.body.numbers.sort()]).toEqual([200, [a.number, free].sort()])
  expect((await a.call('POST', '/trunks', { ...second, numbers: [free] })).status).toBe(201)
  const views = (await b.call('GET', '/numbers')).body.items as { number: string }[]
  const [taken, other] = [a.number, free].map(number => {
    const { number: _number, ...view } = views.find(one => one.number === number)!
    return view
  })
  expect(taken).toEqual(other)
  const bind = async (number: string) =>
    (await b.call('POST', `/projects/${b.projectId}/numbers`, { number, direction: 'in' })).status
  expect([await bind(a.number), await bind(free)]).toEqual([200, 200])
  // Within an account a number is on one trunk.
  const again = await b.call('POST', '/trunks', { ...second, numbers: [free] })
  expect([again.status, again.body.errors]).toEqual([
    400,
    [{ pointer: '/numbers', code: 'number_listed', message: 'a number is on another trunk of this account' }],
  ])
})

test('a call reaches numbers of its own trunk only, also within an account', async () => {
  const owner = await createTenant(control)
  const number = nextPhone()
  const trunk = (await owner.call('POST', '/trunks', { name: 'T', mode: 'ip', host: 'x.example', numbers: [number] }))
    .body
  await owner.call('POST', `/projects/${owner.projectId}/numbers`, { number, direction: 'in' })
  expect(await ring(owner, number)).toEqual({ admitted: false, refusal: 'unknown_number' })
  expect((await ring(owner, number, { trunk_id: trunk.id })).admitted).toBe(true)
})

test('engines learn who listed, verified and was called on a number that several accounts list', async () => {
  const [a, b] = [await createTenant(control), await createTenant(control)]
  expect((await published(a.trunkId)).claims).toEqual([])
  await ring(a, a.number, { decided_by: 'number' })
  await ring(a, a.number, { source: '203.0.113.9' })
  const before = await version()
  await b.call('PATCH', `/trunks/${b.trunkId}`, { numbers: [b.number, a.number] })
  const [claim] = (await published(a.trunkId)).claims
  expect(claim).toEqual({
    number: a.number,
    listed_at: expect.any(Number),
    verified_at: null,
    called: { [SOURCE]: expect.any(Number) },
  })
  const rival = (await published(b.trunkId)).claims
  expect(rival).toEqual([{ number: a.number, listed_at: expect.any(Number), verified_at: null, called: {} }])
  expect(rival[0]!.listed_at).toBeGreaterThanOrEqual(claim!.listed_at)
  expect(await version()).toBe(before + 1)
  // The first call from a source is news for engines, later ones are not.
  await b.call('POST', `/projects/${b.projectId}/numbers`, { number: a.number, direction: 'in' })
  for (let n = 0; n < 2; n++) await ring(b, a.number, { decided_by: 'number', source: '203.0.113.66' })
  expect(await version()).toBe(before + 2)
  expect(Object.keys((await published(b.trunkId)).claims[0]!.called)).toEqual(['203.0.113.66'])
})

test('a registrar vouches for the account that it accepted, and for no other', async () => {
  const owner = await createTenant(control)
  const line = { mode: 'register', host: 'carrier.example', username: 'acctB', password: 'p' }
  expect((await owner.call('PATCH', `/trunks/${owner.trunkId}`, line)).status).toBe(200)
  const plan = await published(owner.trunkId)
  expect(plan).toMatchObject({ registrars: [], contact_user: expect.stringMatching(/^t[0-9a-f]{24}$/) })
  const account = trunkAccount(plan)
  const tell = (address: string | null, of = account) =>
    handleEvent(control.deps, {
      ...{ v: 1, type: 'trunk.status', trunk_id: owner.trunkId, owner_id: owner.ownerId, hosts: [] },
      ...{ registration: address === null ? 'failed' : 'registered', last_error: null, at: Date.now() },
      registrar: { account: of, address },
    } as never)
  await tell('198.51.100.9', 'another')
  expect((await published(owner.trunkId)).registrars).toEqual([])
  await tell(SOURCE)
  await tell('198.51.100.8')
  const raised = await version()
  await tell(SOURCE)
  expect(await version()).toBe(raised)
  expect((await published(owner.trunkId)).registrars).toEqual(['198.51.100.8', SOURCE])
  // Another user name is another account, which nobody has accepted.
  await owner.call('PATCH', `/trunks/${owner.trunkId}`, { username: 'acctA' })
  expect((await published(owner.trunkId)).registrars).toEqual([])
  await tell(SOURCE)
  expect((await published(owner.trunkId)).registrars).toEqual([])
  await owner.call('PATCH', `/trunks/${owner.trunkId}`, { username: 'acctB' })
  expect((await published(owner.trunkId)).registrars).toEqual(['198.51.100.8', SOURCE])
  await tell(null)
  expect((await published(owner.trunkId)).registrars).toEqual([])
  // None of this is shown.
  expect(Object.keys((await owner.call('GET', `/trunks/${owner.trunkId}`)).body)).not.toContain('registrars')
})
