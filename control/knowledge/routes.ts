import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { ProjectPath } from '../agents/projects/schema.ts'
import { selectProject } from '../agents/projects/sql.ts'
import { listOf, paging } from '../platform/http/paging.ts'
import { notFound } from '../platform/http/problem.ts'
import { deletionRoute, route } from '../platform/http/route.ts'
import { type KnowledgeDeps, knowledgeParts } from './parts.ts'
import { FileBody, SearchAnswer, SearchInput, SourceInput, SourcePath, SourceView } from './schema.ts'
import { searchProject } from './search.ts'
import { addFile, addSource, presentSource, removeSource } from './service.ts'
import { countSources, selectSources } from './sql.ts'
import { acceptUploads, assertForm, receiveUpload } from './upload.ts'

const tag = 'Knowledge'

export async function knowledgeRoutes(app: FastifyInstance, deps: KnowledgeDeps): Promise<void> {
  route(app, deps, {
    id: 'list_knowledge',
    method: 'GET',
    path: '/projects/:project_id/knowledge',
    scope: 'read',
    tag,
    summary: 'List the knowledge sources of a project',
    params: ProjectPath,
    query: z.strictObject(paging),
    answer: listOf(SourceView),
    errors: ['not_found'],
    async handle({ ownerId, params: { project_id }, query }) {
      await assertProject(deps, ownerId, project_id)
      const [rows, total] = await Promise.all([
        selectSources(deps.sql, ownerId, project_id, query),
        countSources(deps.sql, ownerId, project_id),
      ])
      return { items: rows.map(presentSource), total, limit: query.limit, offset: query.offset }
    },
  })
  route(app, deps, {
    id: 'add_knowledge',
    method: 'POST',
    path: '/projects/:project_id/knowledge',
    scope: 'write',
    tag,
    summary: 'Add a text, a page or a whole site',
    description:
      'The source is indexed in the background; `list_knowledge` shows its `status`. The same content again returns the ' +
      'existing source, and retries it if it has an error. Crawling follows the robots.txt of the site.',
    params: ProjectPath,
    body: SourceInput,
    status: 201,
    answer: SourceView,
    errors: ['not_found', 'limit_reached'],
    handle: async ({ ownerId, params, body, save }) =>
      presentSource(await addSource(deps, ownerId, params.project_id, body, save)),
  })
  await app.register(async scope => fileRoute(scope, deps))
  deletionRoute(app, deps, {
    id: 'delete_knowledge',
    path: '/projects/:project_id/knowledge/:source_id',
    scope: 'write',
    tag,
    summary: 'Delete a source and its index',
    params: SourcePath,
    remove: ({ ownerId, params: { project_id, source_id } }) => removeSource(deps, ownerId, project_id, source_id),
  })
  route(app, deps, {
    id: 'search_knowledge',
    method: 'POST',
    path: '/projects/:project_id/knowledge/search',
    scope: 'read',
    tag,
    summary: 'Search the knowledge of a project as the agent does in a call',
    description: 'Returns the passages that the agent would get, best first. Searches only sources that are `ready`.',
    params: ProjectPath,
    body: SearchInput,
    answer: SearchAnswer,
    errors: ['not_found'],
    async handle({ ownerId, params: { project_id }, body }) {
      await assertProject(deps, ownerId, project_id)
      return { items: await searchProject(deps, { ownerId, projectId: project_id, ...body }) }
    },
  })
}

async function fileRoute(app: FastifyInstance, deps: KnowledgeDeps): Promise<void> {
  await acceptUploads(app)
  route(app, deps, {
    id: 'add_knowledge_file',
    method: 'POST',
    path: '/projects/:project_id/knowledge/file',
    scope: 'write',
    tag,
    summary: 'Add a file',
    description:
      'Send one file as multipart/form-data: txt, md, csv, json or html up to 5 MB, PDF or DOCX up to 20 MB. Its type is ' +
      'detected by content. A rejected file gives `validation_failed` with one of these codes in `errors`: `no_file`, `too_many_files`, ' +
      '`empty`, `encrypted`, `unsupported_type`, `content_mismatch`, `too_large`, `unknown_field`, `malformed_multipart`.',
    params: ProjectPath,
    body: FileBody,
    consumes: ['multipart/form-data'],
    status: 201,
    answer: SourceView,
    errors: ['not_found', 'limit_reached'],
    notATool: 'Files are sent as multipart/form-data, and tools take JSON. add_knowledge accepts the text of a file.',
    async receive(request, { ownerId, params }) {
      const { temp } = knowledgeParts(deps)
      assertForm(request)
      await assertProject(deps, ownerId, params.project_id)
      const body = await receiveUpload(request, temp)
      return { body, discard: () => body.discard() }
    },
    handle: async ({ ownerId, params, body, save }) =>
      presentSource(await addFile(deps, ownerId, params.project_id, body, save)),
  })
}

async function assertProject(deps: KnowledgeDeps, ownerId: string, id: string): Promise<void> {
  if (!(await selectProject(deps.sql, ownerId, id))) throw notFound()
}
