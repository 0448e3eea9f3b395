import type { FastifyInstance } from 'fastify'
import { knowledgeParts } from '../../knowledge/parts.ts'
import { FileBody } from '../../knowledge/schema.ts'
import { acceptUploads, assertForm, receiveUpload } from '../../knowledge/upload.ts'
import { listOf } from '../../platform/http/paging.ts'
import { deletionRoute, route } from '../../platform/http/route.ts'
import { addDirectory, getDirectory, listDirectories, patchDirectory, removeDirectory } from './directories.ts'
import type { LeadDeps } from './parts.ts'
import { DirectoryFilters, DirectoryMade, DirectoryPatch, DirectoryPath, DirectoryView } from './schema.ts'

export async function directoryRoutes(app: FastifyInstance, deps: LeadDeps, tag: string): Promise<void> {
  route(app, deps, {
    id: 'list_lead_directories',
    method: 'GET',
    path: '/lead-search/directories',
    scope: 'read',
    tag,
    summary: 'List your directories of companies, newest first',
    query: DirectoryFilters,
    answer: listOf(DirectoryView),
    handle: ({ ownerId, query }) => listDirectories(deps, ownerId, query),
  })
  await app.register(async scope => uploadRoute(scope, deps, tag))
  route(app, deps, {
    id: 'get_lead_directory',
    method: 'GET',
    path: '/lead-search/directories/:directory_id',
    scope: 'read',
    tag,
    summary: 'Retrieve a directory',
    params: DirectoryPath,
    answer: DirectoryView,
    errors: ['not_found'],
    handle: ({ ownerId, params }) => getDirectory(deps, ownerId, params.directory_id),
  })
  route(app, deps, {
    id: 'update_lead_directory',
    method: 'PATCH',
    path: '/lead-search/directories/:directory_id',
    scope: 'write',
    tag,
    summary: 'Rename a directory',
    params: DirectoryPath,
    body: DirectoryPatch,
    answer: DirectoryView,
    errors: ['not_found'],
    handle: ({ ownerId, params, body }) => patchDirectory(deps, ownerId, params.directory_id, body.name),
  })
  deletionRoute(app, deps, {
    id: 'delete_lead_directory',
    path: '/lead-search/directories/:directory_id',
    scope: 'write',
    tag,
    summary: 'Delete a directory; leads found in it are kept',
    params: DirectoryPath,
    remove: ({ ownerId, params }) => removeDirectory(deps, ownerId, params.directory_id),
  })
}

async function uploadRoute(app: FastifyInstance, deps: LeadDeps, tag: string): Promise<void> {
  await acceptUploads(app)
  route(app, deps, {
    id: 'add_lead_directory',
    method: 'POST',
    path: '/lead-search/directories',
    scope: 'write',
    tag,
    summary: 'Upload a directory of companies',
    description:
      'Send one CSV file as multipart/form-data, up to 20 MB and 50,000 rows. The first row names the columns, in English or Russian: the company, and its phone, e-mail or website; optionally address, city, category, lat and lon. Rows without a company or any of phone, e-mail and website are listed in `invalid` and do not affect other rows. A rejected file gives `validation_failed` with one of these codes in `errors`: `no_file`, `too_many_files`, `empty`, `too_large`, `too_many_rows`, `not_text`, `no_header`, `damaged`, `unknown_field`, `malformed_multipart`.',
    body: FileBody,
    consumes: ['multipart/form-data'],
    status: 201,
    answer: DirectoryMade,
    errors: ['limit_reached', 'service_unavailable'],
    notATool: 'Files are sent as multipart/form-data, and tools take JSON.',
    async receive(request) {
      const { temp } = knowledgeParts(deps)
      assertForm(request)
      const body = await receiveUpload(request, temp)
      return { body, discard: () => body.discard() }
    },
    handle: ({ ownerId, body, save }) => addDirectory(deps, ownerId, body, save),
  })
}
