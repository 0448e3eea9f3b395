import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Deps } from '../../platform/deps.ts'
import { paging } from '../../platform/http/paging.ts'
import { notFound } from '../../platform/http/problem.ts'
import { route } from '../../platform/http/route.ts'
import { deleted } from '../../platform/http/shapes.ts'
import { KeyCreated, KeyInput, KeyList, KeyPath } from './schema.ts'
import { createKey, futureDate, listKeys, revoke } from './service.ts'

const tag = 'Keys'
const notATool = 'A key must not make, see or revoke keys: whoever stole one could never be locked out.'

export function keyRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    id: 'list_keys',
    method: 'GET',
    path: '/keys',
    scope: 'session',
    tag,
    summary: 'API keys, the revoked ones too',
    description: 'Values are never shown again; the prefix tells which is which.',
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
    summary: 'New API key; its value is shown this once',
    description: 'Give a program only the scopes it needs: `read`, or `write` for whatever changes, launches or costs.',
    notATool,
    body: KeyInput,
    status: 201,
    answer: KeyCreated,
    secret: 'value',
    async handle({ ownerId, body, save }) {
      const { name, scopes } = body
      return createKey(deps, ownerId, { name, scopes, expires_at: futureDate(deps, body.expires_at) }, save)
    },
  })
  route(app, deps, {
    id: 'revoke_key',
    method: 'DELETE',
    path: '/keys/:key_id',
    scope: 'session',
    tag,
    summary: 'Revoke an API key; it is refused everywhere within 5 seconds',
    notATool,
    params: KeyPath,
    answer: deleted,
    errors: ['not_found'],
    async handle({ ownerId, params }) {
      if (!(await revoke(deps, ownerId, params.key_id))) throw notFound()
      return { id: params.key_id, deleted: true as const }
    },
  })
}
