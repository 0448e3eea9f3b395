import type { FastifyInstance } from 'fastify'
import type { Deps } from '../../platform/deps.ts'
import { route } from '../../platform/http/route.ts'
import { RetentionPatch, RetentionView } from './schema.ts'
import { getRetention, patchRetention } from './service.ts'

export function retentionRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    id: 'get_retention',
    method: 'GET',
    path: '/retention',
    scope: 'read',
    tag: 'Account',
    summary: 'How long what is personal of calls is kept',
    answer: RetentionView,
    handle: ({ ownerId }) => getRetention(deps, ownerId),
  })
  route(app, deps, {
    id: 'update_retention',
    method: 'PATCH',
    path: '/retention',
    scope: 'session',
    notATool: 'What it deletes is gone for good, so a key in the wrong hands must not set it.',
    tag: 'Account',
    summary: 'Set how long what is personal of calls is kept; what is left out stays',
    description:
      'Days from the making of a call on. A sweep within the hour, and then once a day, deletes what is older, for good. Cost, duration and status of a call stay, and so do the entries of the balance. Contacts and campaigns are not touched.',
    body: RetentionPatch,
    answer: RetentionView,
    handle: ({ ownerId, body }) => patchRetention(deps, ownerId, body),
  })
}
