import { afterAll, beforeAll, expect, test } from 'vitest'
import { createControl, createTenant, nextPhone, type Tenant, type TestControl } from '../support/control.ts'

let control: TestControl
let owner: Tenant
beforeAll(async () => {
  control = await createControl()
  owner = await createTenant(control)
})
afterAll(() => control?.close())

const body = (tenant = owner) => ({ project_id: tenant.projectId, phone: nextPhone() })
const key = (value: string) => ({ 'idempotency-key': value })
const callsOf = async (tenant: Tenant) => (await tenant.call('GET', '/calls')).body.total as number

test('places one call for fifty concurrent requests with one key', async () => {
  const tenant = await createTenant(control)
  const call = body(tenant)
  const answers = await Promise.all(Array.from({ length: 50 }, () => tenant.call('POST', '/calls', call, key('k'))))
  const made = answers.filter(answer => answer.status === 201)
  const refused = answers.filter(answer => answer.status === 409)
  expect(made.length).toBeGreaterThan(0)
  expect(made.length + refused.length).toBe(50)
  expect(new Set(made.map(answer => answer.body.id)).size).toBe(1)
  expect(made.filter(answer => answer.headers['idempotent-replayed'] === undefined)).toHaveLength(1)
  for (const answer of refused) expect(answer.body.code).toBe('idempotency_in_flight')
  expect(await callsOf(tenant)).toBe(1)
  expect((await tenant.call('GET', '/balance')).body.held.amount).toBe('5.0000')
})

test('replays the first answer byte for byte', async () => {
  const call = body()
  const first = await owner.call('POST', '/calls', call, key('again'))
  const second = await owner.call('POST', '/calls', { phone: call.phone, project_id: call.project_id }, key('again'))
  expect(second.status).toBe(201)
  expect(second.headers['idempotent-replayed']).toBe('true')
  expect(JSON.stringify(second.body)).toBe(JSON.stringify(first.body))
})

test('returns 422 for another body or path under the same key', async () => {
  await owner.call('POST', '/calls', body(), key('other'))
  expect(await owner.call('POST', '/calls', body(), key('other'))).toMatchObject({
    status: 422,
    body: { code: 'idempotency_mismatch' },
  })
  const elsewhere = await owner.call('POST', '/projects', { name: 'x', language: 'en' }, key('other'))
  expect(elsewhere.body.code).toBe('idempotency_mismatch')
})

test('replays a stored problem', async () => {
  const unbound = await createTenant(control, { bound: null })
  const call = body(unbound)
  const first = await unbound.call('POST', '/calls', call, key('gate'))
  const second = await unbound.call('POST', '/calls', call, key('gate'))
  expect(first).toMatchObject({ status: 409, body: { code: 'no_outbound_line' } })
  expect(second.body).toEqual(first.body)
  expect(second.headers['content-type']).toMatch('application/problem+json')
  expect(second.headers['idempotent-replayed']).toBe('true')
})

test('keeps no answer for an invalid body', async () => {
  expect((await owner.call('POST', '/calls', { phone: '1' }, key('typo'))).status).toBe(400)
  expect((await owner.call('POST', '/calls', body(), key('typo'))).status).toBe(201)
})

test('keeps keys per owner for 24 hours', async () => {
  const other = await createTenant(control)
  const call = body()
  const first = await owner.call('POST', '/calls', call, key('shared'))
  expect((await other.call('POST', '/calls', body(other), key('shared'))).status).toBe(201)
  control.deps.clock.advance(24 * 3600 * 1000 + 1000)
  const later = await owner.call('POST', '/calls', call, key('shared'))
  expect(later.status).toBe(201)
  expect(later.body.id).not.toBe(first.body.id)
})

test.each(['', 'x'.repeat(256)])('returns 400 for a key of invalid length', async value => {
  expect((await owner.call('POST', '/calls', body(), key(value))).body.code).toBe('validation_failed')
})

test('releases the key after an internal error, and breaks the lock of a dead process', async () => {
  const { sql } = control.deps
  const call = body()
  await sql`alter table call_counters rename to counters_away`
  expect((await owner.call('POST', '/calls', call, key('ours'))).status).toBe(500)
  await sql`alter table counters_away rename to call_counters`
  expect((await owner.call('POST', '/calls', call, key('ours'))).status).toBe(201)

  await sql`update idempotency set status = null, body = null where key = 'ours'`
  expect((await owner.call('POST', '/calls', call, key('ours'))).body.code).toBe('idempotency_in_flight')
  control.deps.clock.advance(61_000)
  expect((await owner.call('POST', '/calls', call, key('ours'))).status).toBe(201)
})

test('stores the answer in the transaction of the call', async () => {
  const { sql } = control.deps
  const tenant = await createTenant(control)
  await tenant.call('POST', '/calls', body(tenant), key('both'))
  const [row] = await sql`
    select idempotency.xmin::text = calls.xmin::text as same from idempotency
    join calls on calls.owner_id = idempotency.owner_id where idempotency.owner_id = ${tenant.ownerId}`
  expect(row!['same']).toBe(true)
})

test('omits secrets from a replay', async () => {
  const hook = { url: 'https://example.com/h', events: ['call.failed'] }
  const first = await owner.call('POST', '/webhooks', hook, key('hook'))
  const second = await owner.call('POST', '/webhooks', hook, key('hook'))
  expect(first.body.secret).toMatch(/^whsec_/)
  expect(second.status).toBe(201)
  expect(second.body).not.toHaveProperty('secret')
  expect(second.body.id).toBe(first.body.id)
  const kept = await control.deps.sql`select * from idempotency where key = 'hook'`
  expect(JSON.stringify(kept)).not.toContain(first.body.secret)
})
