import type { FastifyInstance } from 'fastify'
import type { Deps } from '../../platform/deps.ts'
import { listOf } from '../../platform/http/paging.ts'
import { deletionRoute, route } from '../../platform/http/route.ts'
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
    summary: 'List contacts, newest first',
    description: 'Everyone who has called or was called is a contact. `q` searches names, numbers, notes and tags.',
    query: ContactFilters,
    answer: listOf(ContactView),
    handle: ({ ownerId, caller, query }) => listContacts(deps, ownerId, query, caller.projects),
  })
  route(app, deps, {
    id: 'get_contact',
    method: 'GET',
    path: '/contacts/:contact_id',
    scope: 'read',
    tag,
    summary: 'Retrieve a contact',
    params: ContactPath,
    answer: ContactView,
    errors: ['not_found'],
    handle: ({ ownerId, caller, params }) => getContact(deps, ownerId, params.contact_id, caller.projects),
  })
  route(app, deps, {
    id: 'update_contact',
    method: 'PATCH',
    path: '/contacts/:contact_id',
    scope: 'write',
    tag,
    summary: 'Update a contact',
    description:
      'Omitted fields keep their values. `tags` replaces the whole list. An empty string clears name, notes or lead status.',
    params: ContactPath,
    body: ContactPatch,
    answer: ContactView,
    errors: ['not_found'],
    handle: ({ ownerId, params, body }) => patchContact(deps, ownerId, params.contact_id, body),
  })
  deletionRoute(app, deps, {
    id: 'delete_contact',
    path: '/contacts/:contact_id',
    scope: 'write',
    tag,
    summary: 'Delete a contact',
    description:
      'Calls, campaigns and leads with the number are kept; the next call creates a new contact. To erase the personal data of the person everywhere, use `POST /erasure`.',
    params: ContactPath,
    remove: ({ ownerId, params }) => removeContact(deps, ownerId, params.contact_id),
  })
}
