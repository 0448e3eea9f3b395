/** Migrations during operation: no query waits for long, whatever the tables are used for. */
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { connect } from '../../control/platform/db/connect.ts'
import { migrate, readMigrations } from '../../control/platform/db/migrate.ts'
import { fillCalls } from '../support/calls.ts'
import { createControl, createTenant, nextPhone, type Tenant, type TestControl } from '../support/control.ts'
import { hazardsOf } from '../support/migration-safety.ts'

let control: TestControl
let owner: Tenant
let folder: string
let next: number
beforeAll(async () => {
  control = await createControl({ config: { trial_balance: '100000', max_calls_per_owner: 10_000 } })
  owner = await createTenant(control)
})
afterAll(() => control?.close())
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-migrations-'))
  await cp(join(import.meta.dirname, '../../control/platform/db/migrations'), folder, { recursive: true })
  next = (await control.deps.sql`select max(version) as last from schema_migrations`)[0]!['last'] + 1
  return () => rm(folder, { recursive: true, force: true })
})

/** Migrations of earlier tests. Their files are written again, because every migration that ran must exist. */
const ran: { name: string; text: string }[] = []
async function add(text: string): Promise<string> {
  const name = `${String(next).padStart(4, '0')}_test.sql`
  for (const one of ran) await writeFile(join(folder, one.name), one.text)
  await writeFile(join(folder, name), text)
  ran.push({ name, text })
  return name
}

/** Holds a lock on a table in an open transaction. */
async function hold(statement: string) {
  const sql = connect({ url: control.databaseUrl, max: 1 })
  const { promise, resolve } = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const done = sql.begin(async tx => {
    await tx.unsafe(statement)
    held.resolve()
    await promise
  })
  await held.promise
  return {
    async letGo() {
      resolve()
      await done
      await sql.end()
    },
  }
}

/** Places calls one after another until stopped, and reports the duration of the slowest. */
function placing() {
  let running = true
  let [placed, slowest] = [0, 0]
  const done = (async () => {
    while (running) {
      const at = performance.now()
      const { status } = await owner.call('POST', '/calls', { project_id: owner.projectId, phone: nextPhone() })
      if (status !== 201) throw new Error(`the call was answered ${status}`)
      slowest = Math.max(slowest, performance.now() - at)
      placed++
    }
  })()
  return {
    get placed() {
      return placed
    },
    async stop() {
      running = false
      await done
      return { placed, slowest }
    },
  }
}

const LOCK_MS = 200

test('changes a table in use without blocking calls', async () => {
  const name = await add('alter table calls add column of_a_test int;')
  const reader = await hold('select count(*) from calls')
  const calls = placing()
  let tries = 0
  const migrating = migrate({ url: control.databaseUrl }, folder, { lockMs: LOCK_MS, pauseMs: 100, tries: 1000 })
  // Tried some times in vain; calls go on meanwhile.
  await expect
    .poll(
      async () => {
        const [row] = await control.deps.sql`
          select count(*)::int as waiting from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query like 'alter table calls%'`
        if (row!['waiting'] > 0) tries++
        return tries
      },
      { interval: 40, timeout: 60_000 },
    )
    .toBeGreaterThan(5)
  const before = calls.placed
  await expect.poll(() => calls.placed, { timeout: 60_000 }).toBeGreaterThan(before + 5)
  await reader.letGo()
  expect(await migrating).toEqual([name])
  const { slowest } = await calls.stop()
  // Behind the change, once a try: the machine may be slow, but no statement waits for the reader.
  expect(slowest).toBeLessThan(LOCK_MS * 15)
  expect(await control.deps.sql`select of_a_test from calls limit 1`).toEqual([{ of_a_test: null }])
})

test('reports a lock timeout and leaves nothing', async () => {
  await add('alter table contacts add column of_a_test int; create table left_over (id int);')
  const reader = await hold('select count(*) from contacts')
  const waiting = { lockMs: 20, pauseMs: 1, tries: 3 }
  await expect(migrate({ url: control.databaseUrl }, folder, waiting)).rejects.toThrow(
    'could not lock its tables in 3 attempts',
  )
  await reader.letGo()
  expect(await control.deps.sql`select to_regclass('left_over') as found`).toEqual([{ found: null }])
  ran.pop()
})

test('builds an index concurrently, and rebuilds an interrupted one', async () => {
  await fillCalls(control.deps.sql, owner.ownerId, owner.projectId, { rows: 20_000 })
  const text = `-- concurrently
drop index concurrently if exists calls_of_a_test;
create index concurrently calls_of_a_test on calls (to_phone, md5(summary));
`
  const name = await add(text)
  // An interrupted build leaves an invalid index.
  const breaking = connect({ url: control.databaseUrl, max: 1 })
  await breaking`set statement_timeout = 5`
  await expect(
    breaking.unsafe('create index concurrently calls_of_a_test on calls (to_phone, md5(summary))'),
  ).rejects.toThrow()
  await breaking.end()
  const valid = async () => {
    const [row] = await control.deps.sql`
      select indisvalid from pg_index where indexrelid = to_regclass('calls_of_a_test')`
    return row?.['indisvalid']
  }
  expect(await valid()).not.toBe(true)
  const calls = placing()
  const both = await Promise.all([1, 2].map(() => migrate({ url: control.databaseUrl }, folder)))
  const { placed } = await calls.stop()
  expect(both.flat()).toEqual([name])
  expect(await valid()).toBe(true)
  expect(placed).toBeGreaterThan(0)
}, 120_000)

/** First migration that the rules apply to. Earlier ones ran on small tables. */
const FIRST_JUDGED = 33

test('no migration blocks calls', async () => {
  const judged = (await readMigrations()).filter(({ version }) => version >= FIRST_JUDGED)
  expect(judged.length).toBeGreaterThan(2)
  for (const migration of judged) expect([migration.name, hazardsOf(migration)]).toEqual([migration.name, []])
})

test.each([
  ['create index a on calls (id);', /without concurrently/],
  ['create unique index a on calls (id);', /without concurrently/],
  ['create index concurrently a on calls (id);', /by itself/],
  ['-- concurrently\ncreate index concurrently a on calls (id);\nalter table calls add column b int;', /by itself/],
  ['alter table calls add column a int not null;', /no default/],
  ['alter table calls add column a uuid not null default gen_random_uuid();', /each row/],
  ['alter table calls\n  add column a int,\n  alter column cost type numeric;', /rewrite/],
  ['alter table calls alter column task set not null;', /whole table/],
  ['alter table calls add constraint a check (cost > 0);', /whole table/],
  ['alter table calls add constraint a unique (task);', /without concurrently/],
  ['alter table calls drop column task;', /version before/],
  ['alter table calls rename to talks;', /version before/],
  ["update calls set task = '' where task is null;", /batches/],
  ['delete from calls;', /batches/],
  ['truncate calls;', /a lock/],
])('detects the hazard in %j', (text, words) => {
  expect(hazardsOf({ text }).join('\n')).toMatch(words)
})

test.each([
  'create table a (id int not null);\ncreate index b on a (id);\nupdate a set id = 1;',
  'alter table calls add column a int;',
  'alter table calls add column a int not null default 0;',
  'alter table calls add constraint a check (cost > 0) not valid;',
  '-- safe: one row\nupdate trunks_version set version = 1;',
  'create function a() returns trigger language plpgsql as $$ begin delete from calls; return null; end $$;',
])('allows %j', text => {
  expect(hazardsOf({ text })).toEqual([])
})
