/** A number is shown to be an account's by a call over the operator's own line, and by nothing else. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { admitCall } from '../../control/telephony/calls/admit.ts'
import { createControl, createTenant, nextPhone, type Tenant, type TestControl } from '../support/control.ts'

let control: TestControl
let operator: Tenant
beforeAll(async () => {
  control = await createControl()
  operator = await createTenant(control, { money: '1000.0000' })
})
afterAll(() => control?.close())
beforeEach(() => {
  control.deps.config.number_check_project = operator.projectId
})

const path = (number: string) => `/numbers/${number.slice(1)}/verification`
const start = (owner: Tenant, number = owner.number) => owner.call('POST', path(number), {})
const confirm = (owner: Tenant, code: string, number = owner.number) =>
  owner.call('POST', `${path(number)}/confirm`, { code })

/** The codes of the calls to a number, as the operator's agent spoke them. */
async function spoken(number: string): Promise<string[]> {
  const rows = await control.deps.sql`
    select vars, owner_id from calls where to_phone = ${number} and direction = 'out' order by created_at`
  for (const row of rows) expect(row['owner_id']).toBe(operator.ownerId)
  return rows.map(row => String(row['vars']['code']).replaceAll(' ', ''))
}
const verified = async (owner: Tenant, number = owner.number) =>
  (await owner.call('GET', '/numbers')).body.items.find((one: { number: string }) => one.number === number).verified
const wrong = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, '0')

test('the code that the call spoke verifies the number', async () => {
  const owner = await createTenant(control)
  expect(await verified(owner)).toBe(false)
  const started = await start(owner)
  expect(started).toMatchObject({ status: 201, body: { number: owner.number, tries_left: 5 } })
  const [code] = await spoken(owner.number)
  expect(code).toMatch(/^\d{6}$/)
  expect(JSON.stringify(started.body)).not.toContain(code)
  const refused = await confirm(owner, wrong(code!))
  expect([refused.status, refused.body.errors[0]]).toEqual([
    400,
    { pointer: '/code', code: 'wrong_code', message: 'is not the code of the call; 4 more tries' },
  ])
  expect(await confirm(owner, code!)).toMatchObject({ status: 200, body: { number: owner.number, verified: true } })
  expect(await verified(owner)).toBe(true)
  expect((await confirm(owner, code!)).body.errors[0].code).toBe('no_verification')
})

test('a code is good for five tries, ten minutes, its own account, and until the next call', async () => {
  const [owner, other] = [await createTenant(control), await createTenant(control)]
  await other.call('PATCH', `/trunks/${other.trunkId}`, { numbers: [other.number, owner.number] })
  await start(owner)
  const [first] = await spoken(owner.number)
  expect((await confirm(other, first!, owner.number)).body.errors[0].code).toBe('no_verification')
  await start(owner)
  const [, second] = await spoken(owner.number)
  if (first !== second) expect((await confirm(owner, first!)).body.errors[0].code).toBe('wrong_code')
  for (let tries = 0; tries < 5; tries++) await confirm(owner, wrong(second!))
  expect((await confirm(owner, second!)).body.errors[0].code).toBe('no_verification')
  expect(await verified(owner)).toBe(false)
  await start(owner)
  const [key] = await control.deps.redis.keys(`${control.deps.config.redis_prefix}:verification:code:*`)
  expect(await control.deps.redis.ttl(key!)).toBeLessThanOrEqual(600)
  expect(JSON.stringify(await control.deps.redis.hgetall(key!))).not.toContain((await spoken(owner.number))[2])
  expect(await verified(other, owner.number)).toBe(false)
})

test('an account may try ten codes an hour, valid or not', async () => {
  const owner = await createTenant(control)
  for (let tries = 0; tries < 10; tries++) expect((await confirm(owner, '000000')).status).toBe(400)
  expect(await confirm(owner, '000000')).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
})

test('an account may ask five times an hour, and one number rings three times a day, whoever asks', async () => {
  const [owner, other] = [await createTenant(control), await createTenant(control)]
  await other.call('PATCH', `/trunks/${other.trunkId}`, { numbers: [other.number, owner.number] })
  for (let n = 0; n < 3; n++) expect((await start(owner)).status).toBe(201)
  // The other account hears nothing of that.
  const [taken, free] = [await start(other, owner.number), await start(other)]
  expect([taken.status, Object.keys(taken.body)]).toEqual([free.status, Object.keys(free.body)])
  expect(await spoken(owner.number)).toHaveLength(3)
  for (let n = 0; n < 2; n++) await start(owner)
  const late = await start(owner)
  expect([late.status, late.body.code]).toEqual([429, 'rate_limited'])
  expect(Number(late.headers['retry-after'])).toBeGreaterThan(0)
})

test('needs a line of the operator that can call the number', async () => {
  const owner = await createTenant(control)
  const unavailable = async () => {
    const answer = await start(owner)
    expect([answer.status, answer.body.code]).toEqual([409, 'verification_unavailable'])
  }
  control.deps.config.number_check_project = null
  await unavailable()
  control.deps.config.number_check_project = owner.trunkId // no project
  await unavailable()
  const poor = await createTenant(control, { bound: null })
  control.deps.config.number_check_project = poor.projectId
  await unavailable()
  expect(await spoken(owner.number)).toEqual([])
})

test('numbers of others, and of nobody, are not found', async () => {
  const [owner, other] = [await createTenant(control), await createTenant(control)]
  for (const number of [other.number, nextPhone()]) {
    expect((await start(owner, number)).status).toBe(404)
    expect((await confirm(owner, '123456', number)).status).toBe(404)
  }
  expect((await confirm(owner, '12345')).body.errors[0].pointer).toBe('/code')
})

test('a verification call that comes back is not answered by whoever has the number today', async () => {
  const squatter = await createTenant(control)
  await start(squatter)
  const ring = async (caller: string, decided_by?: 'registration' | 'number') =>
    (
      await admitCall(control.deps, {
        ...{ engine: 'e', boot: 'b', trunk_id: squatter.trunkId, source: '198.51.100.7' },
        ...{ called: squatter.number, caller, ...(decided_by === undefined ? {} : { decided_by }) },
      })
    ).admitted
  for (const caller of [operator.number, 'anonymous']) {
    expect([await ring(caller, 'number'), await ring(caller)]).toEqual([false, false])
  }
  expect(await ring(nextPhone(), 'number')).toBe(true)
  // The registration that brings the call shows whose it is.
  expect(await ring(operator.number, 'registration')).toBe(true)
})
