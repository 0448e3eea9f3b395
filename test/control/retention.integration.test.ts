/** Retention of the personal data of calls, with simulated time. */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openSession } from '../../control/access/sessions/sessions.ts'
import { handleEvent } from '../../control/background/engine.ts'
import { sweepRetention } from '../../control/data/retention/service.ts'
import { createFolderBlobs } from '../../infra/adapters/blobs.ts'
import { recordingKey } from '../../media/contract/recordings.ts'
import type { Blobs } from '../../media/shared/blobs.ts'
import { fillCalls } from '../support/calls.ts'
import { createControl, createTenant, nextPhone, request, type Tenant, type TestControl } from '../support/control.ts'
import { record } from '../support/records.ts'

const DAY_MS = 24 * 3600 * 1000
let control: TestControl
let folder: string
let blobs: Blobs
beforeAll(async () => {
  control = await createControl({ config: { trial_balance: '1000' } })
})
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-retention-'))
  blobs = createFolderBlobs(folder)
  return () => rm(folder, { recursive: true, force: true })
})
afterAll(() => control?.close())

async function set(owner: Tenant, body: object) {
  const { token } = await openSession(control.deps, owner.ownerId)
  return request(control.app, {
    method: 'PATCH',
    url: '/v1/public/retention',
    headers: { cookie: `parley_session=${token}`, 'sec-fetch-site': 'same-origin' },
    payload: body,
  })
}
const sweep = () => sweepRetention({ ...control.deps, blobs })
const files = async (owner: Tenant) => (await readdir(join(folder, 'recordings', owner.ownerId)).catch(() => [])).length

async function store(owner: Tenant, callId: string): Promise<{ key: string; duration_ms: number; bytes: number }> {
  const file = join(folder, randomUUID())
  await writeFile(file, 'RIFF')
  const key = recordingKey(owner.ownerId, callId)
  await blobs.store(key, file, { contentType: 'audio/wav', signal: AbortSignal.timeout(5000) })
  return { key, duration_ms: 1000, bytes: 4 }
}

/** A call with something of every kind in it. */
async function called(owner: Tenant): Promise<string> {
  const phone = nextPhone()
  const call = { project_id: owner.projectId, phone, task: 'Ask Ivan', vars: { name: 'Ivan' } }
  const { id } = (await owner.call('POST', '/calls', call)).body
  const event = { v: 1 as const, at: control.deps.clock.wall(), call_id: id, owner_id: owner.ownerId }
  await handleEvent(control.deps, { ...event, seq: 1, type: 'call.started', engine: 'e', boot: 'b' })
  const turn = {
    role: 'caller' as const,
    text: 'I am Ivan',
    heard_text: 'I am Ivan',
    started_ms: 0,
    ended_ms: 900,
    interrupted: false,
  }
  const sip = { messages: [], omitted: 0, diagnosis: null }
  await handleEvent(control.deps, {
    ...event,
    seq: 2,
    type: 'call.ended',
    record: record({
      ended_at: control.deps.clock.wall(),
      answered_at: control.deps.clock.wall() - 1000,
      sip,
      transcript: [turn],
      summary: 'Ivan called',
      extracted: { name: 'Ivan' },
      recording: await store(owner, id),
    }),
  })
  return id
}

const detail = async (owner: Tenant, id: string) => (await owner.call('GET', `/calls/${id}`)).body
const ERASED_WORDS = { transcript: [], tool_calls: [], summary: null, extracted: null }
const ledger = (owner: Tenant) =>
  control.deps.sql`select * from ledger_entries where owner_id = ${owner.ownerId} order by created_at, id`

test('lets keys read it and only sessions change it; validates values', async () => {
  const owner = await createTenant(control)
  const kept = { recordings_days: null, transcripts_days: null, phones_days: null }
  expect((await owner.call('GET', '/retention')).body).toEqual(kept)
  expect((await owner.call('PATCH', '/retention', { recordings_days: 1 })).body.code).toBe('insufficient_scope')
  expect((await set(owner, { recordings_days: 7, phones_days: 30 })).body).toEqual({
    ...kept,
    recordings_days: 7,
    phones_days: 30,
  })
  expect((await set(owner, { phones_days: null })).body).toEqual({ ...kept, recordings_days: 7 })
  for (const days of [0, 3651, 1.5, '7']) {
    expect((await set(owner, { transcripts_days: days })).body.errors[0].pointer).toBe('/transcripts_days')
  }
})

