import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { listOf, paging } from '../../platform/http/paging.ts'
import { deletionRoute, route } from '../../platform/http/route.ts'
import {
  ProjectCreate,
  ProjectList,
  ProjectPatch,
  ProjectPath,
  ProjectView,
  SecretInput,
  SecretPath,
  SecretView,
  ToolPath,
  ToolTrial,
  ToolTrialView,
} from './schema.ts'
import { listSecrets, removeSecret, setSecret } from './secrets.ts'
import { createProject, deleteProject, getProject, type ProjectDeps, patchProject, presentProject } from './service.ts'
import { selectProjects } from './sql.ts'
import { tryTool } from './try-tool.ts'

const tag = 'Projects'

export function projectRoutes(app: FastifyInstance, deps: ProjectDeps): void {
  route(app, deps, {
    id: 'list_projects',
    method: 'GET',
    path: '/projects',
    scope: 'read',
    tag,
    summary: 'List all projects',
    description: 'Returns names only. `get_project` returns the settings.',
    answer: ProjectList,
    handle: async ({ ownerId, caller }) => ({ projects: await selectProjects(deps.sql, ownerId, caller.projects) }),
  })
  route(app, deps, {
    id: 'create_project',
    method: 'POST',
    path: '/projects',
    scope: 'write',
    tag,
    summary: 'Create a project',
    description:
      'A project is an agent. Only name and language are required. To place calls, it also needs a number: see `bind_number`.',
    body: ProjectCreate,
    status: 201,
    answer: ProjectView,
    errors: ['limit_reached', 'moderation_rejected'],
    handle: async ({ ownerId, body, save }) => presentProject(await createProject(deps, ownerId, body, save)),
  })
  oneProjectRoutes(app, deps)
  toolRoutes(app, deps)
}

function oneProjectRoutes(app: FastifyInstance, deps: ProjectDeps): void {
  route(app, deps, {
    id: 'get_project',
    method: 'GET',
    path: '/projects/:project_id',
    scope: 'read',
    tag,
    summary: 'Retrieve a project with all its settings',
    params: ProjectPath,
    answer: ProjectView,
    errors: ['not_found'],
    handle: async ({ ownerId, params }) => presentProject(await getProject(deps, ownerId, params.project_id)),
  })
  route(app, deps, {
    id: 'update_project',
    method: 'PATCH',
    path: '/projects/:project_id',
    scope: 'write',
    tag,
    summary: 'Update the settings of a project',
    description:
      'Omitted fields keep their values. `tools` replaces the whole list. Calls in progress keep the settings they started with.',
    params: ProjectPath,
    body: ProjectPatch,
    answer: ProjectView,
    errors: ['not_found', 'moderation_rejected'],
    handle: async ({ ownerId, params, body }) =>
      presentProject(await patchProject(deps, ownerId, params.project_id, body)),
  })
  deletionRoute(app, deps, {
    id: 'delete_project',
    path: '/projects/:project_id',
    scope: 'write',
    tag,
    summary: 'Delete a project and unbind its numbers',
    description: 'Its calls and contacts are kept. Calls in progress continue.',
    params: ProjectPath,
    remove: ({ ownerId, params }) => deleteProject(deps, ownerId, params.project_id),
  })
}

function toolRoutes(app: FastifyInstance, deps: ProjectDeps): void {
  route(app, deps, {
    id: 'test_tool',
    method: 'POST',
    path: '/projects/:project_id/tools/:name/test',
    scope: 'write',
    tag,
    summary: 'Run a tool as the agent would, and return what the agent would get',
    description: 'Sends a real request with your secrets filled in, under the same restrictions as in a call.',
    params: ToolPath,
    body: ToolTrial,
    answer: ToolTrialView,
    errors: ['not_found'],
    handle: ({ ownerId, params, body }) => tryTool(deps, ownerId, params.project_id, params.name, body.arguments),
  })
}

export function secretRoutes(app: FastifyInstance, deps: ProjectDeps): void {
  const present = (row: { name: string; updated_at: Date }) => ({ ...row, updated_at: row.updated_at.toISOString() })
  route(app, deps, {
    id: 'list_secrets',
    method: 'GET',
    path: '/secrets',
    scope: 'read',
    tag: 'Secrets',
    summary: 'List the names of secrets; values are never shown',
    query: z.strictObject(paging),
    answer: listOf(SecretView),
    async handle({ ownerId, query }) {
      const list = await listSecrets(deps, ownerId, query)
      return { ...list, items: list.items.map(present) }
    },
  })
  route(app, deps, {
    id: 'set_secret',
    method: 'POST',
    path: '/secrets',
    scope: 'write',
    tag: 'Secrets',
    summary: 'Create or replace a secret',
    description:
      'Use secrets in tool headers as `{{secret:NAME}}`, and for the API keys of models. A new value applies from the next call.',
    body: SecretInput,
    answer: SecretView,
    handle: async ({ ownerId, body }) => present(await setSecret(deps, ownerId, body.name, body.value)),
  })
  deletionRoute(app, deps, {
    id: 'delete_secret',
    path: '/secrets/:name',
    scope: 'write',
    tag: 'Secrets',
    summary: 'Delete a secret',
    params: SecretPath,
    remove: ({ ownerId, params }) => removeSecret(deps, ownerId, params.name),
  })
}
