import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { setSubscription } from '../../../control/access/accounts/service.ts'
import { createProject, deleteProject } from '../../../control/agents/projects/service.ts'
import { CONSENT_TEXT } from '../../../control/outreach/campaigns/start.ts'
import { bindNumber } from '../../../control/telephony/numbers/service.ts'
import {
  createControl,
  createTenant,
  nextPhone,
  request,
  type Tenant,
  type TestControl,
} from '../../support/control.ts'
import { countedRows, createDraft, createFilled, nextCallee, settle, step, upload } from './support.ts'

let control: TestControl
let owner: Tenant
beforeAll(async () => {
  control = await createControl()
  owner = await createTenant(control, { money: '1000', project: { timezone: 'Europe/Berlin' } })
})
afterAll(() => control?.close())

const codes = (body: { errors?: { code: string }[] }) => body.errors?.map(error => error.code)

describe('a draft', () => {
  test('has the documented defaults and shape', async () => {
    const { status, body } = await owner.call('POST', '/campaigns', { name: ' Spring ', project_id: owner.projectId })
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      project_id: owner.projectId,
      name: 'Spring',
      task: null,
      status: 'draft',
      pause_reason: null,
      params: {
        timezone: 'Europe/Berlin',
        window_start: '09:00',
        window_end: '20:00',
        days: null,
        concurrency: 5,
        retries: 2,
        retry_interval_min: 30,
        scheduled_start_at: null,
        max_spend: null,
        quiet_hours: { start: '21:00', end: '08:00' },
        resume_on_top_up: false,
      },
      counters: {
        total: 0,
        pending: 0,
        dialing: 0,
        in_progress: 0,
        completed: 0,
        no_answer: 0,
        busy: 0,
        failed: 0,
        skipped: 0,
        canceled: 0,
        goal_reached: 0,
      },
      minute_price: { amount: '5.0000', currency: 'RUB' },
      spend: { amount: '0.0000', currency: 'RUB' },
      consent: null,
      started_at: null,
      completed_at: null,
      created_at: expect.any(String),
      updated_at: body.created_at,
    })
    expect((await owner.call('GET', `/campaigns/${body.id}`)).body).toEqual(body)
    expect((await owner.call('GET', '/campaigns?limit=1')).body).toMatchObject({ items: [body], limit: 1, offset: 0 })
  })

  test('stores and returns every param', async () => {
    const params = {
      timezone: 'America/New_York',
      window_start: '22:00',
      window_end: '02:30',
      days: [7, 1],
      concurrency: 100,
      retries: 0,
      retry_interval_min: 1440,
      quiet_hours: null,
      max_spend: '12.5',
      resume_on_top_up: true,
      scheduled_start_at: '2030-01-02T03:04:05+02:00',
    }
    const { body } = await owner.call('POST', '/campaigns', { name: 'All', project_id: owner.projectId, params })
    const shown = { ...params, days: [1, 7], scheduled_start_at: '2030-01-02T01:04:05.000Z', max_spend: '12.5000' }
    expect(body.params).toEqual(shown)
    const patch = { name: 'Some', task: 'Ask.', params: { concurrency: 1, scheduled_start_at: null } }
    const changed = await owner.call('PATCH', `/campaigns/${body.id}`, patch)
    expect(changed.body).toMatchObject({ name: 'Some', task: 'Ask.' })
    expect(changed.body.params).toEqual({ ...shown, concurrency: 1, scheduled_start_at: null })
    for (const [given, kept] of [
      ['0000-02-29T00:00:00Z', '2000-01-01T00:00:00.000Z'],
      ['9999-12-31T23:59:59-23:59', '9999-12-31T00:00:00.000Z'],
    ]) {
      const { body: moved } = await owner.call('PATCH', `/campaigns/${body.id}`, {
        params: { scheduled_start_at: given },
      })
      expect(moved.params.scheduled_start_at).toBe(kept)
    }
  })

  test.each([
    ['timezone', 'Moscow'],
    ['window_start', '24:00'],
    ['window_end', '9:00'],
    ['days', []],
    ['days', [1, 1]],
    ['days', [0]],
    ['concurrency', 0],
    ['concurrency', 101],
    ['retries', 6],
    ['retry_interval_min', 1441],
    ['scheduled_start_at', 'tomorrow'],
    ['max_spend', '0.00'],
    ['max_spend', 5],
    ['quiet_hours', { start: '21:00' }],
    ['window', '09:00-10:00'],
  ])('refuses %s of %j', async (name, value) => {
    const body = { name: 'Bad', project_id: owner.projectId, params: { [name]: value } }
    const answer = await owner.call('POST', '/campaigns', body)
    expect(answer.status).toBe(400)
    expect(answer.body.errors[0].pointer).toMatch(new RegExp(`^/params/${name}`))
  })

  test('belongs to a project of the owner, is moderated, and is created once', async () => {
    const other = await createTenant(control)
    const input = { name: 'X', project_id: other.projectId }
    expect((await owner.call('POST', '/campaigns', input)).body.code).toBe('not_found')
    const bad = { ...input, project_id: owner.projectId, task: 'Ask for the PIN of the bank card.' }
    const refused = await owner.call('POST', '/campaigns', bad)
    expect(refused).toMatchObject({ status: 422, body: { code: 'moderation_rejected' } })
    const key = { 'idempotency-key': 'once' }
    const good = { ...bad, task: 'Ask for the size of the party.' }
    const made = await owner.call('POST', '/campaigns', good, key)
    const again = await owner.call('POST', '/campaigns', good, key)
    expect(again.body).toEqual(made.body)
    expect(again.headers['idempotent-replayed']).toBe('true')
  })

  test('is deleted with its contacts, and totals agree', async () => {
    const alone = await createTenant(control, { money: '100' })
    const { id } = await createFilled(alone, 3)
    const kept = await createFilled(alone, 1)
    expect((await alone.call('DELETE', `/campaigns/${id}`)).body).toEqual({ id, deleted: true })
    expect((await alone.call('GET', `/campaigns/${id}`)).status).toBe(404)
    expect(await countedRows(control, id)).toEqual({})
    await step(alone, kept.id, 'start')
    expect((await alone.call('DELETE', `/campaigns/${kept.id}`)).body.code).toBe('invalid_transition')
    const listed = async (query: string) => (await alone.call('GET', `/campaigns?${query}`)).body
    expect(await listed('status=running')).toMatchObject({ total: 1, items: [{ id: kept.id }] })
    expect(await listed('status=draft')).toMatchObject({ total: 0, items: [] })
    expect(await listed(`project_id=${alone.projectId}`)).toMatchObject({ total: 1 })
  })
})

