/** Findings about storage of recordings and documents: writes, reads and deletes a blob; checks free disk space. */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { access, constants, mkdtemp, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { Blobs } from '../../media/shared/blobs.ts'
import { createBlobs } from '../adapters/blobs.ts'
import type { Config } from '../config/config.ts'
import { about, bytes, type Finding, failureOf, inTime } from './finding.ts'

const say = about('Blob store')
const BUCKET_MS = 15_000

export type BlobStep = 'written' | 'read' | 'deleted'
/** `failed` is the failed step and its reason. */
export type BlobsFound = { failed: { step: BlobStep; why: string } | null }

export async function examineBlobs(config: Config): Promise<Finding[]> {
  const folder = resolve(config.BLOB_DIR ?? join(config.home, 'blobs'))
  if (config.BLOB_S3_URL) return [judgeBlobs(new URL(config.BLOB_S3_URL).host, await tryBlobs(createBlobs(config)))]
  if (!existsSync(folder)) {
    // The first write creates the directory; the doctor might create it as another user.
    return [say.ok(`${folder} does not exist yet; the first write creates it.`)]
  }
  return [judgeBlobs(folder, await tryBlobs(createBlobs(config)))]
}

export function judgeBlobs(place: string, { failed }: BlobsFound): Finding {
  if (failed === null) return say.ok(`${place}: write, read and delete work.`)
  const todo = place.startsWith('/')
    ? 'Make the user of control and engines the owner of that directory. Until then recordings wait in the spool.'
    : 'Check BLOB_S3_URL, region, keys and the keys’ permissions. Until then recordings wait in the spool.'
  return say.error(`${place} cannot be ${failed.step}: ${failed.why}.`, todo)
}

export async function tryBlobs(blobs: Blobs): Promise<BlobsFound> {
  const work = await mkdtemp(join(tmpdir(), 'parley-doctor-'))
  const content = randomBytes(64)
  const folder = `doctor-${randomBytes(8).toString('hex')}`
  const key = `${folder}/probe`
  let step: BlobStep = 'written'
  try {
    await writeFile(join(work, 'probe'), content)
    const signal = AbortSignal.timeout(BUCKET_MS)
    await blobs.store(key, join(work, 'probe'), { contentType: 'application/octet-stream', signal })
    step = 'read'
    const stream = await inTime(blobs.read(key), BUCKET_MS)
    const same = stream !== null && content.equals(await inTime(buffer(stream), BUCKET_MS))
    if (!same) return { failed: { step, why: 'it returned different data' } }
    step = 'deleted'
    await inTime(blobs.deleteAll(folder), BUCKET_MS)
    const left = await inTime(blobs.read(key), BUCKET_MS)
    left?.destroy()
    return { failed: left === null ? null : { step, why: 'a deleted blob still exists' } }
  } catch (error) {
    return { failed: { step, why: failureOf(error) } }
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

export interface Disk {
  /** Directories on this disk that we write to. */
  folders: string[]
  freeBytes: number
  /** Directories that this user cannot write to. */
  closed: string[]
}

export async function examineDisks(folders: readonly string[]): Promise<Finding[]> {
  const disks = new Map<number, Disk>()
  for (const folder of new Set(folders.filter(existsSync))) {
    const [{ dev }, { bavail, bsize }] = await Promise.all([stat(folder), statfs(folder)])
    const open = await access(folder, constants.W_OK).then(
      () => true,
      () => false,
    )
    const disk = disks.get(dev) ?? { folders: [], freeBytes: bavail * bsize, closed: [] }
    disk.folders.push(folder)
    if (!open) disk.closed.push(folder)
    disks.set(dev, disk)
  }
  return judgeDisks([...disks.values()])
}

export function judgeDisks(disks: readonly Disk[]): Finding[] {
  const line = about('Disk')
  return disks.flatMap(({ folders, freeBytes, closed }) => {
    const text = `${bytes(freeBytes)} free for ${folders.join(', ')}.`
    const todo =
      'Free disk space: a minute of recording takes 2 MB (4 MB in wideband), and without space recordings are lost.'
    const free = freeBytes < 5e8 ? line.error(text, todo) : freeBytes < 5e9 ? line.warning(text, todo) : line.ok(text)
    const refused = closed.map(folder =>
      line.error(`This user cannot write to ${folder}.`, 'Make the user that runs Parley its owner.'),
    )
    return [free, ...refused]
  })
}
