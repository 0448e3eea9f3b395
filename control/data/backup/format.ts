/** A backup is a folder with `manifest.json`, one compressed file for each table, and the blobs under their keys. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { z } from 'zod'

const FORMAT = 1

export const Manifest = z.strictObject({
  format: z.literal(FORMAT),
  /** Time of the snapshot. */
  made_at: z.iso.datetime(),
  migrations: z.array(z.strictObject({ version: z.int(), name: z.string(), hash: z.string() })),
  tables: z.array(z.strictObject({ name: z.string(), columns: z.array(z.string()), sha256: z.string() })),
  sequences: z.array(z.strictObject({ name: z.string(), last_value: z.string() })),
  blobs: z.array(z.strictObject({ key: z.string(), sha256: z.string() })),
  /** Keys that rows refer to and the store does not have: deleted during the backup, or lost before. */
  missing_blobs: z.array(z.string()),
  /** Sealed with the secret that seals the rows, to verify the secret before a restore. */
  probe: z.string(),
})
export type Manifest = z.output<typeof Manifest>
export const format = FORMAT

export const manifestFile = (folder: string) => join(folder, 'manifest.json')
export const tableFile = (folder: string, name: string) => join(folder, 'tables', `${name}.gz`)
export const blobFile = (folder: string, key: string) => join(folder, 'blobs', key)

export const PROBE = { value: 'parley', of: 'backup' }

/** Passes its input through and hashes it. */
export function hashing(): Transform & { digest(): string } {
  const hash = createHash('sha256')
  const through = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk)
      done(null, chunk)
    },
  })
  return Object.assign(through, { digest: () => hash.digest('hex') })
}
