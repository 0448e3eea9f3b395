/** Checks what a zip declares and what it really contains, before a library trusts it. The only importer of yauzl. */
import yauzl, { type Entry, type ZipFile } from 'yauzl'
import { KnowledgeError } from '../documents/types.ts'

export interface ZipLimits {
  entries: number
  /** Declared size of all entries, in bytes. */
  total: number
  /** Decompressed size of the entries that match `read`, in bytes. */
  readTotal: number
  read: RegExp
}

const damaged = () => new KnowledgeError('damaged', 'The file is not a readable zip archive.')
const bomb = () => new KnowledgeError('too_complex', 'The file unpacks to more than the size limit.')

/** Returns the names of the entries; null when the file is not a zip or has too many entries. */
export async function listZip(source: string | Buffer, most: number): Promise<string[] | null> {
  const names: string[] = []
  try {
    const zip = await open(source)
    await eachEntry(zip, entry => {
      if (names.push(entry.fileName) > most) throw bomb()
    })
    return names
  } catch {
    return null
  }
}

/**
 * Decompresses the matching entries, and throws before it has decompressed too much. `check` gets each complete part.
 */
export async function checkZip(
  bytes: Buffer,
  limits: ZipLimits,
  check: (name: string, part: Buffer) => void,
): Promise<void> {
  let entries = 0
  let total = 0
  let readTotal = 0
  try {
    const zip = await open(bytes)
    await eachEntry(zip, async entry => {
      total += entry.uncompressedSize
      if (++entries > limits.entries || total > limits.total) throw bomb()
      if (entry.isEncrypted()) throw new KnowledgeError('encrypted', 'The file is protected by a password.')
      if (!limits.read.test(entry.fileName)) return
      const part = await inflate(zip, entry, limits.readTotal - readTotal)
      readTotal += part.length
      check(entry.fileName, part)
    })
  } catch (error) {
    throw error instanceof KnowledgeError ? error : damaged()
  }
}

function open(source: string | Buffer): Promise<ZipFile> {
  return new Promise((resolve, reject) => {
    const options = { lazyEntries: true, validateEntrySizes: true }
    const done = (error: Error | null, zip: ZipFile) => (error ? reject(error) : resolve(zip))
    if (typeof source === 'string') yauzl.open(source, options, done)
    else yauzl.fromBuffer(source, options, done)
  })
}

function eachEntry(zip: ZipFile, see: (entry: Entry) => void | Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      zip.close()
      reject(error)
    }
    zip.on('error', fail)
    zip.on('end', resolve)
    zip.on('entry', async entry => {
      try {
        await see(entry)
        zip.readEntry()
      } catch (error) {
        fail(error)
      }
    })
    zip.readEntry()
  })
}

/** yauzl ends a stream that exceeds its declared size; this rejects a declared size that is too large. */
function inflate(zip: ZipFile, entry: Entry, most: number): Promise<Buffer> {
  if (entry.uncompressedSize > most) return Promise.reject(bomb())
  return new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => {
      if (error) return reject(error)
      const parts: Buffer[] = []
      stream.on('data', part => parts.push(part))
      stream.on('error', reject)
      stream.on('end', () => resolve(Buffer.concat(parts)))
    })
  })
}
