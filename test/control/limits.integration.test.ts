/** Limits that an owner sets against a stolen key: destinations and daily cost. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSession } from '../../control/access/sessions/sessions.ts'
import { openJobHold, settleJobHold, toUnits } from '../../control/billing/money.ts'
import { admitCall, extendCall } from '../../control/telephony/calls/admit.ts'
import { createControl, createTenant, nextPhone, request, type Tenant, type TestControl } from '../support/control.ts'
import { contradictions, end, liveCalls, pace, stubEngine } from './campaigns/dialing.ts'
import { createFilled, nextCallee, step, upload } from './campaigns/support.ts'

/** 5.0000 a minute. */
const MINUTE = 5
let control: TestControl
beforeAll(async () => {
  control = await createControl({ config: { trial_balance: '1000' } })
})
afterAll(() => control?.close())

const get = async (owner: Tenant) => (await owner.call('GET', '/limits')).body
async function limit(owner: Tenant, body: object) {
  const { token } = await openSession(control.deps, owner.ownerId)
  return request(control.app, {
    method: 'PATCH',
    url: '/v1/public/limits',
    headers: { cookie: `parley_session=${token}`, 'sec-fetch-site': 'same-origin' },
    payload: body,
  })
}
const place = (owner: Tenant, phone = nextPhone()) =>
  owner.call('POST', '/calls', { project_id: owner.projectId, phone })
const endCall = (id: string, seconds: number) =>
  end(control.deps, id, { status: 'completed', talked_ms: seconds * 1000 })
const money = (amount: string) => ({ amount, currency: 'RUB' })
/** To some minutes after the next midnight, UTC. */
function nextDay() {
  const day = 24 * 3600 * 1000
  control.deps.clock.advance(day - (control.deps.clock.wall() % day) + 600_000)
}

test('lets keys read limits, and only sessions change them', async () => {
  const owner = await createTenant(control)
  expect(await get(owner)).toEqual({
    destinations: [],
    max_spend_a_day: null,
    spent_today: money('0.0000'),
    held: money('0.0000'),
    stop_unusual_activity: true,
    stopped: null,
  })
  expect((await owner.call('PATCH', '/limits', { max_spend_a_day: null })).body.code).toBe('insufficient_scope')
  const set = await limit(owner, { destinations: ['+7', '+1415', '+7'], max_spend_a_day: '12.5' })
  expect(set.body).toMatchObject({ destinations: ['+1415', '+7'], max_spend_a_day: money('12.5000') })
  expect((await limit(owner, { max_spend_a_day: null })).body).toMatchObject({
    destinations: ['+1415', '+7'],
    max_spend_a_day: null,
  })
})

test.each([
  [{ destinations: ['7'] }, '/destinations/0'],
  [{ destinations: ['+0'] }, '/destinations/0'],
  [{ destinations: ['+7%'] }, '/destinations/0'],
  [{ destinations: '+7' }, '/destinations'],
  [{ max_spend_a_day: '-1' }, '/max_spend_a_day'],
  [{ max_spend_a_day: '1.00001' }, '/max_spend_a_day'],
  [{ max_spend_a_day: 5 }, '/max_spend_a_day'],
  [{ daily: '1' }, '/daily'],
])('rejects %j', async (body, pointer) => {
  const owner = await createTenant(control)
  const answer = await limit(owner, body)
  expect([answer.status, answer.body.errors[0].pointer]).toEqual([400, pointer])
})

test('apply destinations to calls, transfers, uploads and earlier contacts', async () => {
  const engine = stubEngine(control.deps)
  const owner = await createTenant(control)
  const params = { timezone: 'UTC', window_start: '00:00', window_end: '00:00', quiet_hours: null }
  const { id } = await createFilled(owner, 2, { params })
  await limit(owner, { destinations: ['+1415'] })
  expect((await place(owner, nextCallee())).body).toMatchObject({
    code: 'destination_blocked',
    errors: [{ pointer: '/phone', code: 'destination_not_allowed' }],
  })
  expect((await place(owner)).status).toBe(201)
  const transfer = { name: 'boss', description: 'The boss', to: nextCallee() }
  const patched = await owner.call('PATCH', `/projects/${owner.projectId}`, { transfers: [transfer] })
  expect(patched.body.errors[0]).toMatchObject({ pointer: '/transfers/0/to', code: 'destination_not_allowed' })
  const uploaded = await upload(owner, id, [{ phone: nextCallee() }, { phone: nextPhone() }])
  expect(uploaded.body.invalid).toEqual([{ index: 0, code: 'destination_not_allowed' }])
  await step(owner, id, 'start')
  control.deps.clock.advance(6000)
  await pace(engine.deps)
  const { items } = (await owner.call('GET', `/campaigns/${id}/contacts?status=skipped`)).body
  expect(items.map((item: { skip_reason: string }) => item.skip_reason)).toEqual([
    'destination_not_allowed',
    'destination_not_allowed',
  ])
  expect(await liveCalls(control, id)).toHaveLength(1)
})

