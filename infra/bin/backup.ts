/**
 * `node infra/bin/backup.ts make <folder>`, beside a running Parley or on its database, and `restore <folder>`, into an empty
 * one. Needs no program of Postgres.
 */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { makeBackup } from '../../control/data/backup/make.ts'
import { NotRestored, restoreBackup } from '../../control/data/backup/restore.ts'
import { connect } from '../../control/platform/db/connect.ts'
import { createBoss } from '../../control/platform/jobs/jobs.ts'
import { createSealer } from '../../media/contract/seal.ts'
import { createBlobs } from '../adapters/blobs.ts'
import { createLog } from '../adapters/log.ts'
import { type Config, ConfigError, readConfig } from '../config/config.ts'
import { HomeInUse, readConnections, takeHome } from '../embedded/home.ts'
import { startPostgres } from '../embedded/postgres.ts'

const USAGE = `node infra/bin/backup.ts make <folder>      all tables as they are at one moment, and recordings and documents
node infra/bin/backup.ts restore <folder>   into an empty database; control and engines do not run meanwhile

They work on DATABASE_URL, or on the Parley of this folder: \`make\` while it runs, \`restore\` while it does not.`

class UsageError extends Error {}

async function make(config: Config, folder: string): Promise<string> {
  if (existsSync(folder)) throw new UsageError(`${folder} is there already.`)
  const url = config.DATABASE_URL ?? readConnections(config.home)?.database_url
  if (url === undefined) throw new UsageError('Parley does not run in this folder: start it, or set DATABASE_URL.')
  const sql = connect({ url, max: 1 })
  try {
    const sealer = createSealer(config.secret)
    const { made_at, tables, blobs, missing_blobs } = await makeBackup(
      { sql, sealer, blobs: createBlobs(config) },
      folder,
    )
    const missing = missing_blobs.length === 0 ? '' : ` ${missing_blobs.length} files were not there any more.`
    return `${folder}: ${tables.length} tables as of ${made_at}, ${blobs.length} files.${missing}`
  } finally {
    await sql.end({ timeout: 5 })
  }
}

async function restore(config: Config, folder: string): Promise<string> {
  const database = await openDatabase(config)
  const log = createLog('backup', 'error')
  const sql = connect({ url: database.url, max: 2 })
  const boss = createBoss({ url: database.url, max: 1, log, supervise: false })
  try {
    const parts = { database: { url: database.url }, sql, boss, blobs: createBlobs(config) }
    const done = await restoreBackup({ ...parts, sealer: createSealer(config.secret) }, folder)
    return [
      `Restored as of ${done.made_at}: ${done.tables} tables, ${done.blobs} files.`,
      `${done.missing_blobs.length} files were not in the backup.`,
      `${done.paused_campaigns} campaigns are paused: whom they have called since, this database does not know.`,
      'Empty Redis before the start. Keys revoked, passwords changed and persons erased since then are to be so again.',
    ].join('\n')
  } finally {
    await boss.stop({ graceful: false })
    await sql.end({ timeout: 5 })
    await database.close()
  }
}

/** The embedded one is started for it, and so cannot be running. */
async function openDatabase(config: Config): Promise<{ url: string; close(): Promise<void> }> {
  if (config.DATABASE_URL) return { url: config.DATABASE_URL, close: async () => {} }
  const home = await takeHome(config.home)
  const { url, child } = await startPostgres({
    folder: join(config.home, 'postgres'),
    logFile: join(home.logs, 'postgres.log'),
    port: 5433,
    tell: text => console.error(text),
    note: pid => home.note(pid),
  })
  return {
    url,
    async close() {
      await child.stop()
      home.release()
    },
  }
}

async function main([command, folder, ...rest]: string[]): Promise<number> {
  try {
    if ((command !== 'make' && command !== 'restore') || folder === undefined || rest.length > 0) {
      throw new UsageError(USAGE)
    }
    const work = command === 'make' ? make : restore
    console.log(await work(readConfig(), resolve(folder)))
    return 0
  } catch (error) {
    const told = [UsageError, NotRestored, ConfigError, HomeInUse].some(kind => error instanceof kind)
    // A message of Postgres may hold what was in the row.
    const { code, name } = error as { code?: string; name?: string }
    console.error(told ? (error as Error).message : `It failed: ${code ?? name}`)
    return error instanceof UsageError ? 2 : 1
  }
}

process.exitCode = await main(process.argv.slice(2))
