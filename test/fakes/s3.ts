/**
 * An S3 bucket built from the documentation: independent verification of SigV4 in the header, mandatory Content-Length
 * for PUT, ranges, paged listings by prefix, deletes of missing keys, and scripted failures.
 */
import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export interface FakeS3 {
  /** The bucket's URL. */
  url: string
  region: string
  accessKey: string
  secretKey: string
  objects: Map<string, { body: Buffer; contentType: string | undefined }>
  /** Fails the next requests, one entry each. */
  failures: { status: number; code: string }[]
  close(): Promise<void>
}

const BUCKET = '/calls'
const PAGE = 2

export async function startS3(): Promise<FakeS3> {
  const objects: FakeS3['objects'] = new Map()
  const failures: FakeS3['failures'] = []
  const keys = { region: 'eu-north-1', accessKey: 'AKIATEST', secretKey: 'not a secret/+' }
  const server: Server = createServer((request, response) => void answer(request, response))

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refuse = (status: number, code: string) =>
      response
        .writeHead(status, { connection: 'close' })
        .end(`<?xml version="1.0"?><Error><Code>${code}</Code></Error>`)
    const failure = failures.shift()
    if (failure) return void refuse(failure.status, failure.code)
    const { method = '' } = request
    const url = new URL(request.url ?? '/', 'http://any')
    if (!isSigned(request, url, keys)) return void refuse(403, 'SignatureDoesNotMatch')
    if (!url.pathname.startsWith(BUCKET)) return void refuse(404, 'NoSuchBucket')
    const key = url.pathname.slice(BUCKET.length + 1)
    if (method === 'PUT') {
      if (request.headers['content-length'] === undefined) return void refuse(411, 'MissingContentLength')
      objects.set(key, { body: await buffer(request), contentType: request.headers['content-type'] })
      return void response.writeHead(200).end()
    }
    if (method === 'DELETE') {
      objects.delete(key)
      return void response.writeHead(204).end()
    }
    if (key === '' && url.searchParams.get('list-type') === '2') {
      const prefix = url.searchParams.get('prefix') ?? ''
      const found = [...objects.keys()].filter(name => name.startsWith(prefix)).sort()
      const contents = found.slice(0, PAGE).map(name => `<Contents><Key>${name}</Key></Contents>`)
      return void response.writeHead(200).end(`<ListBucketResult>${contents.join('')}</ListBucketResult>`)
    }
    const object = objects.get(key)
    if (!object) return void refuse(404, 'NoSuchKey')
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
    const part = first ? object.body.subarray(Number(first), Number(last) + 1) : object.body
    response.writeHead(first ? 206 : 200, { 'content-length': part.length }).end(part)
  }

  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    ...keys,
    url: `http://127.0.0.1:${port}${BUCKET}`,
    objects,
    failures,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()
const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)

/** Verifies AWS Signature Version 4, "Authenticating requests: using the Authorization header". */
function isSigned(
  request: IncomingMessage,
  url: URL,
  keys: Pick<FakeS3, 'region' | 'accessKey' | 'secretKey'>,
): boolean {
  const given = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
    request.headers.authorization ?? '',
  )
  if (!given) return false
  const [, accessKey, scope = '', names = '', signature] = given
  const day = scope.split('/')[0]!
  const date = String(request.headers['x-amz-date'])
  if (accessKey !== keys.accessKey || scope !== `${day}/${keys.region}/s3/aws4_request` || !date.startsWith(day))
    return false
  const query = [...url.searchParams].map(([name, value]) => `${encode(name)}=${encode(value)}`).sort()
  const headers = names.split(';').map(name => `${name}:${String(request.headers[name]).trim()}\n`)
  const canonical = [
    request.method,
    url.pathname
      .split('/')
      .map(part => encode(decodeURIComponent(part)))
      .join('/'),
    query.join('&'),
    headers.join(''),
    names,
    request.headers['x-amz-content-sha256'],
  ].join('\n')
  const text = ['AWS4-HMAC-SHA256', date, scope, createHash('sha256').update(canonical).digest('hex')].join('\n')
  const key = ['s3', 'aws4_request'].reduce(hmac, hmac(hmac(`AWS4${keys.secretKey}`, day), keys.region))
  return names.includes('host') && hmac(key, text).toString('hex') === signature
}
