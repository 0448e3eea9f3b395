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
    summary: 'Retrieve the retention of personal call data',
    answer: RetentionView,
    handle: ({ ownerId }) => getRetention(deps, ownerId),
  })
  route(app, deps, {
    id: 'update_retention',
    method: 'PATCH',
    path: '/retention',
    scope: 'session',
    notATool: 'Deletion cannot be undone, so a stolen key must not be able to set it.',
    tag: 'Account',
    summary: 'Set the retention of personal call data',
    description:
      'Days are counted from the creation of a call. Omitted fields keep their values. A sweep permanently deletes older data, first within an hour and then once a day. Cost, duration and status of calls are kept, and so are ledger entries. Contacts and campaigns are not affected.',
    body: RetentionPatch,
    answer: RetentionView,
    handle: ({ ownerId, body }) => patchRetention(deps, ownerId, body),
  })
}
