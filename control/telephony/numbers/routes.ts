import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { ProjectPath } from '../../agents/projects/schema.ts'
import type { Deps } from '../../platform/deps.ts'
import { listOf, paging } from '../../platform/http/paging.ts'
import { route } from '../../platform/http/route.ts'
import { deleted } from '../../platform/http/shapes.ts'
import { BindInput, NumberPath, NumberView, UnbindQuery } from './schema.ts'
import { bindNumber, presentNumber, unbindNumber } from './service.ts'
import { countNumbers, selectNumbers } from './sql.ts'

const tag = 'Numbers'

export function numberRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    id: 'list_numbers',
    method: 'GET',
    path: '/numbers',
    scope: 'read',
    tag,
    summary: 'List the numbers of all trunks with their bindings',
    description: 'Numbers belong to trunks. Add them to a trunk with `create_trunk` or `update_trunk`.',
    query: z.strictObject(paging),
    answer: listOf(NumberView),
    async handle({ ownerId, caller: { projects }, query }) {
      const [rows, total] = await Promise.all([
        selectNumbers(deps.sql, ownerId, query, projects),
        countNumbers(deps.sql, ownerId, projects),
      ])
      return { items: rows.map(presentNumber), total, limit: query.limit, offset: query.offset }
    },
  })
  route(app, deps, {
    id: 'bind_number',
    method: 'POST',
    path: '/projects/:project_id/numbers',
    scope: 'write',
    tag,
    summary: 'Bind a number to a project',
    description:
      'A number can be bound to one project in each direction. `out`: the project calls from the number. `in`: the project answers calls to it.',
    params: ProjectPath,
    body: BindInput,
    answer: NumberView,
    errors: ['not_found', 'number_bound'],
    handle: ({ ownerId, caller, params, body, save }) =>
      bindNumber(deps, ownerId, params.project_id, body, save, caller.projects),
  })
  route(app, deps, {
    id: 'unbind_number',
    method: 'DELETE',
    path: '/projects/:project_id/numbers/:number',
    scope: 'write',
    tag,
    summary: 'Unbind a number from a project',
    description: 'Calls in progress continue.',
    params: NumberPath,
    query: UnbindQuery,
    answer: deleted,
    errors: ['not_found'],
    async handle({ ownerId, params, query }) {
      const id = await unbindNumber(deps, ownerId, params.project_id, params.number, query.direction)
      return { id, deleted: true as const }
    },
  })
}
