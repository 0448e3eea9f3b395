/** Forward-only migrations: numbered SQL files, each applied once, in order, in its own transaction. */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect, type DatabaseOptions } from './connect.ts'

const FOLDER = join(import.meta.dirname, 'migrations')

export interface Migration {
  version: number
  name: string
  text: string
  hash: string
}

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
export async function migrate(options: DatabaseOptions, folder?: string): Promise<string[]> {
  const schema = options.schema ?? 'parley'
  const migrations = await readMigrations(folder)
  const sql = connect({ ...options, schema, max: 1 })
  const applied: string[] = []
  try {
    await sql`select pg_advisory_lock(hashtextextended(${`parley.migrate.${schema}`}, 0))`
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
    for (const migration of migrations.slice(done.length)) {
      await sql.begin(async tx => {
        await tx.unsafe(migration.text)
        await tx`insert into schema_migrations ${tx(migration, 'version', 'name', 'hash')}`
      })
      applied.push(migration.name)
    }
    return applied
  } finally {
    await sql.end() // ends the session, and the lock with it
  }
}