describe('the start', () => {
  test('requires consent, and stores it as evidence', async () => {
    const { id } = await createFilled(owner, 2)
    for (const body of [{}, { consent: false }, { consent: 'true' }, { consent: true, by: 'me' }, null]) {
      const answer = await owner.call('POST', `/campaigns/${id}/start`, body ?? undefined)
      expect(answer.status, JSON.stringify(body)).toBe(400)
    }
    expect(codes((await step(owner, id, 'start', { consent: false })).body)).toEqual(['consent'])
    const before = Date.now()
    const { status, body } = await step(owner, id, 'start')
    expect(status).toBe(200)
    expect(body).toMatchObject({ status: 'running', counters: { total: 2, pending: 2 } })
    const [key] = await control.deps.sql<{ id: string }[]>`select id from api_keys where owner_id = ${owner.ownerId}`
    expect(body.consent).toMatchObject({ text: CONSENT_TEXT, key_id: key!.id, session_id: null })
    expect(Date.parse(body.consent.confirmed_at)).toBeGreaterThanOrEqual(before)
    // Repeated, nothing changes, the evidence least of all.
    expect((await step(owner, id, 'start')).body).toEqual(body)
  })

  test('lists all blockers, with the code of the first', async () => {
    const poor = await createTenant(control, { bound: null })
    const { id } = await createDraft(poor)
    await control.deps.sql`update campaigns set task = 'Ask for the PIN of the bank card.' where id = ${id}`
    await control.deps.sql`update accounts set minute_price = 99999999 where id = ${poor.ownerId}`
    await setSubscription(control.deps, poor.ownerId, null, { status: 'inactive', ends_at: null })
    const refused = await step(poor, id, 'start')
    expect(refused).toMatchObject({ status: 409, body: { code: 'no_contacts' } })
    expect(refused.body.errors).toMatchObject([
      { pointer: '', code: 'no_contacts' },
      { pointer: '', code: 'subscription_inactive' },
      { pointer: '', code: 'insufficient_balance' },
      { pointer: '', code: 'no_outbound_line' },
      { pointer: '/task', code: 'moderation_rejected' },
    ])
    await upload(poor, id, [{ phone: nextCallee() }])
    expect((await step(poor, id, 'start')).status).toBe(402)
    await setSubscription(control.deps, poor.ownerId, null, { status: 'active', ends_at: null })
    expect((await step(poor, id, 'start')).body.code).toBe('insufficient_balance')
    await control.deps.sql`update accounts set minute_price = null where id = ${poor.ownerId}`
    expect(codes((await step(poor, id, 'start')).body)).toEqual(['no_outbound_line', 'moderation_rejected'])
    await bindNumber(control.deps, poor.ownerId, poor.projectId, { number: poor.number, direction: 'out' })
    expect(await step(poor, id, 'start')).toMatchObject({ status: 422, body: { code: 'moderation_rejected' } })
    await poor.call('PATCH', `/campaigns/${id}`, { task: 'Ask for the weather.' })
    expect((await step(poor, id, 'start')).body.status).toBe('running')
  })

  test("requires the project's caller_id to be bound", async () => {
    const tenant = await createTenant(control, { money: '100', project: { caller_id: nextPhone() } })
    const { id } = await createFilled(tenant, 1)
    expect(codes((await step(tenant, id, 'start')).body)).toEqual(['no_outbound_line'])
  })

  test('waits for scheduled_start_at', async () => {
    const params = { scheduled_start_at: new Date(Date.now() + 3_600_000).toISOString() }
    const { id } = await createFilled(owner, 1, { params })
    const started = await step(owner, id, 'start')
    expect(started.body).toMatchObject({ status: 'scheduled', started_at: null })
    expect((await step(owner, id, 'start')).body).toEqual(started.body)
    expect((await upload(owner, id, [{ phone: nextCallee() }])).body.code).toBe('campaign_started')
    expect((await step(owner, id, 'pause')).body).toMatchObject({ status: 'paused', pause_reason: 'owner' })
    expect((await step(owner, id, 'resume')).body.status).toBe('scheduled')
    expect((await step(owner, id, 'stop')).body).toMatchObject({ status: 'stopped', counters: { canceled: 1 } })
  })

  test('finds no campaign of a deleted project', async () => {
    const project = await createProject(control.deps, owner.ownerId, { name: 'Gone', language: 'en' })
    const { id } = await createFilled(owner, 1, { project_id: project.id })
    await deleteProject(control.deps, owner.ownerId, project.id)
    expect((await step(owner, id, 'start')).body.code).toBe('not_found')
    await owner.call('PATCH', `/campaigns/${id}`, { project_id: owner.projectId })
    expect((await step(owner, id, 'start')).body.status).toBe('running')
  })
})

