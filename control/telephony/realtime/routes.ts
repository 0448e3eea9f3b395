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
    summary: 'Open a voice dialogue for an app or a page',
    description:
      'Answers with the address and the token by which any LiveKit client SDK joins; call this on your server and give the client only these. The agent comes when the client does and leaves when it leaves: a session that nobody uses costs and holds nothing. Each join within the hour, also with the same token, is a dialogue of its own: a call with `direction` `web`, billed by the second at the web share of the minute price. What stands against a call is looked at again at the join; who is refused then is told by the participant attribute `parley.problem` (a code of this API, or `session_expired`), and who stays after the end by `parley.ended` (an `ended_reason`).',
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
      'too_many_calls',
      'moderation_rejected',
      'realtime_unavailable',
      'no_capacity',
    ],
    handle: ({ ownerId, body, save }) => createSession(deps, ownerId, body, save),
  })
}
