/**
 * Webhook in which LiveKit reports joins and leaves. A hint: it triggers a reconciliation, and a sweep works without
 * it.
 */

import type { FastifyInstance } from 'fastify'
import { Problem } from '../../platform/http/problem.ts'
import { takeToken } from '../../platform/http/rate-limit.ts'
import type { RealtimeDeps } from './livekit.ts'
import { reconcileSoon } from './reconcile.ts'

const WORTH_A_LOOK = ['participant_joined', 'participant_left', 'participant_connection_aborted']

export async function livekitWebhook(app: FastifyInstance, deps: RealtimeDeps): Promise<void> {
  await app.register(async scope => {
    // The signature covers the bytes, so no other parser may read them first.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('application/webhook+json', { parseAs: 'string' }, (_, body, done) => done(null, body))
    scope.post('/livekit/webhook', { schema: { hide: true } }, async (request, reply) => {
      if (!deps.livekit) throw new Problem('route_not_found')
      const body = typeof request.body === 'string' ? request.body : ''
      const news = await deps.livekit.readWebhook(body, request.headers.authorization)
      if (!news) {
        await takeToken(deps, reply, 'address', request.ip)
        throw new Problem('unauthorized', { detail: 'The signature does not match the configured LiveKit server.' })
      }
      if (news.room !== null && WORTH_A_LOOK.includes(news.event)) reconcileSoon(deps, news.room)
      return {}
    })
  })
}
