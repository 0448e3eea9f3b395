/**
 * `node infra/bin/backup.ts make <folder>` backs up a running Parley or its database; `restore <folder>` restores into
 * an empty database. Needs no Postgres client programs.
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
import { HomeInUse, lockHome, readConnections } from '../embedded/home.ts'
import { startPostgres } from '../embedded/postgres.ts'

const USAGE = `Usage:
  node infra/bin/backup.ts make <folder>      Back up all tables at one point in time, recordings and documents
  node infra/bin/backup.ts restore <folder>   Restore into an empty database, while control and engines are stopped

Both use DATABASE_URL, or the Parley of this directory, which must be running for \`make\` and stopped for \`restore\`.`

class UsageError extends Error {}

async function make(config: Config, folder: string): Promise<string> {
  if (existsSync(folder)) throw new UsageError(`${folder} already exists.`)
  const url = config.DATABASE_URL ?? readConnections(config.home)?.database_url
  if (url === undefined)
    throw new UsageError('Parley is not running in this directory. Start it with `npm start`, or set DATABASE_URL.')
  const sql = connect({ url, max: 1 })
  try {
    const sealer = createSealer(config.secret)
    const { made_at, tables, blobs, missing_blobs } = await makeBackup(
      { sql, sealer, blobs: createBlobs(config) },
      folder,
    )
    const missing = missing_blobs.length === 0 ? '' : ` ${missing_blobs.length} files no longer existed.`
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
      `Restored ${done.tables} tables and ${done.blobs} files as of ${done.made_at}.`,
      `${done.missing_blobs.length} files were missing from the backup.`,
      `Paused ${done.paused_campaigns} campaigns: calls they made after the backup are unknown to this database.`,
      'Before you start Parley, empty Redis. Then repeat all key revocations, password changes and erasures made since the backup.',
    ].join('\n')
  } finally {
    await boss.stop({ graceful: false })
    await sql.end({ timeout: 5 })
    await database.close()
  }
}

/** The embedded Postgres is started for the restore, so Parley cannot be running. */
async function openDatabase(config: Config): Promise<{ url: string; close(): Promise<void> }> {
  if (config.DATABASE_URL) return { url: config.DATABASE_URL, close: async () => {} }
  const home = await lockHome(config.home)
  const { url, child } = await startPostgres({
    folder: join(config.home, 'postgres'),
    logFile: join(home.logs, 'postgres.log'),
    port: 5433,
    report: text => console.error(text),
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
    const expected = [UsageError, NotRestored, ConfigError, HomeInUse].some(kind => error instanceof kind)
    // A Postgres error message may contain row data.
    const { code, name } = error as { code?: string; name?: string }
    console.error(expected ? (error as Error).message : `Backup failed: ${code ?? name}`)
    return error instanceof UsageError ? 2 : 1
  }
}

process.exitCode = await main(process.argv.slice(2))
