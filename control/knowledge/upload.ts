/** Streams a file of a multipart/form-data request to disk. The only importer of @fastify/multipart. */
import { createHash, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import multipart, { type MultipartFile } from '@fastify/multipart'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { cleanText } from '../platform/db/text.ts'
import { invalidField, Problem } from '../platform/http/problem.ts'
import { tempFile } from './storage.ts'

/** The largest limit of any kind of file. */
export const LARGEST_FILE = 20 * 1024 * 1024
const LONGEST_NAME = 200
/** Limit of a whole request in bytes; a longer one is cut off. */
const MOST_BYTES = 2 * LARGEST_FILE
const LONGEST_MS = 10 * 60_000
const MOST_PARTS = 10

export class Upload {
  readonly file: string
  /** File name that the customer gave, without folders. */
  readonly name: string
  /** Media type that the customer sent. */
  readonly mediaType: string
  readonly bytes: number
  readonly sha256: Buffer

  constructor(given: { file: string; name: string; mediaType: string; bytes: number; sha256: Buffer }) {
    this.file = given.file
    this.name = given.name
    this.mediaType = given.mediaType
    this.bytes = given.bytes
    this.sha256 = given.sha256
  }

  /** Identifies an upload by name and content, wherever its file is, for idempotency. */
  toJSON() {
    return { name: this.name, sha256: this.sha256.toString('hex') }
  }

  /** Deletes the file of an upload that was not stored. */
  discard(): Promise<void> {
    return rm(this.file, { force: true })
  }
}

/** Register only in the scope of routes that take files: elsewhere such a body is an unsupported media type. */
export async function acceptUploads(app: FastifyInstance): Promise<void> {
  const limits = { fileSize: LARGEST_FILE, parts: MOST_PARTS, fields: MOST_PARTS, fieldSize: 1024, headerPairs: 50 }
  await app.register(multipart, { limits, throwFileSizeLimit: false })
}

export function assertForm(request: FastifyRequest): void {
  if (!request.isMultipart()) throw new Problem('unsupported_media_type')
}

/**
 * Reads the only file of a form. The caller must discard it. Throws a Problem with a code when the form has anything
 * else.
 */
export async function receiveUpload(request: FastifyRequest, folder: string): Promise<Upload> {
  if (Number(request.headers['content-length'] ?? 0) > MOST_BYTES) throw tooLarge()
  const file = await tempFile(folder, `upload-${randomUUID()}`)
  // Starts reading: nothing may be awaited between this and the parser.
  const stop = bounded(request)
  try {
    return await readParts(request, file)
  } catch (error) {
    await rm(file, { force: true })
    // Errors of the disk and our own; all others come from the parser.
    if (error instanceof Problem || (error as NodeJS.ErrnoException).syscall) throw error
    throw invalidField('', 'malformed_multipart', 'is malformed or incomplete multipart/form-data')
  } finally {
    stop()
  }
}

async function readParts(request: FastifyRequest, path: string): Promise<Upload> {
  let upload: Upload | null = null
  let wrong: Problem | null = null
  // Reads to the end even after an error: a client that is still sending would not see the response.
  for await (const part of request.parts()) {
    if (part.type === 'field') {
      wrong ??= invalidField(`/${part.fieldname}`, 'unknown_field', 'unknown field; send only a file')
    } else if (upload || wrong) {
      part.file.resume()
      wrong ??= invalidField('/file', 'too_many_files', 'send one file only')
    } else {
      upload = await store(part, path)
      if (part.file.truncated) wrong = tooLarge()
    }
  }
  if (wrong) throw wrong
  if (!upload) throw invalidField('/file', 'no_file', 'is missing')
  return upload
}

async function store(part: MultipartFile, path: string): Promise<Upload> {
  const hash = createHash('sha256')
  let bytes = 0
  await pipeline(
    part.file,
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        hash.update(chunk)
        bytes += chunk.length
        yield chunk
      }
    },
    createWriteStream(path, { mode: 0o600 }),
  )
  const name =
    cleanText(part.filename ?? '')
      .trim()
      .slice(-LONGEST_NAME)
      .toWellFormed() || 'file'
  return new Upload({ file: path, name, mediaType: part.mimetype, bytes, sha256: hash.digest() })
}

const tooLarge = () => invalidField('/file', 'too_large', `must be at most ${LARGEST_FILE / 1024 / 1024} MB`)

/** A body without end, or a very slow one, must not hold a request and its file forever. */
function bounded({ raw }: FastifyRequest): () => void {
  let bytes = 0
  const count = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > MOST_BYTES) raw.destroy()
  }
  const timer = setTimeout(() => raw.destroy(), LONGEST_MS)
  raw.on('data', count)
  return () => {
    clearTimeout(timer)
    raw.off('data', count)
  }
}
