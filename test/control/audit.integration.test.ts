/** Audit entries: written before the operation runs, for every channel, and never changed. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { audited, sweepAuditEntries } from '../../control/access/audit/service.ts'
import { openSession } from '../../control/access/sessions/sessions.ts'
import { createControl, createTenant, nextPhone, request, type Tenant, type TestControl } from '../support/control.ts'

let control: TestControl
beforeAll(async () => {
  control = await createControl()
})
afterAll(() => control?.close())

interface Entry {
  id: string
  actor: string
  actor_id: string | null
  channel: string
  address: string | null
  operation: string
  resource: string | null
  outcome: string | null
  code: string | null
}
const log = async (owner: Tenant, query = ''): Promise<Entry[]> =>
  (await owner.call('GET', `/audit?limit=200${query}`)).body.items
const brief = (entries: Entry[]) => entries.map(({ operation, outcome, code }) => [operation, outcome, code])

test('records key, session and MCP requests with operation, address and outcome', async () => {
  const owner = await createTenant(control, { money: '100' })
  const phone = nextPhone()
  const call = await owner.call('POST', '/calls', { project_id: owner.projectId, phone, task: `Tell ${phone}` })
  await owner.call('POST', '/do-not-call', { phone, note: 'Never again' })
  await owner.call('POST', '/calls', { project_id: owner.projectId, phone })
  await owner.call('DELETE', `/do-not-call/${encodeURIComponent(phone)}`)
  await owner.call('GET', '/calls')
  const { token, session } = await openSession(control.deps, owner.ownerId)
  await request(control.app, {
    method: 'PATCH',
    url: '/v1/public/limits',
    headers: { cookie: `parley_session=${token}`, 'sec-fetch-site': 'same-origin' },
    payload: { max_spend_a_day: '1000' },
    remoteAddress: '192.0.2.9',
  })
  const message = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'update_project', arguments: { project_id: owner.projectId, name: 'Renamed' } },
  }
  await request(control.app, {
    method: 'POST',
    url: '/mcp',
    headers: { authorization: `Bearer ${owner.key}`, accept: 'application/json, text/event-stream' },
    payload: message,
  })
  const [key] = await control.deps.sql`select id from api_keys where owner_id = ${owner.ownerId}`
  const byKey = {
    actor: 'key',
    actor_id: key!['id'],
    channel: 'rest',
    address: '127.0.0.1',
    outcome: 'done',
    code: null,
  }
  expect(await log(owner)).toMatchObject([
    { ...byKey, channel: 'mcp', operation: 'update_project', resource: owner.projectId },
    {
      ...byKey,
      actor: 'session',
      actor_id: session.id,
      address: '192.0.2.9',
      operation: 'update_limits',
      resource: null,
    },
    { ...byKey, operation: 'remove_do_not_call', resource: null },
    { ...byKey, operation: 'place_call', resource: null, outcome: 'refused', code: 'do_not_call' },
    { ...byKey, operation: 'add_do_not_call', resource: null },
    { ...byKey, operation: 'place_call', resource: call.body.id },
  ])
  const rows = await control.deps.sql`select audit_log::text as row from audit_log where owner_id = ${owner.ownerId}`
  expect(JSON.stringify(rows)).not.toContain(phone.slice(1))
  expect(JSON.stringify(rows)).not.toContain('Never again')
})

test('records log-ins, password changes and password resets', async () => {
  const credentials = { email: 'audited@example.com', password: 'a long enough one' }
  const post = (url: string, payload: object, cookie = '') =>
    request(control.app, {
      method: 'POST',
      url: `/auth${url}`,
      payload,
      headers: { 'sec-fetch-site': 'same-origin', ...(cookie ? { cookie } : {}) },
    })
  const made = await post('/sign-up', credentials)
  const ownerId = made.body.account_id
  expect((await post('/log-in', { ...credentials, password: 'not this one at all' })).status).toBe(401)
  const entered = await post('/log-in', credentials)
  const cookie = String(entered.headers['set-cookie']).split(';')[0]!
  await post('/password', { current: 'not this one at all', new: 'another long one' }, cookie)
  await post('/password', { current: credentials.password, new: 'another long one' }, cookie)
  await post('/password-reset', { email: credentials.email })
  await expect.poll(() => control.deps.mail.sent.length).toBe(1)
  const token = /^[\w-]{43}$/m.exec(control.deps.mail.sent[0]!.text)![0]
  expect((await post('/password-reset/confirm', { token, password: 'a third long one' })).status).toBe(200)
  const { body } = await request(control.app, {
    method: 'GET',
    url: '/v1/public/audit',
    headers: {
      cookie: String((await post('/log-in', { ...credentials, password: 'a third long one' })).headers['set-cookie']),
    },
  })
  expect(brief(body.items)).toEqual([
    ['log_in', 'done', null],
    ['confirm_password_reset', 'done', null],
    ['change_password', 'done', null],
    ['change_password', 'refused', 'invalid_credentials'],
    ['log_in', 'done', null],
    ['sign_up', 'done', null],
  ])
  expect(body.items.map((item: Entry) => item.channel)).toEqual(Array(6).fill('auth'))
  const rows = await control.deps.sql`select audit_log::text as row from audit_log where owner_id = ${ownerId}`
  expect(JSON.stringify(rows)).not.toMatch(/audited@|long/)
})

test('continues a page after its cursor while entries are added', async () => {
  const owner = await createTenant(control)
  const rename = (name: string) => owner.call('PATCH', `/projects/${owner.projectId}`, { name })
  for (let n = 0; n < 7; n++) await rename(`Name ${n}`)
  await owner.call('POST', '/projects', { name: 'Another', language: 'en' })
  const all = (await log(owner)).map(({ id }) => id)
  const seen: string[] = []
  let next = ''
  do {
    const { body } = await owner.call('GET', `/audit?limit=3${next}`)
    seen.push(...body.items.map(({ id }: Entry) => id))
    next = body.next_cursor && `&cursor=${body.next_cursor}`
    await rename('More')
  } while (next)
  expect(seen).toEqual(all)
  expect(brief(await log(owner, '&operation=create_project'))).toEqual([['create_project', 'done', null]])
  for (const wrong of ['cursor=nonsense', 'cursor=zzzzzzzzzzz_', 'offset=1', 'operation=DROP']) {
    expect([wrong, (await owner.call('GET', `/audit?${wrong}`)).status]).toEqual([wrong, 400])
  }
  const last = `zzzzzzzzzzz_${'f'.repeat(32)}`
  expect((await owner.call('GET', `/audit?cursor=${last}`)).status).toBe(200)
})

test('records an idempotent replay as a replay', async () => {
  const owner = await createTenant(control)
  const make = () => owner.call('POST', '/projects', { name: 'Once', language: 'en' }, { 'idempotency-key': 'once' })
  const { body } = await make()
  await make()
  const { resource } = (await log(owner))[0]!
  expect([resource, ...brief(await log(owner))]).toEqual([
    body.id,
    ['create_project', 'replayed', null],
    ['create_project', 'done', null],
  ])
})

test('writes the entry before the operation runs, and does not run it when the write fails', async () => {
  const { deps } = control
  const owner = await createTenant(control)
  const entry = {
    actor: 'key' as const,
    actor_id: null,
    channel: 'rest' as const,
    address: null,
    operation: 'place_call',
    resource: null,
    request_id: null,
    person_id: null,
  }
  const started = Promise.withResolvers<void>()
  void audited(deps, owner.ownerId, entry, () => {
    started.resolve()
    return new Promise(() => {})
  })
  await started.promise
  expect(brief(await log(owner))).toEqual([['place_call', null, null]])
  await deps.sql`alter table audit_log add constraint no_room check (operation <> 'create_project') not valid`
  const answer = await owner.call('POST', '/projects', { name: 'Unseen', language: 'en' })
  await deps.sql`alter table audit_log drop constraint no_room`
  expect(answer.status).toBe(500)
  const { projects } = (await owner.call('GET', '/projects')).body
  expect(projects.map((project: { name: string }) => project.name)).not.toContain('Unseen')
  const failing = audited(deps, owner.ownerId, entry, () => Promise.reject(new Error('broken')))
  await expect(failing).rejects.toThrow('broken')
  expect(brief(await log(owner))[0]).toEqual(['place_call', 'failed', 'internal_error'])
})

test('rejects updates and deletions, except by retention', async () => {
  const { deps } = control
  const { sql } = deps
  const owner = await createTenant(control)
  await owner.call('POST', '/projects', { name: 'One', language: 'en' })
  const mine = sql`owner_id = ${owner.ownerId}`
  const before = await sql`select * from audit_log where ${mine}`
  expect(before).toHaveLength(1)
  const attempts = [
    () => sql`update audit_log set operation = 'nothing' where ${mine}`,
    () => sql`update audit_log set outcome = 'refused' where ${mine}`,
    () => sql`update audit_log set outcome = null where ${mine}`,
    () => sql`update audit_log set address = '192.0.2.1' where ${mine}`,
    () => sql`delete from audit_log where ${mine}`,
    () => sql`truncate audit_log`,
  ]
  for (const attempt of attempts) await expect(attempt()).rejects.toThrow('append-only')
  expect(await sql`select * from audit_log where ${mine}`).toEqual(before)
  deps.clock.advance(364 * 24 * 3600 * 1000)
  await sweepAuditEntries(deps)
  expect(await log(owner)).toHaveLength(1)
  deps.clock.advance(2 * 24 * 3600 * 1000)
  await sweepAuditEntries(deps)
  expect(await log(owner)).toEqual([])
})
