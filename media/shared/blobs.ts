/** The blob store port: recordings and uploaded files, by key. */
import type { Readable } from 'node:stream'

/** Files by key, such as `recordings/<owner>/<call>.wav`: lower-case words of `a-z0-9._-` between slashes. */
export interface Blobs {
  /** Takes the file over: it is whole under its key, and gone from where it was; or nothing has happened. */
  take(key: string, file: string, options: { contentType: string; signal: AbortSignal }): Promise<void>
  /** Null: there is none. `end` is the last byte that is wanted. */
  read(key: string, range?: { start: number; end: number }): Promise<Readable | null>
  /** What is not there is deleted already. */
  delete(key: string): Promise<void>
  /** Everything below a folder, named without a slash at its end. */
  deleteAll(folder: string): Promise<void>
}
