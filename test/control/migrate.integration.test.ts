import { spawn } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../control/platform/db/connect.ts'
import { migrate, readMigrations } from '../../control/platform/db/migrate.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase({ empty: true })
})
afterAll(() => database?.drop())

const folder = join(import.meta.dirname, '../../control/platform/db')

/** In a process of its own, as two control processes that start together. */
function migrateElsewhere(schema: string): Promise<string> {
  const script = `import { migrate } from ${JSON.stringify(join(folder, 'migrate.ts'))}
    console.log((await migrate(${JSON.stringify({ url: database.url, schema })})).length)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script])
  return new Promise((resolve, reject) => {
    let out = ''
    child.stdout.on('data', chunk => {
      out += chunk
    })
    child.stderr.on('data', chunk => {
      out += chunk
    })
    child.on('error', reject)
    child.on('exit', () => resolve(out.trim()))
  })
}

test('migrates once for two concurrent processes', async () => {
  const all = (await readMigrations()).length
  const results = await Promise.all([migrateElsewhere('together'), migrateElsewhere('together')])
  expect(results.sort()).toEqual(['0', String(all)])
  expect(await migrate({ url: database.url, schema: 'together' })).toEqual([])
})

test('isolates schemas of one database', async () => {
  await migrate({ url: database.url, schema: 'one' })
  await migrate({ url: database.url, schema: 'two' })
  const one = connect({ url: database.url, schema: 'one' })
  const two = connect({ url: database.url, schema: 'two' })
  await one`insert into accounts (id, name, created_at) values (gen_random_uuid(), 'a', now())`
  expect(await one`select name from accounts`).toHaveLength(1)
  expect(await two`select name from accounts`).toHaveLength(0)
  await Promise.all([one.end(), two.end()])
})

test('reports changed, missing and failing migrations, and rolls back a failed one', async () => {
  const copy = await mkdtemp(join(tmpdir(), 'parley-migrations-'))
  await cp(join(folder, 'migrations'), copy, { recursive: true })
  const next = (await readMigrations()).length + 1
  const name = `${String(next).padStart(4, '0')}_bad.sql`
  await writeFile(join(copy, name), 'create table left_over (id int); select 1 / 0;')
  await expect(migrate({ url: database.url, schema: 'bad' }, copy)).rejects.toThrow('division by zero')
  const sql = connect({ url: database.url, schema: 'bad' })
  expect(await sql`select version from schema_migrations`).toHaveLength(next - 1)
  expect(await sql`select to_regclass('bad.left_over') as found`).toEqual([{ found: null }])
  await sql.end()

  await writeFile(join(copy, name), 'create table fine (id int);')
  expect(await migrate({ url: database.url, schema: 'bad' }, copy)).toEqual([name])
  await writeFile(join(copy, name), 'create table other (id int);')
  await expect(migrate({ url: database.url, schema: 'bad' }, copy)).rejects.toThrow('was changed after it ran')
  await rm(join(copy, '0002_money.sql'))
  await expect(readMigrations(copy)).rejects.toThrow('out of sequence')
  await rm(copy, { recursive: true })
})
