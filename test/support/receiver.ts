/** An HTTP server that records requests and answers as scripted. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { Fetch } from '../../media/shared/fetch.ts'
import { FetchError } from '../../media/shared/fetch.ts'

export interface Received {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: string
  atMs: number
}

export type Answerer = (request: Received, response: ServerResponse, index: number) => void

export interface Receiver {
  url: string
  received: Received[]
  answer(next: Answerer): void
  /** Resolves when `count` requests have arrived. */
  arrived(count: number): Promise<Received[]>
  close(): Promise<void>
}

export async function createReceiver(): Promise<Receiver> {
  const received: Received[] = []
  const waiting: { count: number; resolve(): void }[] = []
  let answerer: Answerer = (_, response) => void response.writeHead(204).end()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request
      const got = { method, path, headers, body: Buffer.concat(chunks).toString(), atMs: performance.now() }
      received.push(got)
      for (const one of waiting) if (received.length >= one.count) one.resolve()
      answerer(got, response, received.length - 1)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    answer(next) {
      answerer = next
    },
    async arrived(count) {
      if (received.length < count) await new Promise<void>(resolve => waiting.push({ count, resolve }))
      return received
    },
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

/** The Fetch port without its guard, which would block the loopback receivers of tests and has tests of its own. */
export const plainFetch: Fetch = async request => {
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(request.timeoutMs)])
  try {
    const response = await fetch(request.url, {
      method: request.method,
      headers: request.headers,
      body: request.body,
      redirect: 'manual',
      signal,
    })
    const body = Buffer.from(await response.arrayBuffer())
    if (body.length > request.maxBytes) throw new FetchError('too_large', 'too large')
    return { status: response.status, headers: Object.fromEntries(response.headers), body, url: response.url }
  } catch (error) {
    if (error instanceof FetchError) throw error
    throw new FetchError((error as Error).name === 'TimeoutError' ? 'timeout' : 'network', 'fetch failed')
  }
}
