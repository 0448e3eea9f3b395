/**
 * Serves the built dashboard (infra/tools/dashboard.ts). The dashboard has no API of its own: it uses the public REST
 * API with the session cookie, and its page `/talk`, which needs no login, with an API key.
 */

import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { RealtimeDeps } from '../telephony/realtime/livekit.ts'
import { NONCE_PLACE, PERMISSIONS, pagePolicy } from './policy.ts'

const HTML = 'text/html; charset=utf-8'
const NOT_BUILT =
  '<!doctype html><title>Parley</title><p>The dashboard is not built. Run <code>npm start</code> to build it.</p>'

export async function dashboardRoutes(
  app: FastifyInstance,
  deps: Pick<RealtimeDeps, 'livekit' | 'config'>,
): Promise<void> {
  const folder = deps.config.dashboard_folder
  const index = join(folder, 'index.html')
  const page = existsSync(index) ? readFileSync(index, 'utf8') : null
  if (page !== null) {
    await app.register(fastifyStatic, {
      root: join(folder, 'assets'),
      prefix: '/dashboard/assets/',
      decorateReply: false,
      index: false,
      preCompressed: true,
      schemaHide: true,
      // File names contain a hash of the content.
      immutable: true,
      maxAge: '365d',
    })
  }
  const show = async (_: unknown, reply: FastifyReply) => {
    reply.type(HTML).header('Cache-Control', 'no-store')
    if (page === null) return reply.code(503).send(NOT_BUILT)
    const nonce = randomBytes(16).toString('base64url')
    reply.header('Content-Security-Policy', pagePolicy({ livekitUrl: deps.livekit?.publicUrl ?? null, nonce }))
    reply.header('Permissions-Policy', PERMISSIONS)
    return reply.send(page.replaceAll(NONCE_PLACE, nonce))
  }
  app.get('/dashboard', { schema: { hide: true } }, show)
  // The page routes these paths in the browser, so all of them return the same document.
  app.get('/dashboard/*', { schema: { hide: true } }, show)
  app.get('/talk', { schema: { hide: true } }, show)
}
