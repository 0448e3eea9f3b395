import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Deps } from '../../platform/deps.ts'
import { paging } from '../../platform/http/paging.ts'
import { notFound } from '../../platform/http/problem.ts'
import { deletionRoute, route } from '../../platform/http/route.ts'
import { KeyCreated, KeyInput, KeyList, KeyPath } from './schema.ts'
import { assertOwnProjects, createKey, futureDate, listKeys, revoke } from './service.ts'

const tag = 'Keys'
const notATool = 'A key must not create, list or revoke keys: the thief of a key could never be locked out.'

export function keyRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    id: 'list_keys',
    method: 'GET',
    path: '/keys',
    scope: 'session',
    tag,
    summary: 'List API keys, including revoked ones',
    description: 'The value of a key is shown only once, when it is created. Use the prefix to tell keys apart.',
    notATool,
    query: z.strictObject(paging),
    answer: KeyList,
    handle: ({ ownerId, query }) => listKeys(deps, ownerId, query),
  })
  route(app, deps, {
    id: 'create_key',
    method: 'POST',
    path: '/keys',
    scope: 'session',
    tag,
    summary: 'Create an API key',
    description:
      'The response contains the value of the key; it is never shown again. Grant only the scopes that the program needs: `read`, or `write` for operations that change, launch or cost anything. Limit it to `addresses` and `project_ids` where you can.',
    notATool,
    body: KeyInput,
    status: 201,
    answer: KeyCreated,
    secret: 'value',
    async handle({ ownerId, caller, body, save }) {
      const { name, scopes, addresses = null, project_ids = null } = body
      const person_id = caller.personId === ownerId ? null : caller.personId
      const expires_at = futureDate(deps, body.expires_at)
      await assertOwnProjects(deps, ownerId, project_ids)
      return createKey(deps, ownerId, { name, scopes, person_id, expires_at, addresses, project_ids }, save)
    },
  })
  deletionRoute(app, deps, {
    id: 'revoke_key',
    path: '/keys/:key_id',
    scope: 'session',
    tag,
    summary: 'Revoke an API key; it stops working everywhere within 5 seconds',
    description: 'A developer may revoke the keys that the developer created; owners and admins may revoke all.',
    notATool,
    params: KeyPath,
    async remove({ ownerId, caller, params }) {
      const creator = caller.role === 'developer' ? caller.personId : undefined
      if (!(await revoke(deps, ownerId, params.key_id, creator))) throw notFound()
    },
  })
}
