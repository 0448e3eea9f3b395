/** Lists the log-in sessions of the person, and ends one of them. */
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Deps } from '../../platform/deps.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { paging } from '../../platform/http/paging.ts'
import { notFound } from '../../platform/http/problem.ts'
import { deletionRoute, route } from '../../platform/http/route.ts'
import { LoginSessionList, LoginSessionPath } from './schema.ts'
import { endSessions, listSessions, whoseOf } from './sessions.ts'

const personOf = ({ ownerId, personId }: Caller) => whoseOf({ id: personId, owner_id: ownerId })

const tag = 'Accounts'
const notATool = 'A key has no session, and must not end those of people.'

export function sessionRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    id: 'list_sessions',
    method: 'GET',
    path: '/sessions',
    scope: 'session',
    tag,
    summary: 'List your log-in sessions, most recently used first',
    description: 'Each session shows its device, the address of its last use, and when that was.',
    notATool,
    query: z.strictObject(paging),
    answer: LoginSessionList,
    handle: ({ caller, query }) => listSessions(deps, personOf(caller), caller.sessionId, query),
  })
  deletionRoute(app, deps, {
    id: 'end_session',
    path: '/sessions/:session_id',
    scope: 'session',
    tag,
    summary: 'End one of your log-in sessions; it stops working everywhere within 5 seconds',
    notATool,
    params: LoginSessionPath,
    async remove({ caller, params }) {
      if ((await endSessions(deps, personOf(caller), { only: params.session_id })) === 0) throw notFound()
    },
  })
}
