/** Answers 405 with the allowed methods when a path exists and the method does not (RFC 9110 §15.5.6). */
import { METHODS } from 'node:http'
import type { FastifyInstance, HTTPMethods } from 'fastify'
import type { Deps } from '../deps.ts'
import { Problem } from './problem.ts'
import { takeToken } from './rate-limit.ts'

/** Call before the first route. Call the returned function after the last one; it adds the 405 routes. */
export function collectMethods(app: FastifyInstance, deps: Deps): () => void {
  // CONNECT never arrives as a request.
  for (const method of METHODS) {
    if (method !== 'CONNECT' && !app.supportedMethods.includes(method)) app.addHttpMethod(method)
  }
  const known = new Map<string, Set<HTTPMethods>>()
  app.addHook('onRoute', ({ url, method }) => {
    const methods = known.get(url) ?? new Set()
    known.set(url, methods)
    for (const one of [method].flat()) methods.add(one as HTTPMethods)
    if (methods.has('GET')) methods.add('HEAD')
  })
  return () => {
    for (const [url, methods] of [...known]) {
      const allowed = [...methods].sort().join(', ')
      const others = app.supportedMethods.filter(method => !methods.has(method as HTTPMethods))
      app.route({
        method: others,
        url,
        schema: { hide: true },
        // Before the body is read, which is not needed.
        onRequest: async (request, reply) => {
          await takeToken(deps, reply, 'address', request.ip)
          reply.header('Allow', allowed)
          throw new Problem('method_not_allowed', { detail: `Allowed methods: ${allowed}.` })
        },
        handler: async () => {},
      })
    }
  }
}
