/** Creates a span for each request to an operation, with the semantic conventions for HTTP. */
import type { FastifyInstance } from 'fastify'
import { noTracing, type Span } from '../../../media/shared/tracing.ts'
import type { Deps } from '../deps.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null when the request is not traced. */
    span: Span | null
  }
}

/** Excludes pages, and probes that arrive every few seconds. */
const OPERATION = /^\/(?:v1\/|auth\/|mcp$)/

/** Records routes, not URLs, which contain phone numbers. */
export function traceRequests(app: FastifyInstance, { tracing = noTracing, config }: Deps): void {
  app.decorateRequest('span', null)
  if (tracing === noTracing) return
  const { protocol, hostname, port } = new URL(config.base_url)
  const scheme = protocol.slice(0, -1)
  // Our own address: a client may write anything into its request.
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
    // The client has disconnected.
    reply.raw.once('close', end)
  })
}
