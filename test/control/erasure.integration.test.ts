/** After an erasure, no column of any table and no file contains the person. New tables are covered automatically. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { giveLogin } from '../../control/access/login/login.ts'
import { handleEvent } from '../../control/background/engine.ts'
import { openJobHold, settleJobHold, toUnits } from '../../control/billing/money.ts'
import { eraseClosed } from '../../control/data/accounts/closed.ts'
import { eraseAccount } from '../../control/data/accounts/operator.ts'
import { knowledgeOf } from '../../control/knowledge/storage.ts'
import { admitCall } from '../../control/telephony/calls/admit.ts'
import { recordingKey, recordingsOf } from '../../media/contract/recordings.ts'
import { createControl, createTenant, nextPhone, request, type Tenant, type TestControl } from '../support/control.ts'
import { fillPersonal, type Person, store } from '../support/personal.ts'
import { record } from '../support/records.ts'

let control: TestControl
beforeAll(async () => {
  control = await createControl()
})
afterAll(() => control?.close())

let people = 0
/** A unique person; no stemmer changes the texts. */
const nextPerson = (): Person => ({
  phone: `+7999${String(1_000_000 + people++)}`,
  name: `Zybrzyck${'abcdefgh'[people]}`,
})

/** Every table of ours and of the job queue that has one of these in any column, bytes too. */
async function tablesWith(texts: readonly string[], where = 'true'): Promise<string[]> {
  const { sql } = control.deps
  const tables = await sql<{ name: string; owned: boolean }[]>`
    select format('%I.%I', t.table_schema, t.table_name) as name, exists (
      select from information_schema.columns c
      where c.table_schema = t.table_schema and c.table_name = t.table_name and c.column_name = 'owner_id') as owned
    from information_schema.tables t
    where t.table_schema in ('parley', 'parley_jobs') and t.table_type = 'BASE TABLE' order by 1`
  expect(tables.length).toBeGreaterThan(45)
  const patterns = texts.flatMap(text => [`%${text}%`, `%${Buffer.from(text).toString('hex')}%`])
  const found: string[] = []
  for (const { name, owned } of tables) {
    const rows = await sql.unsafe(
      `select 1 from ${name} t where t::text ilike any($1) and (${owned ? where : 'true'}) limit 1`,
      [patterns],
    )
    if (rows.length > 0) found.push(name.replace('parley.', ''))
  }
  return found
}

async function filesOf(owner: Tenant): Promise<string[]> {
  const { sql, blobs } = control.deps
  const calls = await sql<{ id: string }[]>`select id from calls where owner_id = ${owner.ownerId}`
  const sources = await sql<{ id: string }[]>`select id from knowledge_sources where owner_id = ${owner.ownerId}`
  const keys = [
    ...calls.map(({ id }) => recordingKey(owner.ownerId, id)),
    ...sources.map(({ id }) => `${knowledgeOf(owner.ownerId)}/${id}`),
  ]
  const found: string[] = []
  for (const key of keys) {
    const content = await blobs.read(key)
    if (content) found.push(Buffer.concat(await content.toArray()).toString('utf8'))
  }
  return found
}

/** Tables with personal data. Add a new table here when the test finds it. */
const PLACES = [
  'call_events',
  'call_traces',
  'calls',
  'campaign_contacts',
  'campaigns',
  'contacts',
  'do_not_call',
  'idempotency',
  'knowledge_chunks',
  'knowledge_lexemes',
  'knowledge_sources',
  'knowledge_terms',
  'lead_directory_rows',
  'lead_identities',
  'leads',
  'realtime_sessions',
  'webhook_attempts',
  'webhook_deliveries',
]
/** Tables with texts of the owner. They are not erased; the report lists mentions of the number in them. */
const OWNERS_WORDS = ['campaigns', 'knowledge_chunks', 'knowledge_lexemes', 'knowledge_sources', 'knowledge_terms']

