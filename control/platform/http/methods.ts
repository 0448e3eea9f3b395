/** An address that is there, asked with a method that is not: 405 and the methods that are (RFC 9110 §15.5.6). */
import { METHODS } from 'node:http'
import type { FastifyInstance, HTTPMethods } from 'fastify'
import type { Deps } from '../deps.ts'
import { Problem } from './problem.ts'
import { takeToken } from './rate-limit.ts'

/** Before the first route. The function it returns closes the gaps, after the last. */
export function collectMethods(app: FastifyInstance, deps: Deps): () => void {
  // CONNECT never comes as a request.
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
        // Before the body is read: whatever it is, it is not wanted.
        onRequest: async (request, reply) => {
          await takeToken(deps, reply, 'address', request.ip)
          reply.header('Allow', allowed)
          throw new Problem('method_not_allowed', { detail: `Allowed here: ${allowed}.` })
        },
        handler: async () => {},
      })
    }
  }
}
