import type { FastifyInstance } from 'fastify'
import type { Deps } from '../../platform/deps.ts'
import { route } from '../../platform/http/route.ts'
import { AuditFilters, AuditPage } from './schema.ts'
import { listAuditEntries } from './service.ts'

export function auditRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    id: 'get_audit',
    method: 'GET',
    path: '/audit',
    scope: 'read',
    tag: 'Account',
    summary: 'List audit log entries, most recent first',
    description:
      'The log has every operation that can change data, made over REST, MCP, the dashboard or by the operator, and every log-in and password change. It holds no request bodies. An entry is written before the operation runs, gets its outcome once, and is kept for a year.',
    query: AuditFilters,
    answer: AuditPage,
    handle: ({ ownerId, query }) => listAuditEntries(deps, ownerId, query),
  })
}