const erase = (owner: Tenant, body: object, headers = {}) => owner.call('POST', '/erasure', body, headers)
const ledger = (owner: Tenant) =>
  control.deps.sql`select * from ledger_entries where owner_id = ${owner.ownerId} order by created_at, id`
const counters = (owner: Tenant) =>
  control.deps.sql`select total, pending, skipped from campaign_counters where owner_id = ${owner.ownerId}`

test('erases a person everywhere; other data and the ledger stay', async () => {
  const [owner, other] = [await createTenant(control), await createTenant(control)]
  const [person, neighbour] = [nextPerson(), nextPerson()]
  for (const one of [person, neighbour]) {
    await fillPersonal(control, owner, one).catch(error => {
      // Both are in the one index of the project.
      if (!/knowledge_indexes|retention|lead_terms/.test(String(error))) throw error
    })
  }
  await fillPersonal(control, other, person)
  const texts = [person.phone, person.name]
  expect(await tablesWith(texts, `owner_id = '${owner.ownerId}'`)).toEqual(PLACES)
  const [money, theirs] = [await ledger(owner), await tablesWith(texts, `owner_id = '${other.ownerId}'`)]

  const { status, body } = await erase(owner, { phone: person.phone, do_not_call: 'forget' })
  expect([status, body]).toEqual([
    200,
    { ...body, contacts: 1, calls: 1, campaign_contacts: 1, leads: 1, do_not_call: false },
  ])
  expect(body.mentions.map((one: { kind: string }) => one.kind)).toEqual(['knowledge_source'])
  const left = await tablesWith(texts, `owner_id = '${owner.ownerId}'`)
  // Tables without an owner of their own still hold what the other account has.
  const through = ['call_events', 'lead_identities', 'webhook_attempts']
  expect(left.filter(name => !through.includes(name))).toEqual(OWNERS_WORDS)
  expect(await ledger(owner)).toEqual(money)
  expect(await counters(owner)).toContainEqual({ total: 2, pending: 1, skipped: 1 })
  expect((await filesOf(owner)).join()).not.toContain(`It is ${person.name}`)
  expect((await filesOf(other)).join()).toContain(`It is ${person.name}`)
  expect(await tablesWith(texts, `owner_id = '${other.ownerId}'`)).toEqual(theirs)
  expect(await tablesWith([neighbour.phone], `owner_id = '${owner.ownerId}'`)).toContain('contacts')

  await erase(other, { phone: person.phone, do_not_call: 'forget' })
  expect(await tablesWith(texts)).toEqual(OWNERS_WORDS)
  expect((await erase(owner, { phone: person.phone })).body).toMatchObject({ contacts: 0, calls: 0, leads: 0 })
})

test('keeps the do-not-call entry only on request; a repeat succeeds', async () => {
  const owner = await createTenant(control)
  const { phone, name } = nextPerson()
  const key = { 'idempotency-key': randomUUID() }
  await owner.call('POST', '/do-not-call', { phone, note: name }, key)
  expect((await erase(owner, { phone })).body.do_not_call).toBe(true)
  expect(await tablesWith([phone])).toEqual(['do_not_call'])
  expect(await tablesWith([name])).toEqual([])
  const again = await owner.call('POST', '/do-not-call', { phone, note: name }, key)
  expect([again.status, again.body.code]).toEqual([404, 'not_found'])
  const call = { project_id: owner.projectId, phone }
  expect((await owner.call('POST', '/calls', call)).body.code).toBe('do_not_call')
  const gone = { 'idempotency-key': randomUUID() }
  const first = await erase(owner, { phone, do_not_call: 'forget' }, gone)
  expect((await erase(owner, { phone, do_not_call: 'forget' }, gone)).body).toEqual(first.body)
  expect(await tablesWith([phone])).toEqual([])
  expect((await erase(owner, { phone, do_not_call: 'add' })).body.do_not_call).toBe(true)
})

