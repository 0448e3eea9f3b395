/** Receives webhooks in a separate process, and checks each signature as a customer would. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { monotonicMs, serve } from './rpc.ts'

/** Secrets by the last part of the URL. */
let secrets: Record<string, string> = {}
let arrived: number[] = []
let waiting: { count: number; resolve(times: number[]): void; reject(error: Error): void } | undefined

const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const at = monotonicMs()
    const secret = secrets[request.url!.split('/').at(-1)!]
    const good =
      secret !== undefined && isSigned(secret, Buffer.concat(parts), String(request.headers['x-svc-signature']))
    response.writeHead(good ? 204 : 401).end()
    if (!good) return waiting?.reject(new Error('received a webhook with an invalid signature'))
    arrived.push(at)
    if (waiting && arrived.length >= waiting.count) waiting.resolve(arrived)
  })
})

function isSigned(secret: string, body: Buffer, given: string): boolean {
  const wanted = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`)
  const signature = Buffer.from(given)
  return signature.length === wanted.length && timingSafeEqual(signature, wanted)
}

const handlers = {
  open: () =>
    new Promise<number>(resolve => {
      server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port))
    }),
  expect(known: Record<string, string>) {
    secrets = known
    arrived = []
  },
  /** Arrival times, once all have arrived. */
  arrived: (count: number) =>
    new Promise<number[]>((resolve, reject) => {
      waiting = { count, resolve, reject }
      if (arrived.length >= count) resolve(arrived)
    }),
}

export type ReceiverHandlers = typeof handlers

serve(handlers)