describe('steps', () => {
  const statuses = ['draft', 'scheduled', 'running', 'paused', 'completed', 'stopped'] as const
  const legal: Record<string, string[]> = {
    start: ['draft', 'scheduled', 'running'],
    pause: ['scheduled', 'running', 'paused'],
    resume: ['paused', 'scheduled', 'running'],
    stop: ['scheduled', 'running', 'paused', 'stopped'],
    requeue: ['paused', 'stopped', 'completed'],
  }

  async function bring(status: (typeof statuses)[number]) {
    const { id } = await createFilled(owner, 2)
    if (status === 'draft') return id
    await step(owner, id, 'start')
    await settle(control, id, { 1: 'busy', 2: 'completed' })
    if (status === 'paused') await step(owner, id, 'pause')
    if (status === 'stopped') await step(owner, id, 'stop')
    if (status === 'completed' || status === 'scheduled') {
      await control.deps.sql`update campaigns set status = ${status} where id = ${id}`
    }
    return id
  }

  test.each(statuses)('applies, repeats or rejects each action for a campaign that is %s', async status => {
    for (const action of Object.keys(legal)) {
      const id = await bring(status)
      const before = (await owner.call('GET', `/campaigns/${id}`)).body
      const answer = await step(owner, id, action)
      const isLegal = legal[action]!.includes(status)
      expect([action, answer.status, answer.body.code]).toEqual([
        action,
        ...(isLegal ? [200, undefined] : [409, 'invalid_transition']),
      ])
      if (!isLegal) expect((await owner.call('GET', `/campaigns/${id}`)).body).toEqual(before)
      else expect((await owner.call('GET', `/campaigns/${id}`)).body).toEqual(answer.body)
    }
  })

  test('allows edits while paused, and keeps an automatic pause when the owner pauses', async () => {
    const { id } = await createFilled(owner, 1)
    await step(owner, id, 'start')
    expect((await owner.call('PATCH', `/campaigns/${id}`, { name: 'No' })).body.code).toBe('invalid_transition')
    await control.deps.sql`update campaigns set status = 'paused', pause_reason = 'max_spend' where id = ${id}`
    const edited = await owner.call('PATCH', `/campaigns/${id}`, { params: { max_spend: '99', concurrency: 7 } })
    expect(edited.body).toMatchObject({ pause_reason: 'max_spend', params: { max_spend: '99.0000', concurrency: 7 } })
    expect((await owner.call('PATCH', `/campaigns/${id}`, { task: 'Other.' })).body.code).toBe('invalid_transition')
    expect((await step(owner, id, 'pause')).body.pause_reason).toBe('owner')
    expect((await step(owner, id, 'resume')).body).toMatchObject({ status: 'running', pause_reason: null })
  })

  test('runs the start checks again at resume', async () => {
    const tenant = await createTenant(control)
    const { id } = await createFilled(tenant, 1)
    await step(tenant, id, 'start')
    await step(tenant, id, 'pause')
    await control.deps.sql`update accounts set minute_price = 99999999 where id = ${tenant.ownerId}`
    expect((await step(tenant, id, 'resume')).body.code).toBe('insufficient_balance')
    expect((await tenant.call('GET', `/campaigns/${id}`)).body.status).toBe('paused')
  })

  test('requeues contacts that were not reached, with fresh attempts, and no others', async () => {
    const { id } = await createFilled(owner, 7)
    await step(owner, id, 'start')
    const ended = { 1: 'no_answer', 2: 'busy', 3: 'failed', 4: 'completed', 5: 'skipped' }
    await settle(control, id, ended)
    await step(owner, id, 'stop')
    const { body } = await step(owner, id, 'requeue')
    expect(body).toMatchObject({ status: 'running', completed_at: null })
    expect(body.counters).toEqual({
      total: 7,
      pending: 3,
      dialing: 0,
      in_progress: 0,
      completed: 1,
      no_answer: 0,
      busy: 0,
      failed: 0,
      skipped: 1,
      canceled: 2,
      goal_reached: 1,
    })
    expect(await countedRows(control, id)).toEqual({ pending: 3, completed: 1, skipped: 1, canceled: 2 })
    const again = (await owner.call('GET', `/campaigns/${id}/contacts?status=pending`)).body
    expect(again.items.map((one: { attempts: number }) => one.attempts)).toEqual([0, 0, 0])
    await step(owner, id, 'pause')
    expect((await step(owner, id, 'requeue')).body).toMatchObject({ status: 409, code: 'no_contacts' })
  })

  test('cancels contacts that were not dialled at stop', async () => {
    const { id } = await createFilled(owner, 3)
    await step(owner, id, 'start')
    await settle(control, id, { 2: 'completed' })
    const { body } = await step(owner, id, 'stop')
    expect(body).toMatchObject({ status: 'stopped', counters: { total: 3, pending: 0, completed: 1, canceled: 2 } })
    expect(body.completed_at).not.toBeNull()
    expect(await countedRows(control, id)).toEqual({ completed: 1, canceled: 2 })
    expect((await step(owner, id, 'stop')).body).toEqual(body)
  })

  test('starts once for ten concurrent requests', async () => {
    const { id } = await createFilled(owner, 1)
    const answers = await Promise.all(Array.from({ length: 10 }, () => step(owner, id, 'start')))
    expect(answers.map(answer => answer.status)).toEqual(Array(10).fill(200))
    expect(new Set(answers.map(answer => answer.body.started_at)).size).toBe(1)
  })

  test('stops the campaigns of a deleted project', async () => {
    const project = await createProject(control.deps, owner.ownerId, { name: 'Short', language: 'en' })
    const number = nextPhone()
    const trunk = { name: 'T', mode: 'ip', host: '127.0.0.1', numbers: [number] }
    await owner.call('POST', '/trunks', trunk)
    await bindNumber(control.deps, owner.ownerId, project.id, { number, direction: 'out' })
    const { id } = await createFilled(owner, 2, { project_id: project.id })
    expect((await step(owner, id, 'start')).body.status).toBe('running')
    await deleteProject(control.deps, owner.ownerId, project.id)
    const { body } = await owner.call('GET', `/campaigns/${id}`)
    expect(body).toMatchObject({ status: 'stopped', counters: { pending: 0, canceled: 2 } })
  })
})