async function finished(owner: Tenant, phone: string): Promise<string> {
  const { body } = await owner.call('POST', '/calls', { project_id: owner.projectId, phone, task: `Ask ${phone}` })
  const event = { v: 1 as const, at: control.deps.clock.wall(), call_id: body.id, owner_id: owner.ownerId }
  await handleEvent(control.deps, { ...event, seq: 1, type: 'call.ended', record: record({ summary: `Of ${phone}` }) })
  return body.id
}

test('rejects erasure of a live call; erases an ended one with its late recording', async () => {
  const { deps } = control
  const owner = await createTenant(control, { money: '1000' })
  const phone = nextPhone()
  const live = (await owner.call('POST', '/calls', { project_id: owner.projectId, phone })).body.id
  for (const answer of [await owner.call('DELETE', `/calls/${live}`), await erase(owner, { phone })]) {
    expect([answer.status, answer.body.code]).toEqual([409, 'invalid_transition'])
  }
  const callee = nextPhone()
  const id = await finished(owner, callee)
  const before = (await owner.call('GET', `/calls/${id}`)).body
  expect((await owner.call('DELETE', `/calls/${id}`)).body).toEqual({ id, deleted: true })
  const after = (await owner.call('GET', `/calls/${id}`)).body
  expect(after).toEqual({ ...before, to: 'erased', contact_id: null, summary: null })
  expect(await tablesWith([callee])).toEqual(['contacts'])
  const key = recordingKey(owner.ownerId, id)
  await store(deps.blobs, key, 'RIFF')
  const event = { v: 1 as const, at: deps.clock.wall(), call_id: id, owner_id: owner.ownerId }
  await handleEvent(deps, { ...event, type: 'recording.ready', recording: { key, duration_ms: 1, bytes: 4 } })
  expect(await deps.blobs.read(key)).toBeNull()
  expect((await owner.call('GET', `/calls/${id}`)).body.recording_url).toBeNull()
})

test('erases a contact while calls come in; the next call creates a new one', async () => {
  const owner = await createTenant(control, { money: '1000' })
  const phone = nextPhone()
  const first = await finished(owner, phone)
  const { contact_id } = (await owner.call('GET', `/calls/${first}`)).body
  const ask = { engine: 'e', boot: 'b', trunk_id: owner.trunkId, called: owner.number, caller: phone, source: '' }
  const [gone, ...taken] = await Promise.all([
    owner.call('DELETE', `/contacts/${contact_id}`),
    ...Array.from({ length: 8 }, () => admitCall(control.deps, ask)),
  ])
  expect(gone.body).toEqual({ id: contact_id, deleted: true })
  expect(taken.every(answer => answer.admitted)).toBe(true)
  expect((await owner.call('GET', `/contacts/${contact_id}`)).status).toBe(404)
  expect((await owner.call('DELETE', `/contacts/${contact_id}`)).status).toBe(404)
  const call = (await owner.call('GET', `/calls/${first}`)).body
  expect([call.to, call.contact_id]).toEqual([phone, null])
  const [{ total }] = [(await owner.call('GET', '/contacts')).body]
  const [row] = await control.deps.sql`select count(*)::int as n from contacts where owner_id = ${owner.ownerId}`
  expect(total).toBe(row!['n'])
})

test('erases a finished search with its leads; its charge stays', async () => {
  const { sql } = control.deps
  const owner = await createTenant(control)
  const person = nextPerson()
  await fillPersonal(control, owner, person)
  const [job] = await sql<{ id: string }[]>`select id from lead_jobs where owner_id = ${owner.ownerId}`
  const at = new Date(control.deps.clock.wall())
  const { id } = job!
  await sql.begin(tx => openJobHold(tx, owner.ownerId, { id, amount: toUnits('10') }, at))
  await sql.begin(tx => settleJobHold(tx, owner.ownerId, { id, cost: toUnits('10') }, at))
  const money = await ledger(owner)
  await sql`update lead_jobs set status = 'running', ended_at = null where id = ${id}`
  expect((await owner.call('DELETE', `/lead-search/${id}`)).body.code).toBe('invalid_transition')
  await sql`update lead_jobs set status = 'completed', ended_at = now() where id = ${id}`
  expect((await owner.call('DELETE', `/lead-search/${id}`)).body).toEqual({ id, deleted: true })
  expect((await owner.call('GET', `/lead-search/${id}`)).status).toBe(404)
  expect(await tablesWith([person.name])).not.toContain('leads')
  expect(await ledger(owner)).toEqual(money)
})

