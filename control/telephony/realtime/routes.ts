import type { FastifyInstance } from 'fastify'
import { route } from '../../platform/http/route.ts'
import type { RealtimeDeps } from './livekit.ts'
import { SessionInput, SessionView } from './schema.ts'
import { createSession } from './service.ts'

export function realtimeRoutes(app: FastifyInstance, deps: RealtimeDeps): void {
  route(app, deps, {
    id: 'create_realtime_session',
    method: 'POST',
    path: '/realtime/session',
    scope: 'write',
    tag: 'Realtime',
    summary: 'Create a realtime voice session for an app or a web page',
    description:
      'Returns the URL and the token with which any LiveKit client SDK can join. Call this operation on your server, and pass only the URL and the token to the client. The agent joins and leaves with the client: an unused session costs and holds nothing. Each join within an hour, also with the same token, is a separate call with `direction` `web`, billed per second at the web share of the minute price. The conditions of a call are checked again at the join. A rejected client gets the participant attribute `parley.problem` (a code of this API, or `session_expired`); a client that stays after the end gets `parley.ended` (an `ended_reason`).',
    body: SessionInput,
    status: 201,
    answer: SessionView,
    secret: 'token',
    errors: [
      'not_found',
      'project_not_ready',
      'subscription_inactive',
      'insufficient_balance',
      'daily_limit_reached',
      'calls_stopped',
      'too_many_calls',
      'moderation_rejected',
      'realtime_unavailable',
      'no_capacity',
    ],
    handle: ({ ownerId, body, save }) => createSession(deps, ownerId, body, save),
  })
}
