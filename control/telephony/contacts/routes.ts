import type { FastifyInstance } from 'fastify'
import type { Deps } from '../../platform/deps.ts'
import { listOf } from '../../platform/http/paging.ts'
import { route } from '../../platform/http/route.ts'
import { deleted } from '../../platform/http/shapes.ts'
import { ContactFilters, ContactPatch, ContactPath, ContactView } from './schema.ts'
import { getContact, listContacts, patchContact, removeContact } from './service.ts'

const tag = 'Contacts'

export function contactRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    id: 'list_contacts',
    method: 'GET',
    path: '/contacts',
    scope: 'read',
    tag,
    summary: 'Contacts, newest first',
    description: 'Whoever was called or has called is a contact. `q` looks in names, numbers, notes and tags.',
    query: ContactFilters,
    answer: listOf(ContactView),
    handle: ({ ownerId, query }) => listContacts(deps, ownerId, query),
  })
  route(app, deps, {
    id: 'get_contact',
    method: 'GET',
    path: '/contacts/:contact_id',
    scope: 'read',
    tag,
    summary: 'One contact',
    params: ContactPath,
    answer: ContactView,
    errors: ['not_found'],
    handle: ({ ownerId, params }) => getContact(deps, ownerId, params.contact_id),
  })
  route(app, deps, {
    id: 'update_contact',
    method: 'PATCH',
    path: '/contacts/:contact_id',
    scope: 'write',
    tag,
    summary: 'Edit a contact; what is left out stays',
    description: '`tags` replaces the whole list; an empty text clears name, notes or lead status.',
    params: ContactPath,
    body: ContactPatch,
    answer: ContactView,
    errors: ['not_found'],
    handle: ({ ownerId, params, body }) => patchContact(deps, ownerId, params.contact_id, body),
  })
  route(app, deps, {
    id: 'delete_contact',
    method: 'DELETE',
    path: '/contacts/:contact_id',
    scope: 'write',
    tag,
    summary: 'Delete a contact',
    description:
      'Calls with the number stay, and so do campaigns and leads that have it; the next call makes a new contact. To forget the person everywhere: `POST /erasure`.',
    params: ContactPath,
    answer: deleted,
    errors: ['not_found'],
    async handle({ ownerId, params }) {
      await removeContact(deps, ownerId, params.contact_id)
      return { id: params.contact_id, deleted: true as const }
    },
  })
}
