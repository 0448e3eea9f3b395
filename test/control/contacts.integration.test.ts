import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createProject } from '../../control/agents/projects/service.ts'
import { uuidv7 } from '../../control/platform/ids.ts'
import { finish } from '../../control/telephony/calls/finish.ts'
import { upsertContact } from '../../control/telephony/contacts/sql.ts'
import { createWebhook } from '../../control/webhooks/service.ts'
import { createControl, createTenant, nextPhone, type Tenant, type TestControl } from '../support/control.ts'
import { record } from '../support/records.ts'

let control: TestControl
let owner: Tenant
beforeAll(async () => {
  control = await createControl()
})
afterAll(() => control?.close())
beforeEach(async () => {
  owner = await createTenant(control, { money: '500' })
})

async function contact(patch: object = {}, project_id = owner.projectId): Promise<{ id: string; phone: string }> {
  const phone = nextPhone()
  const id = await upsertContact(control.deps.sql, owner.ownerId, {
    id: uuidv7(Date.now()),
    phone,
    project_id,
    at: new Date(),
  })
  if (Object.keys(patch).length > 0) expect((await owner.call('PATCH', `/contacts/${id}`, patch)).status).toBe(200)
  return { id, phone }
}
const list = async (query = '') => (await owner.call('GET', `/contacts${query}`)).body
const ids = async (query: string) => (await list(query)).items.map((one: { id: string }) => one.id)

describe('the list', () => {
  test('a called number is a contact with all its fields', async () => {
    const phone = nextPhone()
    await owner.call('POST', '/calls', { project_id: owner.projectId, phone })
    const { items, total, limit, offset } = await list()
    expect({ total, limit, offset }).toEqual({ total: 1, limit: 50, offset: 0 })
    expect(items).toEqual([
      {
        id: expect.any(String),
        phone,
        name: null,
        notes: null,
        tags: [],
        lead_status: null,
        channel: 'phone',
        project_ids: [owner.projectId],
        last_call_at: null,
        do_not_call: false,
        consent: null,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      },
    ])
  })

  test('newest first, by pages', async () => {
    const made: string[] = []
    for (let i = 0; i < 5; i++) made.unshift((await contact()).id)
    expect(await ids('?limit=2')).toEqual(made.slice(0, 2))
    expect(await ids('?limit=2&offset=2')).toEqual(made.slice(2, 4))
    expect((await list('?limit=2&offset=4')).total).toBe(5)
    for (const bad of [
      '?limit=0',
      '?limit=201',
      '?offset=-1',
      '?lead=cold',
      '?channel=fax',
      '?unknown=1',
      '?project_id=1',
    ]) {
      expect([bad, (await owner.call('GET', `/contacts${bad}`)).status]).toEqual([bad, 400])
    }
  })

  test('q looks in name, phone, notes and tags, in any case and alphabet, and knows no wildcards', async () => {
    const anna = await contact({ name: 'Анна Петрова', notes: 'Prefers EVENINGS', tags: ['VIP', '100%'] })
    const other = await contact({ name: 'Bob_Smith' })
    const cases: [string, string[]][] = [
      ['петрова', [anna.id]],
      ['АННА', [anna.id]],
      ['evenings', [anna.id]],
      ['vip', [anna.id]],
      [
        anna.phone.slice(3, 12),
        [anna.phone, other.phone].filter(one => one.includes(anna.phone.slice(3, 12))).length === 2
          ? [other.id, anna.id]
          : [anna.id],
      ],
      ['100%', [anna.id]],
      ['%', [anna.id]],
      ['_', [other.id]],
      ['\\', []],
      ["' or 1=1 --", []],
    ]
    for (const [q, found] of cases) {
      const answer = await list(`?q=${encodeURIComponent(q)}`)
      expect([q, answer.items.map((one: { id: string }) => one.id), answer.total]).toEqual([q, found, found.length])
    }
  })

  test('filters go together, and totals agree with the rows', async () => {
    const second = await createProject(control.deps, owner.ownerId, { name: 'B', language: 'en' })
    const hot = await contact({ lead_status: 'hot' })
    await contact({ lead_status: 'won' })
    const both = await contact({ lead_status: 'hot' }, second.id)
    await upsertContact(control.deps.sql, owner.ownerId, {
      ...both,
      project_id: owner.projectId,
      at: new Date(),
    })
    const cases: [string, string[]][] = [
      ['?lead=hot', [both.id, hot.id]],
      [`?lead=hot&project_id=${second.id}`, [both.id]],
      [`?project_id=${owner.projectId}&lead=hot`, [both.id, hot.id]],
      ['?channel=phone&lead=lost', []],
      ['?channel=web', []],
    ]
    for (const [query, found] of cases) {
      expect([query, await ids(query), (await list(query)).total]).toEqual([query, found, found.length])
    }
    await owner.call('PATCH', `/contacts/${both.id}`, { lead_status: 'lost' })
    expect((await list('?lead=hot')).total).toBe(1)
    expect((await list(`?lead=lost&project_id=${second.id}`)).total).toBe(1)
    expect((await list()).total).toBe(3)
  })

  test('totals hold when many contacts move at once', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => contact()))
    const statuses = ['new', 'hot', '', 'won', 'lost', 'in_progress']
    await Promise.all(
      made.flatMap(({ id }, i) =>
        statuses.map((_, k) => owner.call('PATCH', `/contacts/${id}`, { lead_status: statuses[(i + k) % 6] })),
      ),
    )
    let sum = 0
    for (const lead of ['new', 'in_progress', 'hot', 'won', 'lost']) {
      const page = await list(`?lead=${lead}`)
      expect([lead, page.total]).toEqual([lead, page.items.length])
      sum += page.total
    }
    expect((await list()).total).toBe(8)
    expect(sum).toBeLessThanOrEqual(8)
  })
})

