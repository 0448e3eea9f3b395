import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Deps } from '../../platform/deps.ts'
import { listOf, paging } from '../../platform/http/paging.ts'
import { deletionRoute, route } from '../../platform/http/route.ts'
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
    summary: 'List SIP trunks',
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
    summary: 'Create a SIP trunk with its numbers',
    description:
      'Name, mode and host are enough for a PBX that accepts our address. Most carriers require `register` with user name and password.',
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
    summary: 'Retrieve a SIP trunk with its registration status',
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
    summary: 'Update a SIP trunk; numbers missing from `numbers` are unbound and deleted',
    description:
      'The trunk registers again with the new settings. Omitted fields, including the password, keep their values.',
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
    summary: 'Check a SIP trunk and diagnose problems',
    description:
      'Resolves and connects to the hosts, verifies their certificates, sends OPTIONS to each, and tests user name and password with REGISTER. It places no calls and changes no registration. It takes up to 15 seconds. `diagnosis` gives the cause in plain words; `messages` and `ladder` show the evidence.',
    params: TrunkPath,
    answer: TrunkCheck,
    errors: ['not_found'],
    handle: ({ ownerId, params }) => checkTrunk(deps, ownerId, params.trunk_id),
  })
  deletionRoute(app, deps, {
    id: 'delete_trunk',
    path: '/trunks/:trunk_id',
    scope: 'write',
    tag,
    summary: 'Delete a SIP trunk and its numbers',
    params: TrunkPath,
    remove: ({ ownerId, params }) => removeTrunk(deps, ownerId, params.trunk_id),
  })
}
