/**
 * Forward-only migrations: numbered SQL files, each applied once, in order, in its own transaction, while calls
 * continue.
 *
 * A change of a table waits for its current users, and everyone after it waits behind it. The migration therefore waits
 * only for a moment, lets the others pass, and tries again. A statement that takes long without blocking anyone
 * (`create index concurrently`) cannot run in a transaction: such a file starts with `-- concurrently` and must be
 * repeatable from its first line.
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
  /** Milliseconds for which a statement may block others; 1000 by default. */
  lockMs: number
  /** Milliseconds between two attempts; 1000 by default. */
  pauseMs: number
  /** Attempts before a migration fails; 150 by default. */
  tries: number
}

const WAITING: Waiting = { lockMs: 1000, pauseMs: 1000, tries: 150 }
const LOCK_NOT_AVAILABLE = '55P03'
/** Milliseconds between attempts to take the lock; another process may build an index for hours. */
const ASK_AGAIN_MS = 250

export async function readMigrations(folder = FOLDER): Promise<Migration[]> {
  const names = (await readdir(folder)).filter(name => name.endsWith('.sql')).sort()
  return Promise.all(
    names.map(async (name, index) => {
      const version = Number(/^(\d{4})_/.exec(name)?.[1])
      if (version !== index + 1) throw new Error(`migration ${name} is out of sequence: expected number ${index + 1}`)
      const text = await readFile(join(folder, name), 'utf8')
      return { version, name, text, hash: createHash('sha256').update(text).digest('hex') }
    }),
  )
}

/**
 * Brings the schema up to date and returns the names of the migrations applied now. Processes that start together wait
 * for each other.
 */
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
      // A database newer than the code is allowed: expand-then-contract keeps the old code working.
      if (migration && migration.hash !== row.hash) throw new Error(`migration ${row.name} was changed after it ran`)
    }
    for (const migration of migrations.slice(done.length, upTo)) {
      await patiently({ ...WAITING, ...waiting }, migration, lockMs => apply(sql, migration, lockMs))
      applied.push(migration.name)
    }
    return applied
  } finally {
    await sql.end() // ends the session, and releases its lock
  }
}

/** Polls: `create index concurrently` waits for every session inside a statement, so waiting in one would block it. */
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
      if (tried === tries)
        throw new Error(`migration ${name} could not lock its tables in ${tries} attempts`, { cause: error })
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
    // It blocks nobody while it waits.
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