test('deletes each kind at its age, and keeps the ledger', async () => {
  const [owner, other] = [await createTenant(control), await createTenant(control)]
  await set(owner, { recordings_days: 2, transcripts_days: 4, phones_days: 6 })
  const [id, theirs] = [await called(owner), await called(other)]
  await owner.call('POST', '/webhooks', { url: 'https://example.com/hook', events: ['call.completed'] })
  const [money, before] = [await ledger(owner), await detail(owner, id)]
  expect(before.summary).toBe('Ivan called')
  const after = async (days: number) => {
    control.deps.clock.advance(days * DAY_MS)
    await sweep()
    return detail(owner, id)
  }
  expect(await after(1)).toEqual(before)
  expect(await after(1.1)).toEqual({ ...before, recording_url: null })
  expect([await files(owner), await files(other)]).toEqual([0, 1])
  expect(await after(2)).toEqual({ ...before, ...ERASED_WORDS, recording_url: null })
  const bare = await after(2)
  expect(bare).toEqual({
    ...before,
    ...ERASED_WORDS,
    recording_url: null,
    sip_trace_url: null,
    to: 'erased',
    contact_id: null,
  })
  expect(bare.cost).toEqual(before.cost)
  expect(await ledger(owner)).toEqual(money)
  const [row] = await control.deps.sql`select * from calls where id = ${id}`
  expect(JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? String(value) : value))).not.toMatch(/Ivan/)
  expect(await detail(other, theirs)).toMatchObject({ summary: 'Ivan called', recording_url: expect.any(String) })
})

test('deletes webhook bodies with the transcript, except pending ones', async () => {
  const owner = await createTenant(control)
  const webhook = await owner.call('POST', '/webhooks', { url: 'https://example.com/hook', events: ['call.completed'] })
  await called(owner)
  await set(owner, { transcripts_days: 1 })
  const bodies = async () =>
    (await control.deps.sql`select status from webhook_deliveries where webhook_id = ${webhook.body.id}`).length
  control.deps.clock.advance(2 * DAY_MS)
  await sweep()
  expect(await bodies()).toBe(1)
  await control.deps.sql`update webhook_deliveries set status = 'delivered' where webhook_id = ${webhook.body.id}`
  control.deps.clock.advance(DAY_MS)
  await sweep()
  expect(await bodies()).toBe(0)
})

test('revisits a call in progress, and deletes a late recording', async () => {
  const owner = await createTenant(control)
  const first = await called(owner)
  const live = (await owner.call('POST', '/calls', { project_id: owner.projectId, phone: nextPhone() })).body.id
  await set(owner, { recordings_days: 1, transcripts_days: 1 })
  control.deps.clock.advance(2 * DAY_MS)
  await sweep()
  expect(await detail(owner, first)).toMatchObject({ recording_url: null, summary: null })
  const event = { v: 1 as const, at: control.deps.clock.wall(), call_id: live, owner_id: owner.ownerId }
  await handleEvent(control.deps, { ...event, seq: 1, type: 'call.ended', record: record({ summary: 'Late' }) })
  expect((await detail(owner, live)).summary).toBe('Late')
  const ready = async (callId: string) => {
    const recording = await store(owner, callId)
    await handleEvent({ ...control.deps, blobs }, { ...event, call_id: callId, type: 'recording.ready', recording })
  }
  // An engine that was away for days stores what it had spooled.
  await ready(live)
  expect(await files(owner)).toBe(1)
  control.deps.clock.advance(DAY_MS)
  await sweep()
  expect(await detail(owner, live)).toMatchObject({ recording_url: null, summary: null })
  await ready(live)
  await ready(first)
  expect(await files(owner)).toBe(0)
  expect((await detail(owner, live)).recording_url).toBeNull()
})

