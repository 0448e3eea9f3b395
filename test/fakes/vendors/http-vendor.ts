/** Shared by the vendors' HTTP fakes: a server on a free loopback port that records requests and answers by script. */
import { createServer, type IncomingMessage } from 'node:http'

export interface HttpAnswer {
  status?: number
  headers?: Record<string, string>
  /** Written one by one. */
  parts?: (Buffer | string)[]
  /** The behaviour after the parts. */
  next?: 'end' | 'hang' | 'drop'
}

export interface HttpVendor {
  baseUrl: string
  asked: { request: IncomingMessage; body: Buffer }[]
  answer: HttpAnswer | ((body: Buffer) => HttpAnswer)
  /** Answers that the client aborted. */
  left: number
  close(): Promise<void>
}

export async function startHttpVendor(): Promise<HttpVendor> {
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const body = Buffer.concat(pieces)
    vendor.asked.push({ request, body })
    response.on('close', () => (vendor.left += response.writableEnded || dropped ? 0 : 1))
    const { answer } = vendor
    const {
      status = 200,
      headers = {},
      parts = [],
      next = 'end',
    } = typeof answer === 'function' ? answer(body) : answer
    let dropped = false
    response.writeHead(status, headers)
    for (const part of parts) await new Promise(resolve => response.write(part, resolve))
    if (next === 'end') response.end()
    dropped = next === 'drop'
    if (dropped) response.destroy()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const vendor: HttpVendor = {
    baseUrl: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    asked: [],
    answer: {},
    left: 0,
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
  return vendor
}

/** Encodes 16-bit little-endian samples. */
export function samples(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2)
  for (const [i, value] of values.entries()) bytes.writeInt16LE(value, i * 2)
  return bytes
}