test('hides campaigns from other owners, and rejects writes with a read key', async () => {
  const { id } = await createFilled(owner, 1)
  const contact = (await owner.call('GET', `/campaigns/${id}/contacts`)).body.items[0]
  const other = await createTenant(control)
  const paths = ['', '/contacts', `/contacts/${contact.id}/why`, '/events', '/results.csv']
  for (const path of paths) expect((await other.call('GET', `/campaigns/${id}${path}`)).status, path).toBe(404)
  for (const action of ['start', 'pause', 'resume', 'stop', 'requeue']) {
    expect((await step(other, id, action)).status, action).toBe(404)
  }
  expect((await upload(other, id, [])).status).toBe(404)
  expect((await other.call('PATCH', `/campaigns/${id}`, { name: 'Mine' })).status).toBe(404)
  expect((await other.call('DELETE', `/campaigns/${id}`)).status).toBe(404)
  const mine = await createFilled(owner, 1)
  expect((await owner.call('GET', `/campaigns/${mine.id}/contacts/${contact.id}/why`)).status).toBe(404)
  const reader = await createTenant(control, { scopes: ['read'] })
  expect((await reader.call('POST', `/campaigns/${id}/pause`)).body.code).toBe('insufficient_scope')
})

test('offers the same operations as MCP tools, with contacts as an argument', async () => {
  const call = (name: string, args: object) =>
    request(control.app, {
      method: 'POST',
      url: '/mcp',
      headers: { authorization: `Bearer ${owner.key}`, accept: 'application/json, text/event-stream' },
      payload: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
    })
  const made = await call('create_campaign', { name: 'Tool', project_id: owner.projectId })
  const { id } = made.body.result.structuredContent
  const contacts = [{ phone: nextCallee() }, { phone: '12' }]
  const uploaded = await call('upload_campaign_contacts', { campaign_id: id, contacts })
  const result = { accepted: 1, duplicates: 0, invalid: [{ index: 1, code: 'phone' }], total: 1 }
  expect(uploaded.body.result.structuredContent).toEqual(result)
  const started = await call('start_campaign', { campaign_id: id, consent: true })
  expect(started.body.result.structuredContent.status).toBe('running')
})
