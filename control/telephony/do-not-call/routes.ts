import type { FastifyInstance } from 'fastify'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { listOf } from '../../platform/http/paging.ts'
import { notFound } from '../../platform/http/problem.ts'
import { route } from '../../platform/http/route.ts'
import { deleted } from '../../platform/http/shapes.ts'
import { toE164 } from '../../platform/phone.ts'
import { DoNotCallFilters, DoNotCallInput, DoNotCallPath, DoNotCallView } from './schema.ts'
import {
  type DoNotCallRow,
  deleteDoNotCall,
  insertDoNotCall,
  listDoNotCall,
  selectDoNotCall,
  totalDoNotCall,
} from './sql.ts'

const tag = 'Do-not-call'

const present = ({ created_at, ...row }: DoNotCallRow) => ({ ...row, created_at: created_at.toISOString() })

export function doNotCallRoutes(app: FastifyInstance, deps: Deps): void {
  const { sql } = deps
  route(app, deps, {
    id: 'list_do_not_call',
    method: 'GET',
    path: '/do-not-call',
    scope: 'read',
    tag,
    summary: 'List do-not-call entries, newest first',
    query: DoNotCallFilters,
    answer: listOf(DoNotCallView),
    async handle({ ownerId, query }) {
      const [rows, total] = await Promise.all([listDoNotCall(sql, ownerId, query), totalDoNotCall(sql, ownerId, query)])
      return { items: rows.map(present), total, limit: query.limit, offset: query.offset }
    },
  })
  route(app, deps, {
    id: 'add_do_not_call',
    method: 'POST',
    path: '/do-not-call',
    scope: 'write',
    tag,
    summary: 'Add a number to the do-not-call list; an existing entry is unchanged',
    description:
      'All calls to the number are blocked from now on. Agents automatically add callers who ask not to be called.',
    body: DoNotCallInput,
    status: 201,
    answer: DoNotCallView,
    handle: ({ ownerId, body, save }) =>
      sql.begin(async tx => {
        const row = { phone: body.phone, source: 'api' as const, note: body.note ?? null, created_at: wallDate(deps) }
        await insertDoNotCall(tx, ownerId, row)
        const answer = present((await selectDoNotCall(tx, ownerId, body.phone))!)
        await save(tx, answer)
        return answer
      }),
  })
  route(app, deps, {
    id: 'remove_do_not_call',
    method: 'DELETE',
    path: '/do-not-call/:phone',
    scope: 'write',
    tag,
    summary: 'Remove a number from the do-not-call list',
    description: 'Make sure that the subscriber has agreed to be called.',
    params: DoNotCallPath,
    answer: deleted,
    errors: ['not_found'],
    async handle({ ownerId, params }) {
      const phone = toE164(params.phone)
      if (!phone || !(await deleteDoNotCall(sql, ownerId, phone))) throw notFound()
      return { id: phone, deleted: true as const }
    },
  })
}
