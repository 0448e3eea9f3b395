import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Deps } from '../../platform/deps.ts'
import { listOf, paging } from '../../platform/http/paging.ts'
import { route } from '../../platform/http/route.ts'
import { deleted } from '../../platform/http/shapes.ts'
import { checkTrunk, TrunkCheck } from './check.ts'
import { TrunkCreate, TrunkPatch, TrunkPath, TrunkView } from './schema.ts'
import { createTrunk, getTrunk, patchTrunk, presentTrunk, removeTrunk } from './service.ts'
import { countTrunks, selectTrunks } from './sql.ts'

const tag = 'Trunks'

export function trunkRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    id: 'list_trunks',
    method: 'GET',
    path: '/trunks',
    scope: 'read',
    tag,
    summary: 'SIP trunks',
    query: z.strictObject(paging),
    answer: listOf(TrunkView),
    async handle({ ownerId, query }) {
      const [rows, total] = await Promise.all([selectTrunks(deps.sql, ownerId, query), countTrunks(deps.sql, ownerId)])
      return { items: rows.map(presentTrunk), total, limit: query.limit, offset: query.offset }
    },
  })
  route(app, deps, {
    id: 'create_trunk',
    method: 'POST',
    path: '/trunks',
    scope: 'write',
    tag,
    summary: 'Add a SIP trunk with its numbers',
    description:
      'Name, mode and host are enough for a PBX that knows our address; carriers mostly want `register` with user name and password.',
    body: TrunkCreate,
    status: 201,
    answer: TrunkView,
    errors: ['limit_reached'],
    handle: ({ ownerId, body, save }) => createTrunk(deps, ownerId, body, save),
  })
  oneTrunkRoutes(app, deps)
}

function oneTrunkRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    id: 'get_trunk',
    method: 'GET',
    path: '/trunks/:trunk_id',
    scope: 'read',
    tag,
    summary: 'One SIP trunk and how its registration is',
    params: TrunkPath,
    answer: TrunkView,
    errors: ['not_found'],
    handle: ({ ownerId, params }) => getTrunk(deps, ownerId, params.trunk_id),
  })
  route(app, deps, {
    id: 'update_trunk',
    method: 'PATCH',
    path: '/trunks/:trunk_id',
    scope: 'write',
    tag,
    summary: 'Change a SIP trunk; numbers no longer named are unbound and removed',
    description: 'Registers anew with what has changed. A password that is left out stays.',
    params: TrunkPath,
    body: TrunkPatch,
    answer: TrunkView,
    errors: ['not_found'],
    handle: ({ ownerId, params, body }) => patchTrunk(deps, ownerId, params.trunk_id, body),
  })
  route(app, deps, {
    id: 'check_trunk',
    method: 'POST',
    path: '/trunks/:trunk_id/check',
    scope: 'write',
    tag,
    summary: 'Examine a SIP trunk now, and say what is wrong with it',
    description:
      'Looks up its hosts, connects to them, judges their certificates, asks each by OPTIONS, and tries user name and password by REGISTER. Nobody is rung, and no registration is changed. Takes up to 15 seconds. `diagnosis` names the cause in plain words, `messages` and `ladder` show it.',
    params: TrunkPath,
    answer: TrunkCheck,
    errors: ['not_found'],
    handle: ({ ownerId, params }) => checkTrunk(deps, ownerId, params.trunk_id),
  })
  route(app, deps, {
    id: 'delete_trunk',
    method: 'DELETE',
    path: '/trunks/:trunk_id',
    scope: 'write',
    tag,
    summary: 'Remove a SIP trunk and its numbers',
    params: TrunkPath,
    answer: deleted,
    errors: ['not_found'],
    async handle({ ownerId, params }) {
      await removeTrunk(deps, ownerId, params.trunk_id)
      return { id: params.trunk_id, deleted: true as const }
    },
  })
}