test('leaves no personal data of a deleted account', async () => {
  const { sql, blobs } = control.deps
  const owner = await createTenant(control)
  const person = nextPerson()
  await fillPersonal(control, owner, person)
  await sql`
    update accounts set name = ${person.name}, email = ${`${person.name}@example.com`} where id = ${owner.ownerId}`
  await sql`update projects set name = ${person.name} where id = ${owner.projectId}`
  const texts = [person.phone, person.name]
  expect(await tablesWith(texts)).toEqual(expect.arrayContaining(['accounts', 'projects', ...PLACES]))
  const files = await filesOf(owner)
  expect(files.length).toBe(2)
  const clock = {
    ...control.deps.clock,
    after: (_: number, run: () => void) => clearImmediate.bind(null, setImmediate(run)),
  }
  await eraseAccount({ ...control.deps, clock }, owner.ownerId)
  expect(await tablesWith(texts)).toEqual([])
  for (const folder of [recordingsOf(owner.ownerId), knowledgeOf(owner.ownerId)]) {
    expect(await blobs.read(`${folder}/${owner.projectId}`)).toBeNull()
  }
  expect(await tablesWith([owner.ownerId])).toEqual(['accounts', 'audit_log', 'balances', 'holds', 'ledger_entries'])
})

test('logs out a deleted account at once, and erases it when its last call has ended', async () => {
  const { deps, app } = control
  const owner = await createTenant(control)
  const person = nextPerson()
  await fillPersonal(control, owner, person)
  const credentials = { email: `${person.name}@example.com`.toLowerCase(), password: 'a long enough one' }
  await giveLogin(deps, owner.ownerId, credentials)
  const post = (url: string, payload: object, headers = {}) =>
    request(app, {
      method: 'POST',
      url: `/auth${url}`,
      payload,
      headers: { 'sec-fetch-site': 'same-origin', ...headers },
    })
  const cookie = String((await post('/log-in', credentials)).headers['set-cookie']).split(';')[0]
  const live = (await owner.call('POST', '/calls', { project_id: owner.projectId, phone: nextPhone() })).body.id
  const wrong = await post('/delete-account', { password: 'not this one' }, { cookie })
  expect([wrong.status, wrong.body.code]).toEqual([401, 'invalid_credentials'])
  expect((await owner.call('GET', '/calls')).status).toBe(200)

  expect((await post('/delete-account', { password: credentials.password }, { cookie })).body).toEqual({ closed: true })
  expect((await owner.call('GET', '/calls')).status).toBe(401)
  expect((await request(app, { method: 'GET', url: '/auth/session', headers: { cookie: cookie! } })).status).toBe(401)
  expect((await post('/log-in', credentials)).status).toBe(401)
  const [job] = await deps.sql`select data from parley_jobs.job where name = 'account.erase'`
  expect(job!['data']).toEqual({ owner_id: owner.ownerId })
  const clock = { ...deps.clock, after: (_: number, run: () => void) => clearImmediate.bind(null, setImmediate(run)) }
  const erase = () => eraseClosed({ ...deps, clock }, { owner_id: owner.ownerId })
  await expect(erase()).rejects.toThrow('The account has 1 calls in progress')
  const event = { v: 1 as const, at: deps.clock.wall(), call_id: live, owner_id: owner.ownerId }
  await handleEvent(deps, { ...event, seq: 1, type: 'call.ended', record: record() })
  await erase()
  expect(await tablesWith([person.phone, person.name])).toEqual([])
  expect(await deps.sql`select actor, channel, operation from audit_log where owner_id = ${owner.ownerId}`).toEqual([
    { actor: 'person', channel: 'auth', operation: 'delete_account' },
  ])
  await erase() // a job that is delivered twice
})
