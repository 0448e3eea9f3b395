/**
 * Restores a backup into an empty database and a blob store. Redis starts empty, because its commands and events are
 * out of date. Queue jobs are not restored, so that a backup never places calls. Webhooks, indexing, lead searches and
 * the erasure of closed accounts are queued again. Campaigns wait for their owners. Calls that were in progress are
 * ended, and settled, by the sweeps.
 */
import { createReadStream } from 'node:fs'
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import type { Sealer } from '../../../media/contract/seal.ts'
import type { Blobs } from '../../../media/shared/blobs.ts'
import type { DatabaseOptions, Sql, Tx } from '../../platform/db/connect.ts'
import { migrate, readMigrations } from '../../platform/db/migrate.ts'
import type { Deps } from '../../platform/deps.ts'
import { enqueue, installQueues } from '../../platform/jobs/jobs.ts'
import { blobFile, hashing, Manifest, manifestFile, PROBE, tableFile } from './format.ts'
import {
  copyInto,
  countAccounts,
  pauseCampaigns,
  selectContradictions,
  selectReferences,
  selectSearching,
  selectTables,
  selectUnerased,
  selectUnindexed,
  selectUnsent,
  type Table,
  updateSequence,
  wakeTriggers,
} from './sql.ts'

/** An expected error. The operator sees its message as it is. */
export class NotRestored extends Error {}

export interface RestoreParts {
  database: DatabaseOptions
  sql: Sql
  boss: Deps['boss']
  blobs: Blobs
  sealer: Sealer
}

export interface Restored {
  made_at: string
  tables: number
  blobs: number
  missing_blobs: string[]
  paused_campaigns: number
}

/** Loads all tables in one transaction. An interrupted restore can be started again. */
export async function restoreBackup(parts: RestoreParts, folder: string): Promise<Restored> {
  const manifest = await readManifest(folder)
  assertSameSecret(parts.sealer, manifest)
  await assertKnown(manifest)
  if (((await countAccounts(parts.sql)) ?? 0) > 0) {
    throw new NotRestored('The database has accounts. Restore into an empty database.')
  }
  await assertWhole(folder, manifest)
  await migrate(parts.database, undefined, { upTo: manifest.migrations.length })
  await parts.boss.start()
  await installQueues(parts.boss)
  await putBlobs(parts.blobs, folder, manifest)
  const paused_campaigns = await parts.sql.begin(tx => load(parts, tx, folder, manifest))
  const { made_at, tables, blobs, missing_blobs } = manifest
  return { made_at, tables: tables.length, blobs: blobs.length, missing_blobs, paused_campaigns }
}

async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(manifestFile(folder), 'utf8').catch(() => {
    throw new NotRestored(`${folder} is not a backup: it has no manifest.`)
  })
  try {
    return Manifest.parse(JSON.parse(text))
  } catch {
    throw new NotRestored('This version of Parley cannot read the manifest of the backup.')
  }
}

function assertSameSecret(sealer: Sealer, { probe }: Manifest): void {
  try {
    if (sealer.open(probe, PROBE.of) === PROBE.value) return
  } catch {
    // handled like a wrong value
  }
  throw new NotRestored(
    'PARLEY_SECRET differs from the one used for the backup, so sealed values could not be read. Set the original secret.',
  )
}

/** Parley migrates an older database when it starts; a newer database needs a newer Parley. */
async function assertKnown({ migrations }: Manifest): Promise<void> {
  const ours = await readMigrations()
  for (const { version, name, hash } of migrations) {
    if (ours[version - 1]?.hash !== hash)
      throw new NotRestored(`This version of Parley does not have the migration ${name}. Install a newer version.`)
  }
}

/** Runs before anything is written. */
async function assertWhole(folder: string, { tables, blobs }: Manifest): Promise<void> {
  const files = [
    ...tables.map(({ name, sha256 }) => ({ file: tableFile(folder, name), sha256 })),
    ...blobs.map(({ key, sha256 }) => ({ file: blobFile(folder, key), sha256 })),
  ]
  for (const { file, sha256 } of files) {
    const hash = hashing().resume()
    await pipeline(createReadStream(file), hash).catch(() => {
      throw new NotRestored(`Cannot read ${file}.`)
    })
    if (hash.digest() !== sha256) throw new NotRestored(`${file} is corrupt: its checksum does not match the manifest.`)
  }
}

async function putBlobs(store: Blobs, folder: string, { blobs }: Manifest): Promise<void> {
  const temp = await mkdtemp(join(tmpdir(), 'parley-restore-'))
  try {
    for (const { key } of blobs) {
      const file = join(temp, 'blob')
      await copyFile(blobFile(folder, key), file)
      const contentType = key.endsWith('.wav') ? 'audio/wav' : 'application/octet-stream'
      await store.store(key, file, { contentType, signal: AbortSignal.timeout(600_000) })
    }
  } finally {
    await rm(temp, { recursive: true, force: true })
  }
}

async function load({ boss }: Pick<RestoreParts, 'boss'>, tx: Tx, folder: string, manifest: Manifest): Promise<number> {
  const tables = await inOrder(tx, manifest.tables)
  for (const table of tables) {
    await pipeline(createReadStream(tableFile(folder, table.name)), createGunzip(), await copyInto(tx, table))
  }
  for (const sequence of manifest.sequences) await updateSequence(tx, sequence)
  const contradictions = await selectContradictions(tx)
  if (contradictions.length > 0) throw new NotRestored(`The backup is inconsistent: ${contradictions.join('; ')}.`)
  const paused = await pauseCampaigns(tx, new Date())
  for (const table of tables) await wakeTriggers(tx, table)
  await queueAnew({ boss }, tx)
  return paused
}

/** Sorts referenced tables before the tables that refer to them. */
async function inOrder(tx: Tx, tables: readonly Table[]): Promise<Table[]> {
  const known = new Set((await selectTables(tx)).map(table => table.name))
  const unknown = tables.find(table => !known.has(table.name))
  if (unknown) throw new NotRestored(`Unknown table in the backup: ${unknown.name}.`)
  const references = await selectReferences(tx)
  const rest = new Map(tables.map(table => [table.name, table]))
  const sorted: Table[] = []
  while (rest.size > 0) {
    const free = [...rest.values()].filter(
      ({ name }) => !references.some(({ from, to }) => from === name && rest.has(to)),
    )
    if (free.length === 0) throw new Error('tables have circular references')
    for (const table of free) rest.delete(table.name)
    sorted.push(...free)
  }
  return sorted
}

async function queueAnew(deps: Pick<Deps, 'boss'>, tx: Tx): Promise<void> {
  await enqueue(deps, tx, 'trunks.publish', {})
  for (const { id, owner_id, attempts } of await selectUnsent(tx)) {
    const job = { delivery_id: id, attempt: attempts + 1 }
    await enqueue(deps, tx, 'webhook.deliver', job, { group: { id: owner_id } })
  }
  for (const { id, owner_id } of await selectUnindexed(tx)) {
    await enqueue(deps, tx, 'knowledge.index', { owner_id, source_id: id }, { group: { id: owner_id } })
  }
  for (const { id, owner_id } of await selectSearching(tx)) {
    await enqueue(deps, tx, 'leads.search', { owner_id, job_id: id })
  }
  for (const { id } of await selectUnerased(tx)) await enqueue(deps, tx, 'account.erase', { owner_id: id })
}
