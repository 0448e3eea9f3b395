/** A backup made while calls are placed and end is restored into an empty database: it is a consistent snapshot. */
import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAccount } from '../../control/access/accounts/service.ts'
import { closeAccount } from '../../control/access/accounts/sql.ts'
import { buildApp } from '../../control/app.ts'
import { createReaper, handleEvent, sweepOverdue } from '../../control/background/engine.ts'
import { makeBackup } from '../../control/data/backup/make.ts'
import { restoreBackup } from '../../control/data/backup/restore.ts'
import { selectContradictions } from '../../control/data/backup/sql.ts'
import type { Deps } from '../../control/deps.ts'
import { connect, type Sql } from '../../control/platform/db/connect.ts'
import { migrate } from '../../control/platform/db/migrate.ts'
import { createBoss } from '../../control/platform/jobs/jobs.ts'
import { createFolderBlobs } from '../../infra/adapters/blobs.ts'
import { createControlBus } from '../../media/bus/control-bus.ts'
import { recordingKey } from '../../media/contract/recordings.ts'
import { createSealer } from '../../media/contract/seal.ts'
import { createControl, createTenant, nextPhone, request, type Tenant, type TestControl } from '../support/control.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { fillPersonal, store } from '../support/personal.ts'
import { record } from '../support/records.ts'
import { quietLog } from '../support/world.ts'

let control: TestControl
let owner: Tenant
let folder: string
let backup: string
beforeAll(async () => {
  control = await createControl({ config: { trial_balance: '100000', max_calls_per_owner: 1000 } })
  owner = await createTenant(control)
  await fillPersonal(control, owner)
  folder = await mkdtemp(join(tmpdir(), 'parley-backup-'))
  backup = join(folder, 'backup')
})
afterAll(async () => {
  await control?.close()
  await rm(folder, { recursive: true, force: true })
})

/** A target that is thrown away. */
async function emptyDatabase() {
  const database: TestDatabase = await createDatabase({ empty: true })
  const sql = connect({ url: database.url, max: 4 })
  const boss = createBoss({ url: database.url, max: 2, log: quietLog, supervise: false })
  const blobs = createFolderBlobs(join(folder, `blobs-${randomUUID()}`))
  return {
    sql,
    boss,
    blobs,
    database: { url: database.url },
    sealer: control.deps.sealer,
    async close() {
      await boss.stop({ graceful: false })
      await sql.end()
      await database.drop()
    },
  }
}

async function oneCall(ends: boolean): Promise<string> {
  const { body } = await owner.call('POST', '/calls', { project_id: owner.projectId, phone: nextPhone() })
  const event = { v: 1 as const, at: control.deps.clock.wall(), call_id: body.id, owner_id: owner.ownerId }
  await handleEvent(control.deps, { ...event, seq: 1, type: 'call.started', engine: 'e', boot: 'b' })
  if (!ends) return body.id
  const key = recordingKey(owner.ownerId, body.id)
  await store(control.deps.blobs, key, `RIFF ${body.id}`)
  const ended = record({ talked_ms: 7000, summary: 'Done', recording: { key, duration_ms: 7000, bytes: 41 } })
  await handleEvent(control.deps, { ...event, seq: 2, type: 'call.ended', record: ended })
  return body.id
}

/** Calls one after another, some side by side, until told to stop. */
function calling() {
  let running = true
  const made: string[] = []
  const lane = async (n: number) => {
    for (let i = n; running; i++) made.push(await oneCall(i % 3 > 0))
  }
  const done = Promise.all([0, 1, 2].map(lane))
  return {
    made,
    async stop() {
      running = false
      await done
    },
  }
}

const rowsOf = async (sql: Sql) =>
  new Map(
    (
      await sql<{ id: string; ended: boolean; row: string }[]>`
      select id, ended_at is not null as ended, calls::text as row from calls`
    ).map(one => [one.id, one]),
  )

/** Control over what was restored, with a Redis of its own, which is empty. */
async function controlOver(target: Awaited<ReturnType<typeof emptyDatabase>>) {
  const prefix = `test-${randomUUID()}`
  const { redis, sealer, log } = control.deps
  const bus = createControlBus({ redis, sealer, consumer: 'control-1', log, prefix })
  const config = { ...control.deps.config, redis_prefix: prefix }
  const { sql, boss, blobs } = target
  const deps: Deps = { ...control.deps, sql, boss, blobs, bus, config }
  return { deps, app: await buildApp(deps) }
}

