/** The customer's side of the demo: the HTTP endpoint of a slow tool, and a webhook receiver that checks signatures. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'

export interface Delivery {
  event: string
  callId: string
  signatureOk: boolean
  body: Record<string, unknown>
}

export interface DemoWorld {
  port: number
  /** Sets the secret that the receiver checks signatures with. */
  setSecret(secret: string): void
  /** Waits for the delivery of this call; null after `timeoutMs`. */
  delivery(callId: string, timeoutMs: number): Promise<Delivery | null>
  close(): Promise<void>
}

/** Milliseconds that the tool takes: long enough for a caller to wonder whether the line is dead. */
const TOOL_MS = 2600
const MAX_BODY = 1024 * 1024

export async function startWorld(port: number): Promise<DemoWorld> {
  let secret = ''
  const deliveries = new Map<string, Delivery>()
  const waiting = new Map<string, (delivery: Delivery) => void>()

  const server = createServer(async (request, response) => {
    const raw = await readBody(request)
    if (request.method === 'POST' && request.url === '/book') {
      const { party_size, time } = parse(raw)
      await new Promise(resolve => setTimeout(resolve, TOOL_MS))
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({
          booking: 'R-4711',
          message: `Your table for ${party_size ?? 'you'} is booked, ${spoken(time)}. It is table number twelve.`,
        }),
      )
    } else if (request.method === 'POST' && request.url === '/webhook') {
      const body = parse(raw)
      const delivery: Delivery = {
        event: String(body['event']),
        callId: String(body['call_id']),
        signatureOk: verify(raw, String(request.headers['x-svc-signature'] ?? ''), secret),
        body,
      }
      deliveries.set(delivery.callId, delivery)
      waiting.get(delivery.callId)?.(delivery)
      response.writeHead(204).end()
    } else response.writeHead(404).end()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    port: (server.address() as { port: number }).port,
    setSecret: value => {
      secret = value
    },
    delivery(callId, timeoutMs) {
      const there = deliveries.get(callId)
      if (there) return Promise.resolve(there)
      return new Promise(resolve => {
        const timer = setTimeout(() => resolve(null), timeoutMs)
        waiting.set(callId, delivery => {
          clearTimeout(timer)
          resolve(delivery)
        })
      })
    },
    close: () => new Promise(resolve => server.close(() => resolve())),
  }
}

/** Verifies the signature: `sha256=` and the hexadecimal HMAC-SHA256 of the raw body. */
function verify(raw: Buffer, header: string, secret: string): boolean {
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(raw).digest('hex')}`)
  const given = Buffer.from(header)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request) {
    size += part.length
    if (size > MAX_BODY) break
    parts.push(part)
  }
  return Buffer.concat(parts)
}

function parse(raw: Buffer): Record<string, unknown> {
  try {
    return JSON.parse(raw.toString('utf8')) as Record<string, unknown>
  } catch {
    return {}
  }
}

function spoken(time: unknown): string {
  const match = /^(\d{2}):(\d{2})$/.exec(String(time))
  if (!match) return 'at the time you asked for'
  const hour = Number(match[1])
  return `at ${hour % 12 || 12}${match[2] === '00' ? '' : ` ${match[2]}`} in the ${hour < 12 ? 'morning' : 'evening'}`
}
