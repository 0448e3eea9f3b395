/** Liveness, readiness, overload and shutdown of this process. */
import underPressure from '@fastify/under-pressure'
import type { FastifyInstance } from 'fastify'
import type { Deps } from '../deps.ts'
import { Problem } from './problem.ts'

const CHECK_MS = 2000
/** Milliseconds over which the delay is averaged: a single stall is not an overload. */
const SAMPLE_MS = 1000
/** Milliseconds to ignore after start: building the routes blocks the loop and distorts the first samples. */
const SETTLED_MS = 2 * SAMPLE_MS

export async function registerHealth(app: FastifyInstance, deps: Deps): Promise<void> {
  const { drain_ms, max_event_loop_delay_ms } = deps.config
  let draining = false
  let closed = false
  let readyMs = Infinity
  app.addHook('onReady', async () => {
    readyMs = deps.clock.now()
  })
  // `/readyz` tells load balancers that the process is draining, while requests that are on their way are still served.
  app.addHook('preClose', async () => {
    draining = true
    if (drain_ms > 0) await served(deps, drain_ms)
    closed = true
  })
  app.addHook('onRequest', async (_, reply) => {
    if (!closed) return
    reply.header('Connection', 'close')
    throw new Problem('service_unavailable', { detail: 'The process is shutting down.', retryAfterSeconds: 1 })
  })

  app.get('/healthz', { schema: { hide: true } }, async () => ({ status: 'ok' }))

  app.get('/readyz', { schema: { hide: true } }, async (_, reply) => {
    const checks = {
      postgres: await answers(deps, () => deps.sql`select 1`),
      redis: await answers(deps, () => deps.redis.ping()),
    }
    const ready = !draining && Object.values(checks).every(Boolean)
    const status = draining ? 'draining' : ready ? 'ready' : 'not_ready'
    return reply
      .code(ready ? 200 : 503)
      .header('Cache-Control', 'no-store')
      .send({ status, checks })
  })

  await app.register(underPressure, {
    maxEventLoopDelay: max_event_loop_delay_ms,
    sampleInterval: SAMPLE_MS,
    pressureHandler(request) {
      if (deps.clock.now() < readyMs + SETTLED_MS) return
      if (request.routeOptions.url === '/healthz' || request.routeOptions.url === '/readyz') return
      throw new Problem('service_unavailable', { detail: 'The process is overloaded.', retryAfterSeconds: 2 })
    },
  })
}

/** Resolves after `ms`, or when `hurry` aborts. */
async function served({ clock, hurry }: Deps, ms: number): Promise<void> {
  if (hurry?.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const cancel = clock.after(ms, resolve)
  hurry?.addEventListener('abort', () => resolve(), { once: true })
  await promise
  cancel()
}

async function answers(deps: Deps, ask: () => PromiseLike<unknown>): Promise<boolean> {
  const late = Promise.withResolvers<boolean>()
  const cancel = deps.clock.after(CHECK_MS, () => late.resolve(false))
  const asked = Promise.resolve(ask()).then(
    () => true,
    () => false,
  )
  const answer = await Promise.race([asked, late.promise])
  cancel()
  return answer
}
