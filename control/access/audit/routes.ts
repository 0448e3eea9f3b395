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
    summary: 'Who did what in the account, the latest first',
    description:
      'Every operation that may change something, by REST, MCP, the dashboard and the operator, with log-ins and changes of the password. No bodies. An entry is written before the operation begins, never changed, and kept for a year.',
    query: AuditFilters,
    answer: AuditPage,
    handle: ({ ownerId, query }) => listAuditEntries(deps, ownerId, query),
  })
}
