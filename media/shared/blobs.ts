/** Port for the blob store: recordings and uploaded files, by key. */
import type { Readable } from 'node:stream'

/** Files by key, such as `recordings/<owner>/<call>.wav`: lower-case words of `a-z0-9._-` separated by slashes. */
export interface Blobs {
  /**
   * Moves the file into the store, atomically: it is complete under its key and gone from its path, or nothing changed.
   */
  store(key: string, file: string, options: { contentType: string; signal: AbortSignal }): Promise<void>
  /** Resolves to null when the key does not exist. `end` is the last byte, inclusive. */
  read(key: string, range?: { start: number; end: number }): Promise<Readable | null>
  /** Succeeds when the key does not exist. */
  delete(key: string): Promise<void>
  /** Deletes everything below a folder, named without a trailing slash. */
  deleteAll(folder: string): Promise<void>
}