test('is consistent when made during calls: ledger, calls and files agree', async () => {
  const webhook = { url: 'https://hooks.example.com/', events: ['call.completed'] }
  await owner.call('POST', '/webhooks', webhook)
  const before = [await oneCall(true), await oneCall(false)]
  await createAccount(control.deps, { name: 'Has no password yet', email: 'new@example.com' })
  const leaving = await createAccount(control.deps, { name: 'Leaving' })
  await control.deps.sql.begin(tx => closeAccount(tx, leaving.id, new Date()))
  const calls = calling()
  await expect.poll(() => calls.made.length, { timeout: 60_000 }).toBeGreaterThan(10)
  const count = calls.made.length
  const manifest = await makeBackup(control.deps, backup)
  await expect.poll(() => calls.made.length, { timeout: 60_000 }).toBeGreaterThan(count + 10)
  await calls.stop()
  await control.deps.sql`
    update campaigns set status = 'running', consent = '{}', started_at = now() where owner_id = ${owner.ownerId}`

  const target = await emptyDatabase()
  const restored = await restoreBackup(target, backup)
  expect(restored).toMatchObject({ made_at: manifest.made_at, missing_blobs: [] })
  expect(await selectContradictions(target.sql)).toEqual([])
  const [theirs, ours] = [await rowsOf(control.deps.sql), await rowsOf(target.sql)]
  for (const id of [...before, ...calls.made.slice(0, count)]) expect(ours.has(id)).toBe(true)
  expect(ours.size).toBeLessThan(theirs.size)
  for (const [id, { ended, row }] of ours) if (ended) expect(row).toEqual(theirs.get(id)!.row)

  const named = await target.sql<{ id: string; key: string }[]>`
    select id, recording ->> 'key' as key from calls where recording is not null`
  expect(named.length).toBeGreaterThan(5)
  for (const { id, key } of named) {
    const content = await target.blobs.read(key)
    expect(Buffer.concat(await content!.toArray()).toString()).toContain(before.includes(id) ? id : '')
  }
  expect(manifest.blobs.length).toBe(named.length + 1) // and the text of the agent
  await target.close()
}, 180_000)

test('keeps keys valid, ends calls of that moment, dials nobody, and notifies webhook receivers', async () => {
  const target = await emptyDatabase()
  await restoreBackup(target, backup)
  const { deps, app } = await controlOver(target)
  const ask = (path: string) =>
    request(app, { method: 'GET', url: `/v1/public${path}`, headers: { 'x-api-key': owner.key } })
  const jobs = await target.sql<{ name: string; n: number }[]>`
    select name, count(*)::int as n from parley_jobs.job group by 1 order by 1`
  const [{ n: unsent }] = (await target.sql`
    select count(*)::int as n from webhook_deliveries where status = 'pending'`) as [{ n: number }]
  expect(unsent).toBeGreaterThan(0)
  expect(jobs).toEqual([
    { name: 'account.erase', n: 1 },
    { name: 'trunks.publish', n: 1 },
    { name: 'webhook.deliver', n: unsent },
  ])
  const { items } = (await ask('/calls?limit=200')).body
  const finished = items.find((call: { status: string }) => call.status === 'completed')
  expect((await ask(`/calls/${finished.id}`)).body).toMatchObject({ summary: 'Done' })
  expect((await ask('/balance')).body.held.amount).not.toBe('0.0000')
  const reaper = createReaper(deps)
  for (let n = 0; n < 30; n++) {
    control.deps.clock.advance(30_000)
    await sweepOverdue(deps)
    await reaper.sweep()
  }
  expect((await ask('/balance')).body.held.amount).toBe('0.0000')
  expect(await selectContradictions(target.sql)).toEqual([])
  // Rows that are made now get numbers that no row has.
  const made = await request(app, {
    method: 'POST',
    url: '/v1/public/projects',
    headers: { 'x-api-key': owner.key },
    payload: { name: 'After', language: 'en' },
  })
  expect(made.status).toBe(201)
  await target.sql`insert into knowledge_indexes (project_id, owner_id) values (${made.body.id}, ${owner.ownerId})`
  const [triggers] = await target.sql`
    select count(*)::int as asleep from pg_trigger join pg_class on pg_class.oid = tgrelid
    where relnamespace = 'parley'::regnamespace and not tgisinternal and tgenabled = 'D'`
  expect(triggers).toEqual({ asleep: 0 })
  await app.close()
  await target.close()
}, 180_000)