describe('an edit', () => {
  test('changes what is named, and nothing else', async () => {
    const { id } = await contact({ name: 'Ann', notes: 'n', tags: ['a', 'b'], lead_status: 'new' })
    const patch = async (body: object) => (await owner.call('PATCH', `/contacts/${id}`, body)).body
    const before = await patch({})
    expect(before).toMatchObject({ name: 'Ann', notes: 'n', tags: ['a', 'b'], lead_status: 'new' })
    expect(await patch({ tags: ['c', 'c', 'd'] })).toEqual({ ...before, tags: ['c', 'd'] })
    expect(await patch({ tags: [] })).toEqual({ ...before, tags: [] })
    expect(await patch({ lead_status: '' })).toEqual({ ...before, tags: [], lead_status: null })
    expect(await patch({ name: ' Bo ', notes: '' })).toMatchObject({ name: 'Bo', notes: null })
    expect((await owner.call('GET', `/contacts/${id}`)).body).toMatchObject({ name: 'Bo', lead_status: null })
  })

  test.each([
    { lead_status: 'cold' },
    { lead_status: null },
    { name: 1 },
    { tags: 'a' },
    { tags: [''] },
    { phone: '+14155550100' },
    { name: 'x'.repeat(201) },
    [],
    'text',
  ])('%j is refused', async body => {
    const { id } = await contact()
    const answer = await owner.call('PATCH', `/contacts/${id}`, body, { 'content-type': 'application/json' })
    expect(answer.status).toBe(400)
  })

  test("another owner's contact is not there", async () => {
    const { id } = await contact()
    const stranger = await createTenant(control)
    expect((await stranger.call('PATCH', `/contacts/${id}`, { name: 'x' })).status).toBe(404)
    expect((await stranger.call('GET', `/contacts/${id}`)).status).toBe(404)
    expect((await stranger.call('GET', '/contacts')).body.total).toBe(0)
  })
})

