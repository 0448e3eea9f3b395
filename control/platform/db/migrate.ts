/**
 * Forward-only migrations: numbered SQL files, each applied once, in order, in its own transaction, while calls go on.
 *
 * A change of a table waits for those who use it, and whoever comes after waits behind it. So it waits for a moment only,
 * lets everybody pass, and tries again. What takes long without blocking anybody (`create index concurrently`) cannot be
 * in a transaction: such a file begins with `-- concurrently` and can be run again from its first line.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect, type DatabaseOptions, type Sql } from './connect.ts'

const FOLDER = join(import.meta.dirname, 'migrations')

export interface Migration {
  version: number
  name: string
  text: string
  hash: string
}

export interface Waiting {
  /** How long a statement may stand in the way of others. */
  lockMs: number
  /** Between two tries. */
  pauseMs: number
  /** Tries of one migration before it is given up. */
  tries: number
}

const WAITING: Waiting = { lockMs: 1000, pauseMs: 1000, tries: 150 }
const LOCK_NOT_AVAILABLE = '55P03'
/** Who is before us may build an index for hours. */
const ASK_AGAIN_MS = 250

export async function readMigrations(folder = FOLDER): Promise<Migration[]> {
  const names = (await readdir(folder)).filter(name => name.endsWith('.sql')).sort()
  return Promise.all(
    names.map(async (name, index) => {
      const version = Number(/^(\d{4})_/.exec(name)?.[1])
      if (version !== index + 1) throw new Error(`migration ${name} is out of line: expected number ${index + 1}`)
      const text = await readFile(join(folder, name), 'utf8')
      return { version, name, text, hash: createHash('sha256').update(text).digest('hex') }
    }),
  )
}

/** Brings the schema up to date and returns the names applied now. Processes that start together wait for each other. */
export async function migrate(
  options: DatabaseOptions,
  folder?: string,
  { upTo, ...waiting }: Partial<Waiting> & { upTo?: number } = {},
): Promise<string[]> {
  const schema = options.schema ?? 'parley'
  const migrations = await readMigrations(folder)
  const sql = connect({ ...options, schema, max: 1 })
  const applied: string[] = []
  try {
    await takeTurn(sql, schema)
    await sql`create schema if not exists ${sql(schema)}`
    await sql`create table if not exists schema_migrations (
      version int primary key, name text not null, hash text not null, applied_at timestamptz not null default now())`
    const done = await sql<{ version: number; name: string; hash: string }[]>`
      select version, name, hash from schema_migrations order by version`
    for (const row of done) {
      const migration = migrations[row.version - 1]
      // A database newer than the code is fine: expand then contract keeps the old code working.
      if (migration && migration.hash !== row.hash) throw new Error(`migration ${row.name} was changed after it ran`)
    }
    for (const migration of migrations.slice(done.length, upTo)) {
      await patiently({ ...WAITING, ...waiting }, migration, lockMs => apply(sql, migration, lockMs))
      applied.push(migration.name)
    }
    return applied
  } finally {
    await sql.end() // ends the session, and the lock with it
  }
}

/** Asked for again and again: who waits inside a statement is waited for by `create index concurrently`, and would block it. */
async function takeTurn(sql: Sql, schema: string): Promise<void> {
  for (;;) {
    const [row] = await sql<{ taken: boolean }[]>`
      select pg_try_advisory_lock(hashtextextended(${`parley.migrate.${schema}`}, 0)) as taken`
    if (row?.taken) return
    await pause(ASK_AGAIN_MS)
  }
}

const pause = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))

async function patiently(
  { lockMs, pauseMs, tries }: Waiting,
  { name }: Migration,
  work: (lockMs: number) => Promise<void>,
): Promise<void> {
  for (let tried = 1; ; tried++) {
    try {
      return await work(lockMs)
    } catch (error) {
      if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error
      if (tried === tries) throw new Error(`migration ${name} found no moment in ${tries} tries`, { cause: error })
      await pause(pauseMs)
    }
  }
}

export const isConcurrent = ({ text }: Pick<Migration, 'text'>) => text.startsWith('-- concurrently\n')

/** A line that ends a statement ends with a semicolon. */
export const statementsOf = ({ text }: Pick<Migration, 'text'>) =>
  text
    .split(/;[ \t]*(?:\n|$)/)
    .map(one => one.replace(/^\s*--.*$/gm, '').trim())
    .filter(one => one !== '')

async function apply(sql: Sql, migration: Migration, lockMs: number): Promise<void> {
  if (isConcurrent(migration)) {
    // Its own waiting blocks nobody.
    for (const statement of statementsOf(migration)) await sql.unsafe(statement)
    await sql`insert into schema_migrations ${sql(migration, 'version', 'name', 'hash')}`
    return
  }
  await sql.begin(async tx => {
    await tx`select set_config('lock_timeout', ${`${lockMs}ms`}, true)`
    await tx.unsafe(migration.text)
    await tx`insert into schema_migrations ${tx(migration, 'version', 'name', 'hash')}`
  })
}