test('pauses a campaign that was running, until its owner resumes it', async () => {
  const again = join(folder, 'with-campaign')
  const { sql } = control.deps
  await sql`
    update campaigns set status = 'running', pause_reason = null, consent = '{}' where owner_id = ${owner.ownerId}`
  await makeBackup(control.deps, again)
  await sql`update campaigns set status = 'completed' where owner_id = ${owner.ownerId}`
  const target = await emptyDatabase()
  expect((await restoreBackup(target, again)).paused_campaigns).toBe(1)
  expect(await target.sql`select status, pause_reason from campaigns`).toEqual([
    { status: 'paused', pause_reason: 'owner' },
  ])
  await target.close()
})

test('rejects an invalid backup before it writes anything', async () => {
  const target = await emptyDatabase()
  const restore = (change: object = {}, from = backup) => restoreBackup({ ...target, ...change }, from)
  await expect(restore({ sealer: createSealer('another secret') })).rejects.toThrow('PARLEY_SECRET')
  await expect(restore({}, folder)).rejects.toThrow('no manifest')
  await expect(restore({ sql: control.deps.sql })).rejects.toThrow('The database has accounts')
  const file = join(backup, 'tables', 'ledger_entries.gz')
  const whole = await readFile(file)
  await writeFile(file, whole.subarray(0, -1))
  await expect(restore()).rejects.toThrow('is corrupt')
  await rm(file)
  await expect(restore()).rejects.toThrow('Cannot read')
  await writeFile(file, whole)
  const manifest = join(backup, 'manifest.json')
  const text = await readFile(manifest, 'utf8')
  const { migrations, ...rest } = JSON.parse(text)
  const newer = [...migrations, { version: migrations.length + 1, name: '9999_newer.sql', hash: 'x' }]
  await writeFile(manifest, JSON.stringify({ ...rest, migrations: newer }))
  await expect(restore()).rejects.toThrow('does not have the migration 9999_newer.sql')
  await writeFile(manifest, text)
  expect(await target.sql`select to_regclass('accounts') as found`).toEqual([{ found: null }])
  await expect(makeBackup(control.deps, backup)).rejects.toThrow('EEXIST')
  // Broken off in the middle, it can be begun again.
  const dying = { ...target.blobs, store: () => Promise.reject(new Error('the store is away')) }
  await expect(restore({ blobs: dying })).rejects.toThrow('the store is away')
  await restore()
  await target.close()
}, 120_000)

test('restores a backup of an older version and migrates it', async () => {
  const older = await emptyDatabase()
  await migrate(older.database, undefined, { upTo: 33 })
  await older.sql`insert into accounts (id, name, created_at) values (${randomUUID()}, 'Old', now())`
  await makeBackup({ ...control.deps, sql: older.sql }, join(folder, 'older'))
  await older.close()
  const target = await emptyDatabase()
  await restoreBackup(target, join(folder, 'older'))
  expect(await target.sql`select to_regclass('audit_log') as found`).toEqual([{ found: null }])
  expect((await migrate(target.database)).length).toBeGreaterThan(1)
  expect(await target.sql`select name from accounts`).toEqual([{ name: 'Old' }])
  await target.close()
})

test('reports a file that was deleted during the backup, and omits erased rows', async () => {
  const { sql, blobs } = control.deps
  const [row] = await sql<{ id: string; key: string }[]>`
    select id, recording ->> 'key' as key from calls where recording is not null limit 1`
  await blobs.delete(row!.key)
  const manifest = await makeBackup(control.deps, join(folder, 'missing'))
  expect(manifest.missing_blobs).toEqual([row!.key])
})
