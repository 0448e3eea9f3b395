/** A receiver of OTLP over HTTP in JSON that records spans. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { z } from 'zod'
import { PATIENCE } from './world.ts'

const Value = z.object({
  stringValue: z.string().optional(),
  intValue: z.union([z.number(), z.string()]).optional(),
  doubleValue: z.number().optional(),
  boolValue: z.boolean().optional(),
})
const Attributes = z.array(z.object({ key: z.string(), value: Value })).default([])
const nanos = z.union([z.string(), z.number()]).transform(text => Number(BigInt(text) / 1000n) / 1000)
const Sent = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: Attributes }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              traceId: z.string().regex(/^[0-9a-f]{32}$/),
              spanId: z.string().regex(/^[0-9a-f]{16}$/),
              parentSpanId: z.string().optional(),
              name: z.string(),
              kind: z.int(),
              startTimeUnixNano: nanos,
              endTimeUnixNano: nanos,
              attributes: Attributes,
              status: z.object({ code: z.int().optional() }).optional(),
            }),
          ),
        }),
      ),
    }),
  ),
})

export interface SentSpan {
  service: string
  traceId: string
  spanId: string
  /** Null for the root of a trace. */
  parentId: string | null
  name: string
  /** OTLP values: 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  kind: number
  /** Epoch milliseconds. */
  startMs: number
  endMs: number
  attributes: Record<string, unknown>
  failed: boolean
}

export interface OtlpReceiver {
  url: string
  spans: SentSpan[]
  /** Headers of each request. */
  headers: IncomingHttpHeaders[]
  /** Sets how the next requests are answered; 200 by default. */
  answer(next: (response: ServerResponse) => void): void
  /** Waits until `count` spans match and returns them. */
  wait(fits: (span: SentSpan) => boolean, count: number, what: string, ms?: number): Promise<SentSpan[]>
  close(): Promise<void>
}

const plain = (attributes: z.infer<typeof Attributes>): Record<string, unknown> =>
  Object.fromEntries(
    attributes.map(({ key, value: { stringValue, intValue, doubleValue, boolValue } }) => [
      key,
      stringValue ?? (intValue === undefined ? (doubleValue ?? boolValue) : Number(intValue)),
    ]),
  )

const read = (body: string): SentSpan[] =>
  Sent.parse(JSON.parse(body)).resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(plain(resource.attributes)['service.name'])
    return scopeSpans.flatMap(({ spans }) =>
      spans.map(({ traceId, spanId, parentSpanId, name, kind, attributes, status, ...times }) => ({
        service,
        traceId,
        spanId,
        parentId: parentSpanId || null,
        name,
        kind,
        startMs: times.startTimeUnixNano,
        endMs: times.endTimeUnixNano,
        attributes: plain(attributes),
        failed: status?.code === 2,
      })),
    )
  })

export async function startOtlp(): Promise<OtlpReceiver> {
  const spans: SentSpan[] = []
  const headers: IncomingHttpHeaders[] = []
  const waiting = new Set<() => void>()
  let answer: (response: ServerResponse) => void = response =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      headers.push(request.headers)
      if (request.url === '/v1/traces') spans.push(...read(Buffer.concat(chunks).toString()))
      answer(response)
      for (const look of [...waiting]) look()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    headers,
    answer(next) {
      answer = next
    },
    wait(fits, count, what, ms = 15_000) {
      return new Promise((resolve, reject) => {
        const look = () => {
          const found = spans.filter(fits)
          if (found.length < count) return
          clearTimeout(timer)
          waiting.delete(look)
          resolve(found)
        }
        const timer = setTimeout(() => {
          waiting.delete(look)
          reject(new Error(`waited ${ms * PATIENCE} ms for ${what}; there are ${spans.map(span => span.name)}`))
        }, ms * PATIENCE)
        waiting.add(look)
        look()
      })
    },
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
