import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { setSubscription, topUp } from '../../control/access/accounts/service.ts'
import { createProject } from '../../control/agents/projects/service.ts'
import { finish } from '../../control/telephony/calls/finish.ts'
import { insertDoNotCall } from '../../control/telephony/do-not-call/sql.ts'
import { createControl, createTenant, nextPhone, type Tenant, type TestControl } from '../support/control.ts'
import { record, unanswered } from '../support/records.ts'

let control: TestControl
beforeAll(async () => {
  control = await createControl({ config: { trial_balance: '12.5000' } })
})
afterAll(() => control?.close())

const place = (owner: Tenant, part: object = {}) =>
  owner.call('POST', '/calls', { project_id: owner.projectId, phone: nextPhone(), ...part })
const stop = (owner: Tenant) =>
  setSubscription(control.deps, owner.ownerId, 'trial', { status: 'inactive', ends_at: null })
const forbid = (owner: Tenant, phone: string) =>
  insertDoNotCall(control.deps.sql, owner.ownerId, { phone, source: 'api', note: null, created_at: new Date() })
const bad = { task: 'Ask the client for the CVV of the card' }

describe('checks before a call, in order', () => {
  const no = { status: 402, body: { code: 'insufficient_balance' } }

  test('returns 404 for a project of another owner before every other check', async () => {
    const [owner, other] = [await createTenant(control), await createTenant(control)]
    await stop(owner)
    expect(await place(owner, { project_id: other.projectId })).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    })
  })

  test('checks the subscription before the balance', async () => {
    const owner = await createTenant(control, { bound: null })
    await stop(owner)
    await control.deps.sql`update balances set available = 0 where owner_id = ${owner.ownerId}`
    expect(await place(owner)).toMatchObject({ status: 402, body: { code: 'subscription_inactive' } })
    await setSubscription(control.deps, owner.ownerId, 'trial', { status: 'active', ends_at: new Date(Date.now() - 1) })
    expect((await place(owner)).body.code).toBe('subscription_inactive')
    await setSubscription(control.deps, owner.ownerId, 'paid', { status: 'active', ends_at: null })
    expect(await place(owner)).toMatchObject(no)
  })

  test('checks the balance before the line: 0.0001 less than a minute is not enough', async () => {
    const owner = await createTenant(control, { bound: 'in' })
    await control.deps.sql`update balances set available = 49999 where owner_id = ${owner.ownerId}`
    expect(await place(owner)).toMatchObject(no)
    await control.deps.sql`update balances set available = 50000 where owner_id = ${owner.ownerId}`
    expect(await place(owner)).toMatchObject({ status: 409, body: { code: 'no_outbound_line' } })
  })

  test('checks the line before do-not-call, and do-not-call before moderation', async () => {
    const phone = nextPhone()
    const unbound = await createTenant(control, { bound: 'in' })
    await forbid(unbound, phone)
    expect((await place(unbound, { phone, ...bad })).body.code).toBe('no_outbound_line')
    const owner = await createTenant(control, { bound: 'out' })
    await forbid(owner, phone)
    expect(await place(owner, { phone, ...bad })).toMatchObject({ status: 409, body: { code: 'do_not_call' } })
    expect(await place(owner, bad)).toMatchObject({
      status: 422,
      body: { code: 'moderation_rejected', errors: [{ pointer: '/task', code: 'credential_harvesting' }] },
    })
  })

  test('moderates the task with its variables filled in', async () => {
    const owner = await createTenant(control)
    const answer = await place(owner, { task: 'Ask for the {{what}}', vars: { what: 'code from the SMS' } })
    expect(answer.body.code).toBe('moderation_rejected')
  })

  test('leaves nothing behind when a call is rejected', async () => {
    const owner = await createTenant(control, { bound: null })
    await place(owner)
    expect((await owner.call('GET', '/calls')).body.total).toBe(0)
    expect((await owner.call('GET', '/balance')).body).toMatchObject({ balance: { amount: '12.5000' } })
  })
})