/** Thousands of ended calls; every tenth has a file. */
async function filled(rows: number): Promise<Tenant> {
  const owner = await createTenant(control)
  await fillCalls(control.deps.sql, owner.ownerId, owner.projectId, { rows })
  const some = await control.deps.sql<{ id: string }[]>`
    select id from (select id, row_number() over (order by id) as n from calls where owner_id = ${owner.ownerId}) as c
    where n % 10 = 1`
  for (const { id } of some) {
    const recording = await store(owner, id)
    await control.deps.sql`update calls set recording = ${control.deps.sql.json(recording)} where id = ${id}`
  }
  return owner
}
const left = async (owner: Tenant) => {
  const [row] = await control.deps.sql<{ sounds: number; words: number; phones: number }[]>`
    select count(recording)::int as sounds, count(summary)::int as words,
      count(*) filter (where to_phone <> 'erased')::int as phones
    from calls where owner_id = ${owner.ownerId} and direction = 'out'`
  return row!
}

test('deletes in batches, each once, by two concurrent sweeps', async () => {
  const owner = await filled(2000)
  await set(owner, { recordings_days: 1, transcripts_days: 1, phones_days: 1 })
  control.deps.clock.advance(2 * DAY_MS)
  await Promise.all([sweep(), sweep()])
  expect(await left(owner)).toEqual({ sounds: 0, words: 0, phones: 0 })
  expect(await files(owner)).toBe(0)
  // Passed by is passed by: the next day reads nothing of it again.
  const statements: string[] = []
  control.deps.sql.options.debug = (_: number, query: string) => void statements.push(query)
  control.deps.clock.advance(1.5 * DAY_MS)
  await sweep()
  control.deps.sql.options.debug = false
  expect(statements.filter(query => /update calls/.test(query))).toEqual([])
})

test('resumes after a kill', async () => {
  const owner = await filled(1000)
  await set(owner, { recordings_days: 1 })
  control.deps.clock.advance(2 * DAY_MS)
  const before = await files(owner)
  const root = join(import.meta.dirname, '../..')
  const script = `
    import { connect } from '${root}/control/platform/db/connect.ts'
    import { createFolderBlobs } from '${root}/infra/adapters/blobs.ts'
    import { sweepRetention } from '${root}/control/data/retention/service.ts'
    const blobs = createFolderBlobs(${JSON.stringify(folder)})
    let deleted = 0
    const dying = { ...blobs, async delete(key) {
      await blobs.delete(key)
      if (++deleted === 30) process.kill(process.pid, 'SIGKILL')
    } }
    const clock = { wall: () => ${control.deps.clock.wall()} }
    await sweepRetention({ sql: connect({ url: ${JSON.stringify(control.databaseUrl)}, max: 2 }), clock, blobs: dying, log: console })`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: 'inherit' })
  const signal = await new Promise(resolve => child.on('exit', (_, how) => resolve(how)))
  expect(signal).toBe('SIGKILL')
  const [files1, left1] = [await files(owner), (await left(owner)).sounds]
  expect(files1).toBeLessThan(before)
  // Files are deleted before rows, so that a failure leaves rows without files, never files without rows.
  expect(left1).toBeGreaterThan(0)
  await expect
    .poll(
      async () => {
        await sweep()
        return [await files(owner), (await left(owner)).sounds]
      },
      { timeout: 30_000 },
    )
    .toEqual([0, 0])
})

test('continues with other owners when the blob store fails, and retries', async () => {
  const [owner, other] = [await filled(20), await createTenant(control)]
  const id = await called(other)
  await set(owner, { recordings_days: 1 })
  await set(other, { transcripts_days: 1 })
  control.deps.clock.advance(2 * DAY_MS)
  const away = { ...blobs, delete: () => Promise.reject(new Error('the store is away')) }
  await sweepRetention({ ...control.deps, blobs: away })
  expect((await left(owner)).sounds).toBeGreaterThan(0)
  expect((await detail(other, id)).summary).toBeNull()
  control.deps.clock.advance(2 * 3600 * 1000)
  await sweep()
  expect((await left(owner)).sounds).toBe(0)
  expect(await files(owner)).toBe(0)
})
