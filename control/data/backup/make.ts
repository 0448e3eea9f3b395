/** Makes a backup while calls continue: all tables from one snapshot, and the blobs that they refer to. */
import { createWriteStream } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import PQueue from 'p-queue'
import type { Sealer } from '../../../media/contract/seal.ts'
import type { Blobs } from '../../../media/shared/blobs.ts'
import { contentKey } from '../../knowledge/storage.ts'
import type { Sql, Tx } from '../../platform/db/connect.ts'
import { blobFile, format, hashing, type Manifest, manifestFile, PROBE, tableFile } from './format.ts'
import { copyOut, selectRan, selectRecordingKeys, selectSequences, selectSources, selectTables } from './sql.ts'

const BLOBS_AT_ONCE = 4

export interface MakeParts {
  sql: Sql
  blobs: Blobs
  sealer: Sealer
}

/**
 * Creates the folder completely or not at all: it has a temporary name until it is complete. Fails when the folder
 * exists.
 */
export async function makeBackup(parts: MakeParts, folder: string): Promise<Manifest> {
  const draft = `${folder}.part`
  await rm(draft, { recursive: true, force: true })
  await mkdir(join(draft, 'tables'), { recursive: true, mode: 0o700 })
  const { keys, ...tables } = await parts.sql.begin('isolation level repeatable read read only', tx =>
    copyTables(tx, draft),
  )
  const blobs = await copyBlobs(parts.blobs, keys, draft)
  const manifest = { format, ...tables, ...blobs, probe: parts.sealer.seal(PROBE.value, PROBE.of) } as const
  await writeFile(manifestFile(draft), JSON.stringify(manifest, null, 1), { mode: 0o600 })
  await mkdir(folder, { mode: 0o700 }) // fails when the folder exists
  await rename(draft, folder)
  return manifest
}

async function copyTables(tx: Tx, folder: string) {
  const [now] = await tx<{ at: Date }[]>`select now() as at`
  const tables: Manifest['tables'] = []
  for (const table of await selectTables(tx)) {
    const hash = hashing()
    const file = createWriteStream(tableFile(folder, table.name), { mode: 0o600 })
    await pipeline(await copyOut(tx, table), createGzip({ level: 6 }), hash, file)
    tables.push({ ...table, sha256: hash.digest() })
  }
  const sources = await selectSources(tx)
  const sequences = await selectSequences(tx)
  return {
    made_at: now!.at.toISOString(),
    migrations: (await selectRan(tx)).map(({ version, name, hash }) => ({ version, name, hash })),
    tables,
    // Sequences are outside all snapshots. Reading them last keeps them from being behind a number that a row has.
    sequences: sequences.flatMap(({ name, last_value }) =>
      last_value === null ? [] : [{ name, last_value: String(last_value) }],
    ),
    keys: [...(await selectRecordingKeys(tx)), ...sources.map(contentKey)],
  }
}

/** Blobs that were deleted after the snapshot are listed as missing; they are not an error. */
async function copyBlobs(store: Blobs, keys: readonly string[], folder: string) {
  const blobs: Manifest['blobs'] = []
  const missing_blobs: string[] = []
  const queue = new PQueue({ concurrency: BLOBS_AT_ONCE })
  const copy = async (key: string) => {
    const content = await store.read(key)
    if (!content) return void missing_blobs.push(key)
    const file = blobFile(folder, key)
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    const hash = hashing()
    await pipeline(content, hash, createWriteStream(file, { mode: 0o600 }))
    blobs.push({ key, sha256: hash.digest() })
  }
  await queue.addAll(keys.map(key => () => copy(key)))
  return { blobs, missing_blobs }
}
