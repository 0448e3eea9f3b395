/** Storage of source contents: permanently in the blob store, temporarily in a folder of this machine. */
import { createWriteStream } from 'node:fs'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Blobs } from '../../media/shared/blobs.ts'

/** Contents of an account share a prefix, because they are erased together. */
export const knowledgeOf = (ownerId: string) => `knowledge/${ownerId}`
export const contentKey = ({ id, owner_id }: { id: string; owner_id: string }) => `${knowledgeOf(owner_id)}/${id}`

/** Age after which a temporary file belongs to a killed process: no request and no run of the indexer takes so long. */
const LEFT_BEHIND_MS = 2 * 3600 * 1000

/** Returns a path for a temporary file; creates the folder. */
export async function tempFile(folder: string, name: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  return join(folder, name)
}

/** Deletes all files whose name starts with `prefix`. */
export async function removeTemp(folder: string, prefix: string): Promise<void> {
  const names = await namesIn(folder)
  await Promise.all(names.filter(name => name.startsWith(prefix)).map(name => rm(join(folder, name), { force: true })))
}

export async function sweepTemp(folder: string, wallMs: number): Promise<void> {
  for (const name of await namesIn(folder)) {
    const file = join(folder, name)
    const found = await stat(file).catch(() => null)
    if (found && found.mtimeMs < wallMs - LEFT_BEHIND_MS) await rm(file, { force: true })
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** False when the content does not exist. */
export async function fetchContent(blobs: Blobs, key: string, file: string, signal: AbortSignal): Promise<boolean> {
  const content = await blobs.read(key)
  if (!content) return false
  await pipeline(content, createWriteStream(file, { mode: 0o600 }), { signal })
  return true
}
