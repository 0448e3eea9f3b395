/** A database for each test file, copied from a template that is migrated once. */
import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { inject } from 'vitest'
import { migrate } from '../../control/platform/db/migrate.ts'
import { createBoss, installQueues } from '../../control/platform/jobs/jobs.ts'
import { quietLog } from './world.ts'

const TEMPLATE = 'parley_template'

const at = (name: string) => {
  const url = new URL(inject('databaseUrl'))
  url.pathname = `/${name}`
  return url.href
}

export interface TestDatabase {
  url: string
  drop(): Promise<void>
}

async function ensureTemplate(admin: postgres.Sql): Promise<void> {
  const found = await admin`select 1 from pg_database where datname = ${TEMPLATE} and datistemplate`
  if (found.length > 0) return
  await admin.unsafe(`drop database if exists ${TEMPLATE} with (force)`)
  await admin.unsafe(`create database ${TEMPLATE}`)
  await migrate({ url: at(TEMPLATE) })
  const boss = createBoss({ url: at(TEMPLATE), log: quietLog, supervise: false })
  await boss.start()
  await installQueues(boss)
  await boss.stop({ graceful: false })
  await admin.unsafe(`alter database ${TEMPLATE} is_template true`)
}

/** `empty`: without migrations. */
export async function createDatabase({ empty = false } = {}): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const admin = postgres(inject('databaseUrl'), { max: 1, onnotice: () => {} })
  try {
    // Copying needs exclusive use of the template, so test files take turns.
    await admin`select pg_advisory_lock(727274)`
    if (!empty) await ensureTemplate(admin)
    await admin.unsafe(`create database ${name}${empty ? '' : ` template ${TEMPLATE}`}`)
  } finally {
    await admin.end()
  }
  return {
    url: at(name),
    async drop() {
      const sql = postgres(inject('databaseUrl'), { max: 1, onnotice: () => {} })
      await sql.unsafe(`drop database if exists ${name} with (force)`)
      await sql.end()
    },
  }
}
