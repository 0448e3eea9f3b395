/**
 * Stores blobs as files in a directory, written atomically even if the process is killed. Uses S3 when a bucket is
 * configured (blobs-s3.ts).
 */
import { constants } from 'node:fs'
import { copyFile, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Blobs } from '../../media/shared/blobs.ts'
import type { Config } from '../config/config.ts'
import { checkedKey } from './blob-key.ts'
import { createS3Blobs } from './blobs-s3.ts'

export function createBlobs(config: Config): Blobs {
  const { BLOB_S3_URL, BLOB_S3_REGION, BLOB_S3_ACCESS_KEY, BLOB_S3_SECRET_KEY } = config
  if (BLOB_S3_URL && BLOB_S3_ACCESS_KEY && BLOB_S3_SECRET_KEY) {
    const keys = { accessKey: BLOB_S3_ACCESS_KEY, secretKey: BLOB_S3_SECRET_KEY }
    return createS3Blobs({ url: BLOB_S3_URL, region: BLOB_S3_REGION, ...keys })
  }
  return createFolderBlobs(resolve(config.BLOB_DIR ?? join(config.home, 'blobs')))
}

/** Each engine has its own spool. Files found at start belong to a dead engine of the same name. */
export const spoolFolder = (config: Config) =>
  join(resolve(config.SPOOL_DIR ?? join(config.home, 'spool')), config.ENGINE_NAME)

const isMissing = (error: unknown) => /^(?:ENOENT|ENOTDIR)$/.test((error as NodeJS.ErrnoException).code ?? '')

export function createFolderBlobs(folder: string): Blobs {
  const place = (key: string) => join(folder, checkedKey(key))
  return {
    async store(key, file) {
      const target = place(key)
      await mkdir(dirname(target), { recursive: true, mode: 0o700 })
      try {
        await rename(file, target)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
        const draft = `${target}.part`
        await copyFile(file, draft, constants.COPYFILE_FICLONE)
        await rename(draft, target)
        await rm(file, { force: true })
      }
    },
    async read(key, range) {
      try {
        const handle = await open(place(key))
        return handle.createReadStream(range)
      } catch (error) {
        if (isMissing(error)) return null
        throw error
      }
    },
    delete: key => rm(place(key), { force: true }),
    deleteAll: key => rm(place(key), { recursive: true, force: true }),
  }
}