test.each([
  '14155550100',
  '+1 415 555 0100',
  '+0123456789',
  '+1',
  '+12345678901234567',
  '+1415555010',
  'tel:+14155550100',
])('the phone %s is 400 at /phone', async phone => {
  const owner = await createTenant(control)
  const answer = await place(owner, { phone })
  expect(answer.status).toBe(400)
  expect(answer.body.errors[0].pointer).toBe('/phone')
})

test('places 2 of 20 concurrent calls when the balance covers two minutes', async () => {
  const owner = await createTenant(control)
  const answers = await Promise.all(Array.from({ length: 20 }, () => place(owner)))
  expect(answers.filter(answer => answer.status === 201)).toHaveLength(2)
  expect(answers.filter(answer => answer.body.code === 'insufficient_balance')).toHaveLength(18)
  expect((await owner.call('GET', '/balance')).body).toMatchObject({
    balance: { amount: '2.5000' },
    held: { amount: '10.0000' },
  })
  expect((await owner.call('GET', '/calls')).body).toMatchObject({ total: 2 })
})

test('returns exactly the published fields of a call', async () => {
  const owner = await createTenant(control)
  const { body } = await place(owner)
  const fields = [
    ...[
      'id',
      'project_id',
      'direction',
      'status',
      'from',
      'to',
      'contact_id',
      'campaign_id',
      'created_at',
      'answered_at',
    ],
    ...[
      'ended_at',
      'duration_seconds',
      'billed_seconds',
      'cost',
      'goal_reached',
      'ended_reason',
      'answered_by',
      'sip_code',
    ],
  ]
  expect(Object.keys(body).sort()).toEqual([...fields].sort())
  expect(body.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  const more = [
    ...['summary', 'extracted', 'extraction_problem', 'goal_evidence', 'missing_vars'],
    ...['transcript', 'tool_calls', 'latency', 'recording_url', 'sip_trace_url'],
  ]
  const detail = (await owner.call('GET', `/calls/${body.id}`)).body
  expect(Object.keys(detail).sort()).toEqual([...fields, ...more].sort())
})

test('filters and pages lists in a stable order, with matching totals', async () => {
  const owner = await createTenant(control, { money: '1000' })
  const second = await createProject(control.deps, owner.ownerId, { name: 'B', language: 'ru' })
  await owner.call('POST', `/projects/${second.id}/numbers`, { number: owner.number, direction: 'in' })
  const ids: string[] = []
  for (let i = 0; i < 7; i++) ids.push((await place(owner)).body.id)
  await finish(control.deps, ids[0]!, record())
  await finish(control.deps, ids[1]!, unanswered())
  await finish(control.deps, ids[2]!, unanswered({ status: 'busy', ended_reason: 'busy' }))

  const list = async (query: string) => (await owner.call('GET', `/calls?${query}`)).body
  const all = await list('')
  expect(all).toMatchObject({ total: 7, limit: 50, offset: 0 })
  expect(all.items.map((call: { id: string }) => call.id)).toEqual([...ids].reverse())
  const page = await list('limit=2&offset=4')
  expect(page).toMatchObject({ total: 7, limit: 2, offset: 4 })
  expect(page.items.map((call: { id: string }) => call.id)).toEqual([ids[2], ids[1]])
  expect(await list('offset=99')).toMatchObject({ total: 7, items: [] })
  for (const query of [
    'status=queued',
    'status=completed',
    'status=busy',
    'status=canceled',
    'direction=out',
    'direction=in',
    `project_id=${owner.projectId}`,
    `project_id=${second.id}`,
    `project_id=${owner.projectId}&status=no_answer&direction=out`,
  ]) {
    const found = await list(query)
    expect([query, found.total]).toEqual([query, found.items.length])
  }
  expect(await list('status=queued')).toMatchObject({ total: 4 })
  expect(await list(`project_id=${second.id}`)).toMatchObject({ total: 0 })
})

test('shows an owner only its own calls', async () => {
  const [owner, other] = [await createTenant(control), await createTenant(control)]
  const { id } = (await place(owner)).body
  const hook = (await owner.call('POST', '/webhooks', { url: 'https://a.test', events: ['call.failed'] })).body
  const paths: ['GET' | 'POST' | 'PATCH' | 'DELETE', string, unknown?][] = [
    ['GET', `/calls/${id}`],
    ['GET', `/calls/${id}/events`],
    ['POST', `/calls/${id}/hangup`],
    ['GET', `/calls/${id}/recording`],
    ['GET', `/calls/${id}/trace`],
    ['POST', `/calls/${id}/monitor`, { mode: 'listen' }],
    ['GET', `/projects/${owner.projectId}`],
    ['PATCH', `/projects/${owner.projectId}`, { name: 'mine' }],
    ['DELETE', `/projects/${owner.projectId}`],
    ['POST', `/projects/${owner.projectId}/numbers`, { number: other.number, direction: 'in' }],
    ['POST', `/projects/${other.projectId}/numbers`, { number: owner.number, direction: 'in' }],
    ['DELETE', `/projects/${owner.projectId}/numbers/${owner.number}`],
    ['GET', `/webhooks/${hook.id}`],
    ['PATCH', `/webhooks/${hook.id}`, { enabled: false }],
    ['DELETE', `/webhooks/${hook.id}`],
    ['POST', `/webhooks/${hook.id}/rotate`],
    ['GET', `/webhooks/${hook.id}/deliveries`],
    ['DELETE', '/secrets/NAME'],
  ]
  await owner.call('POST', '/secrets', { name: 'NAME', value: 'x' })
  for (const [method, path, body] of paths) {
    expect([method, path, (await other.call(method, path, body)).body.code]).toEqual([method, path, 'not_found'])
  }
  expect((await other.call('GET', '/calls')).body.total).toBe(0)
  expect((await other.call('GET', `/calls?project_id=${owner.projectId}`)).body).toMatchObject({ total: 0, items: [] })
  expect((await owner.call('GET', `/projects/${owner.projectId}`)).status).toBe(200)
})

describe('hangup', () => {
  test('cancels a queued call, releases the hold, and no engine can claim it', async () => {
    const owner = await createTenant(control)
    const { id } = (await place(owner)).body
    const answer = await owner.call('POST', `/calls/${id}/hangup`)
    expect(answer).toMatchObject({ status: 200, body: { status: 'canceled', ended_reason: 'canceled_by_api' } })
    expect(await control.engine().claim(id)).toBe(false)
    expect((await owner.call('GET', '/balance')).body).toMatchObject({ balance: { amount: '12.5000' } })
    expect(await owner.call('POST', `/calls/${id}/hangup`)).toMatchObject({ status: 409, body: { code: 'call_ended' } })
  })

  test('is sent to the engine of the call', async () => {
    const owner = await createTenant(control)
    const { id } = (await place(owner)).body
    const engine = control.engine('hangup-engine')
    const heard = Promise.withResolvers<unknown>()
    const reader = engine.onCommand(heard.resolve)
    await engine.claim(id)
    await new Promise(resolve => setTimeout(resolve, 50)) // the reader finds its place in the stream
    const answer = await owner.call('POST', `/calls/${id}/hangup`, {})
    expect(answer.status).toBe(200)
    expect(await heard.promise).toEqual({ type: 'call.hangup', call_id: id, reason: 'canceled_by_api' })
    await reader.stop()
  })

  test('returns 503 while the engine of the call is gone, until the call is closed', async () => {
    const owner = await createTenant(control)
    const { id } = (await place(owner)).body
    const engine = control.engine('dead-engine')
    await engine.claim(id)
    await engine.dropLease(id)
    expect(await owner.call('POST', `/calls/${id}/hangup`)).toMatchObject({
      status: 503,
      body: { code: 'engine_unavailable' },
    })
  })
})

test('uses the caller ID of the project, or one bound number, always the same for a phone', async () => {
  const owner = await createTenant(control, { money: '1000' })
  const [second, phone] = [nextPhone(), nextPhone()]
  const { createTrunk } = await import('../../control/telephony/trunks/service.ts')
  await createTrunk(control.deps, owner.ownerId, { name: 'T2', mode: 'ip', host: '127.0.0.1', numbers: [second] })
  await owner.call('POST', `/projects/${owner.projectId}/numbers`, { number: second, direction: 'out' })
  const sticky = new Set<string>()
  for (let i = 0; i < 3; i++) sticky.add((await place(owner, { phone })).body.from)
  expect(sticky.size).toBe(1)
  const used = new Set<string>()
  for (let i = 0; i < 12; i++) used.add((await place(owner)).body.from)
  expect(used).toEqual(new Set([owner.number, second]))
  await owner.call('PATCH', `/projects/${owner.projectId}`, { caller_id: second })
  for (let i = 0; i < 4; i++) expect((await place(owner)).body.from).toBe(second)
})

test('creates a contact for the phone, once', async () => {
  const owner = await createTenant(control)
  const phone = nextPhone()
  const first = (await place(owner, { phone })).body
  const second = (await place(owner, { phone })).body
  expect(second.contact_id).toBe(first.contact_id)
  await topUp(control.deps, owner.ownerId, '1')
  await finish(control.deps, first.id, record())
  const [contact] = await control.deps.sql`select * from contacts where id = ${first.contact_id}`
  expect(contact!['last_call_at'].toISOString()).toBe(first.created_at)
})

test('does not call a phone on the do-not-call list of the owner', async () => {
  const [owner, other] = [await createTenant(control), await createTenant(control)]
  const phone = nextPhone()
  const { id } = (await place(owner, { phone })).body
  await finish(control.deps, id, record({ do_not_call: true }))
  expect((await place(owner, { phone })).body.code).toBe('do_not_call')
  expect((await place(other, { phone })).status).toBe(201)
})

test('returns 404 for missing recordings and traces, and 409 for monitoring before the answer', async () => {
  const owner = await createTenant(control)
  const { id } = (await place(owner)).body
  const monitor = (body: object) => owner.call('POST', `/calls/${id}/monitor`, body)
  expect(await owner.call('GET', `/calls/${id}/recording`)).toMatchObject({
    status: 404,
    body: { code: 'no_recording' },
  })
  expect(await owner.call('GET', `/calls/${id}/trace`)).toMatchObject({ status: 404, body: { code: 'no_trace' } })
  for (const mode of ['listen', 'whisper', 'takeover']) {
    expect(await monitor({ mode })).toMatchObject({ status: 409, body: { code: 'call_not_answered' } })
  }
  expect((await monitor({ mode: 'shout' })).body.errors[0].pointer).toBe('/mode')
  expect((await monitor({})).status).toBe(400)
  await finish(control.deps, id, record())
  expect(await monitor({ mode: 'listen' })).toMatchObject({ status: 409, body: { code: 'call_ended' } })
})

test('reports goal_reached false in the record and the webhook when no goal is set', async () => {
  const owner = await createTenant(control)
  await owner.call('POST', '/webhooks', { url: 'https://a.test', events: ['call.completed'] })
  const { id, goal_reached } = (await place(owner)).body
  expect(goal_reached).toBeNull() // nobody knows yet
  await finish(control.deps, id, record())
  expect((await owner.call('GET', `/calls/${id}`)).body.goal_reached).toBe(false)
  const [delivery] = await control.deps.sql`select body from webhook_deliveries where owner_id = ${owner.ownerId}`
  expect(JSON.parse(delivery!['body']).goal_reached).toBe(false)
})