describe('a caller becomes a lead', () => {
  async function talk(phone: string, goal_reached: boolean) {
    const { body } = await owner.call('POST', '/calls', { project_id: owner.projectId, phone })
    await finish(control.deps, body.id, record({ goal_reached }))
    return body.id as string
  }
  const told = () =>
    control.deps.sql<{ body: string }[]>`
      select body from webhook_deliveries where owner_id = ${owner.ownerId} and event = 'lead.created' order by id`

  test('creates a lead once when a call reaches its goal, with a webhook', async () => {
    await createWebhook(control.deps, owner.ownerId, { url: 'https://hooks.example/', events: ['lead.created'] })
    const phone = nextPhone()
    await talk(phone, false)
    expect((await list()).items[0].lead_status).toBeNull()
    const callId = await talk(phone, true)
    const [lead] = (await list('?lead=new')).items
    expect(lead).toMatchObject({ phone, lead_status: 'new', last_call_at: expect.any(String) })
    await talk(phone, true)
    const rows = await told()
    expect(rows).toHaveLength(1)
    expect(JSON.parse(rows[0]!.body)).toEqual({
      event: 'lead.created',
      lead_id: lead.id,
      job_id: null,
      phone,
      score: null,
      created_at: expect.any(String),
      data: { call_id: callId },
    })
  })

  test('keeps a status that was set by hand', async () => {
    const { id, phone } = await contact({ lead_status: 'lost' })
    await talk(phone, true)
    expect((await owner.call('GET', `/contacts/${id}`)).body.lead_status).toBe('lost')
  })
})

describe('do-not-call', () => {
  test('a listed number shows, is not dialled, and can be taken off, with or without the plus', async () => {
    const { phone } = await contact()
    const added = await owner.call('POST', '/do-not-call', { phone, note: 'asked by mail' })
    expect(added).toMatchObject({ status: 201, body: { phone, source: 'api', note: 'asked by mail' } })
    const again = await owner.call('POST', '/do-not-call', { phone, note: 'another' })
    expect(again).toMatchObject({ status: 201, body: added.body })
    expect((await list()).items[0].do_not_call).toBe(true)
    expect((await owner.call('POST', '/calls', { project_id: owner.projectId, phone })).body.code).toBe('do_not_call')
    expect((await owner.call('GET', '/do-not-call')).body).toMatchObject({ total: 1, items: [{ phone }] })
    expect((await owner.call('GET', `/do-not-call?q=${phone.slice(1, 6)}`)).body.total).toBe(1)
    expect((await owner.call('GET', '/do-not-call?q=%2B99')).body).toMatchObject({ total: 0, items: [] })
    expect((await owner.call('GET', '/do-not-call?q=a')).status).toBe(400)
    const gone = await owner.call('DELETE', `/do-not-call/${phone.slice(1)}`)
    expect(gone).toMatchObject({ status: 200, body: { id: phone, deleted: true } })
    expect((await owner.call('DELETE', `/do-not-call/${encodeURIComponent(phone)}`)).status).toBe(404)
    expect((await owner.call('GET', '/do-not-call')).body).toMatchObject({ total: 0 })
    expect((await owner.call('POST', '/calls', { project_id: owner.projectId, phone })).status).toBe(201)
  })

  test("adds a caller to the owner's do-not-call list on request", async () => {
    const phone = nextPhone()
    const { body } = await owner.call('POST', '/calls', { project_id: owner.projectId, phone })
    await finish(control.deps, body.id, record({ do_not_call: true }))
    expect((await owner.call('GET', '/do-not-call')).body).toMatchObject({
      total: 1,
      items: [{ phone, source: 'caller' }],
    })
    const stranger = await createTenant(control)
    expect((await stranger.call('GET', '/do-not-call')).body.total).toBe(0)
    expect((await stranger.call('DELETE', `/do-not-call/${phone}`)).status).toBe(404)
    expect((await stranger.call('POST', '/do-not-call', { phone: '12' })).status).toBe(400)
  })
})
