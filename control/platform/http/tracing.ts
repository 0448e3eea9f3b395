/** A span for each request to an operation, by the semantic conventions for HTTP. */
import type { FastifyInstance } from 'fastify'
import { noTracing, type Span } from '../../../media/shared/tracing.ts'
import type { Deps } from '../deps.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null: it is not traced. */
    span: Span | null
  }
}

/** Not the pages, nor the probes that ask every few seconds. */
const OPERATION = /^\/(?:v1\/|auth\/|mcp$)/

/** Routes, not addresses: those hold phone numbers. */
export function traceRequests(app: FastifyInstance, { tracing = noTracing, config }: Deps): void {
  app.decorateRequest('span', null)
  if (tracing === noTracing) return
  const { protocol, hostname, port } = new URL(config.base_url)
  const scheme = protocol.slice(0, -1)
  // Of our own address: the one that a client writes into its request may be anything.
  const server = {
    'url.scheme': scheme,
    'server.address': hostname,
    'server.port': Number(port) || (scheme === 'https' ? 443 : 80),
  }
  app.addHook('onRequest', async (request, reply) => {
    const route = request.routeOptions.url
    if (route === undefined || !OPERATION.test(route)) return
    const { method } = request
    const span = tracing.start(`${method} ${route}`, {
      kind: 'server',
      parent: String(request.headers['traceparent'] ?? ''),
      attributes: { 'http.request.method': method, 'http.route': route, 'url.path': route, ...server },
    })
    request.span = span
    const end = () => {
      const { statusCode } = reply
      span.set({ 'http.response.status_code': statusCode })
      span.end(statusCode >= 500 ? { error: String(statusCode) } : {})
    }
    reply.raw.once('finish', end)
    // Who asked has gone.
    reply.raw.once('close', end)
  })
}
