/**
 * Stores blobs in a bucket of S3 or a compatible service (MinIO, Ceph, Yandex Object Storage). The operator sets the
 * bucket's address, so the SSRF guard does not apply. Bodies are not signed: https protects them, and a hash would
 * require reading each file twice.
 */
import { createReadStream } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { AwsV4Signer } from 'aws4fetch'
import type { Blobs } from '../../media/shared/blobs.ts'
import { checkedKey as checked } from './blob-key.ts'

export interface S3Options {
  /** The bucket's URL, path-style or virtual-hosted. */
  url: string
  region: string
  accessKey: string
  secretKey: string
}

export class S3Error extends Error {
  readonly status: number
  /** The store's error code: `AccessDenied`, `NoSuchBucket`, … */
  readonly code: string
  constructor(status: number, code: string) {
    super(`The blob store answered ${status} ${code}`.trim())
    this.name = 'S3Error'
    this.status = status
    this.code = code
  }
}

const ANSWER_MS = 30_000
const UPLOAD_MS = 1_800_000

interface Sent {
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: Readable
  signal?: AbortSignal
  timeoutMs?: number
}

export function createS3Blobs({ url, region, accessKey, secretKey }: S3Options): Blobs {
  const base = url.replace(/\/$/, '')
  const signing = { accessKeyId: accessKey, secretAccessKey: secretKey, region, service: 's3' }

  /** Sends a request. Resolves with a success or a 404; throws S3Error otherwise. The caller reads the body. */
  async function send(method: string, key: string, sent: Sent = {}): Promise<Response> {
    const { query = {}, headers = {}, body, signal, timeoutMs = ANSWER_MS } = sent
    const address = new URL(key === '' ? base : `${base}/${key}`)
    for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value)
    const signed = await new AwsV4Signer({ ...signing, method, url: address.href, headers }).sign()
    // The timeout covers only the start of the answer: reading a long recording may take minutes.
    const patience = new AbortController()
    const timer = setTimeout(() => patience.abort(new S3Error(504, 'Timeout')), timeoutMs)
    try {
      const response = await fetch(signed.url, {
        method,
        headers: signed.headers,
        signal: signal ? AbortSignal.any([signal, patience.signal]) : patience.signal,
        redirect: 'error',
        ...(body ? { body: Readable.toWeb(body) as never, duplex: 'half' as const } : {}),
      })
      if (response.ok || response.status === 404) return response
      const code = /<Code>([A-Za-z0-9]{1,64})<\/Code>/.exec(await response.text())?.[1] ?? ''
      throw new S3Error(response.status, code)
    } finally {
      clearTimeout(timer)
      body?.destroy()
    }
  }

  async function done(response: Response): Promise<void> {
    await response.body?.cancel()
  }

  async function list(folder: string): Promise<string[]> {
    const response = await send('GET', '', { query: { 'list-type': '2', prefix: `${folder}/` } })
    if (!response.ok) throw new S3Error(response.status, '')
    return [...(await response.text()).matchAll(/<Key>([^<]+)<\/Key>/g)].map(match => match[1]!)
  }

  const blobs: Blobs = {
    async store(key, file, { contentType, signal }) {
      const { size } = await stat(file)
      const headers = { 'content-type': contentType, 'content-length': String(size) }
      const body = createReadStream(file)
      const response = await send('PUT', checked(key), { headers, body, signal, timeoutMs: UPLOAD_MS })
      await done(response)
      if (!response.ok) throw new S3Error(response.status, 'NoSuchBucket')
      await rm(file, { force: true })
    },
    async read(key, range) {
      const headers: Record<string, string> = range ? { range: `bytes=${range.start}-${range.end}` } : {}
      const response = await send('GET', checked(key), { headers })
      if (response.ok && response.body) return Readable.fromWeb(response.body as ReadableStream)
      await done(response)
      return null
    },
    async delete(key) {
      await done(await send('DELETE', checked(key)))
    },
    async deleteAll(folder) {
      // A page has up to 1000 keys; deleted keys are not on the next one.
      for (let keys = await list(checked(folder)); keys.length > 0; keys = await list(folder)) {
        for (const key of keys) await blobs.delete(key)
      }
    },
  }
  return blobs
}
