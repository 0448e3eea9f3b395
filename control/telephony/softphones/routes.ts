import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Deps } from '../../platform/deps.ts'
import { listOf, paging } from '../../platform/http/paging.ts'
import { deletionRoute, route } from '../../platform/http/route.ts'
import { SoftphoneCreate, SoftphoneCreated, SoftphonePatch, SoftphonePath, SoftphoneView } from './schema.ts'
import {
  createSoftphone,
  getSoftphone,
  listSoftphones,
  patchSoftphone,
  removeSoftphone,
  renewPassword,
} from './service.ts'

const tag = 'Softphones'

export function softphoneRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    id: 'list_softphones',
    method: 'GET',
    path: '/softphones',
    scope: 'read',
    tag,
    summary: 'List softphones with their registrations',
    query: z.strictObject(paging),
    answer: listOf(SoftphoneView),
    handle: ({ ownerId, query }) => listSoftphones(deps, ownerId, query),
  })
  route(app, deps, {
    id: 'create_softphone',
    method: 'POST',
    path: '/softphones',
    scope: 'write',
    tag,
    summary: 'Create a softphone: a user name and password for a SIP phone',
    description:
      'Use it with Linphone, baresip or a desk phone. After it registers, it can dial `agent`, the name of a project, or a number bound to a project; other numbers are not reachable. The response contains the password; it is never shown again.',
    body: SoftphoneCreate,
    status: 201,
    answer: SoftphoneCreated,
    secret: 'password',
    errors: ['limit_reached', 'not_found'],
    handle: ({ ownerId, body, save }) => createSoftphone(deps, ownerId, body, save),
  })
  oneSoftphoneRoutes(app, deps)
}

function oneSoftphoneRoutes(app: FastifyInstance, deps: Deps): void {
  const path = '/softphones/:softphone_id'
  route(app, deps, {
    id: 'get_softphone',
    method: 'GET',
    path,
    scope: 'read',
    tag,
    summary: 'Retrieve a softphone with its registrations',
    params: SoftphonePath,
    answer: SoftphoneView,
    errors: ['not_found'],
    handle: ({ ownerId, params }) => getSoftphone(deps, ownerId, params.softphone_id),
  })
  route(app, deps, {
    id: 'update_softphone',
    method: 'PATCH',
    path,
    scope: 'write',
    tag,
    summary: 'Update the name or the agent of a softphone',
    params: SoftphonePath,
    body: SoftphonePatch,
    answer: SoftphoneView,
    errors: ['not_found'],
    handle: ({ ownerId, params, body }) => patchSoftphone(deps, ownerId, params.softphone_id, body),
  })
  route(app, deps, {
    id: 'renew_softphone_password',
    method: 'POST',
    path: `${path}/password`,
    scope: 'write',
    tag,
    summary: 'Create a new password for a softphone',
    description: 'The old password stops working at once, and phones registered with it no longer receive calls.',
    params: SoftphonePath,
    answer: SoftphoneCreated,
    secret: 'password',
    errors: ['not_found'],
    handle: ({ ownerId, params, save }) => renewPassword(deps, ownerId, params.softphone_id, save),
  })
  deletionRoute(app, deps, {
    id: 'delete_softphone',
    path,
    scope: 'write',
    tag,
    summary: 'Delete a softphone',
    params: SoftphonePath,
    remove: ({ ownerId, params }) => removeSoftphone(deps, ownerId, params.softphone_id),
  })
}