test('limits placed, extended and inbound calls and searches of a day together', async () => {
  const { deps } = control
  const owner = await createTenant(control)
  await limit(owner, { max_spend_a_day: '12' })
  const first = (await place(owner)).body.id
  // The cap leaves 7: two minutes, and no third call beside a second one.
  await extendCall(deps, { call_id: first, owner_id: owner.ownerId, talked_ms: 40_000 })
  expect((await get(owner)).held).toEqual(money('10.0000'))
  expect((await place(owner)).body.code).toBe('daily_limit_reached')
  const refused = await admitCall(deps, {
    engine: 'e',
    boot: 'b',
    trunk_id: owner.trunkId,
    called: owner.number,
    caller: nextPhone(),
    source: '',
  })
  expect(refused.admitted).toBe(false)
  const { paid_ms } = await extendCall(deps, { call_id: first, owner_id: owner.ownerId, talked_ms: 100_000 })
  expect(paid_ms).toBe((12 / MINUTE) * 60_000)
  await endCall(first, 90)
  expect(await get(owner)).toMatchObject({ spent_today: money('7.5000'), held: money('0.0000') })
  const job = '019ab000-0000-7000-8000-000000000001'
  const at = new Date(deps.clock.wall())
  expect(await deps.sql.begin(tx => openJobHold(tx, owner.ownerId, { id: job, amount: toUnits('4.5001') }, at))).toBe(
    false,
  )
  nextDay()
  expect((await get(owner)).spent_today).toEqual(money('0.0000'))
  expect((await place(owner)).status).toBe(201)
})

test('counts a charge on the day it is made', async () => {
  const { deps } = control
  const owner = await createTenant(control)
  await limit(owner, { max_spend_a_day: '8' })
  const { id } = (await place(owner)).body
  nextDay()
  expect((await place(owner)).body.code).toBe('daily_limit_reached')
  await endCall(id, 60)
  expect((await get(owner)).spent_today).toEqual(money('5.0000'))
  expect((await place(owner)).body.code).toBe('daily_limit_reached')
  expect(await settleJobHold(deps.sql as never, owner.ownerId, { id, cost: 1n }, new Date())).toBe(0n)
})

test('bounds concurrent calls by the cap', async () => {
  const owner = await createTenant(control)
  await limit(owner, { max_spend_a_day: '14.9999' })
  const answers = await Promise.all(Array.from({ length: 20 }, () => place(owner)))
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(2)
  expect(new Set(answers.filter(({ status }) => status !== 201).map(({ body }) => body.code))).toEqual(
    new Set(['daily_limit_reached']),
  )
})

test('reports the balance before the cap', async () => {
  const poor = await createControl({ config: { trial_balance: '3' } })
  const owner = await createTenant(poor)
  expect((await place(owner)).body.code).toBe('insufficient_balance')
  await poor.close()
})

test('makes a campaign wait for the next day, and reports it', async () => {
  const engine = stubEngine(control.deps)
  const owner = await createTenant(control)
  const params = { timezone: 'UTC', window_start: '00:00', window_end: '00:00', quiet_hours: null, concurrency: 10 }
  const { id } = await createFilled(owner, 5, { params })
  await limit(owner, { max_spend_a_day: '11' })
  await step(owner, id, 'start')
  control.deps.clock.advance(6000)
  await pace(engine.deps)
  const live = await liveCalls(control, id)
  expect(live).toHaveLength(2)
  for (const call of live) await end(engine.deps, call.id, { status: 'completed', talked_ms: 60_000 })
  await pace(engine.deps)
  expect(await liveCalls(control, id)).toHaveLength(0)
  expect((await owner.call('GET', `/campaigns/${id}`)).body).toMatchObject({ status: 'running' })
  const { items } = (await owner.call('GET', `/campaigns/${id}/contacts?status=pending`)).body
  const why = (await owner.call('GET', `/campaigns/${id}/contacts/${items[0].id}/why`)).body
  expect(why).toMatchObject({ would_dial: false, decision: 'wait', reasons: [{ code: 'daily_limit_reached' }] })
  nextDay()
  control.deps.clock.advance(6000)
  await pace(engine.deps)
  expect(await liveCalls(control, id)).toHaveLength(2)
  expect(await contradictions(control)).toEqual([])
})
