/**
 * Runs a tool of a project as the agent would in a call, under the same restrictions, and returns what the agent would
 * get.
 */
import { buildRequest, runTool } from '../../../media/tools/http-tool.ts'
import type { Deps } from '../../platform/deps.ts'
import { notFound } from '../../platform/http/problem.ts'
import { openSecrets } from './secrets.ts'
import { getProject, presentProject } from './service.ts'
import { fillSecrets, secretNames, toolPlan } from './tool-plan.ts'

/** Milliseconds beyond the tool's own time-out, for a request that hangs in spite of it. */
const SPARE_MS = 2000

export async function tryTool(
  deps: Deps,
  ownerId: string,
  projectId: string,
  name: string,
  args: Record<string, unknown>,
) {
  const project = presentProject(await getProject(deps, ownerId, projectId))
  const tool = project.tools.find(one => one.name === name)
  if (!tool) throw notFound()
  const secrets = await openSecrets(deps, deps.sql, ownerId, secretNames({ ...project, tools: [tool] }))
  const headers = Object.fromEntries(
    Object.entries(tool.headers).map(([header, value]) => [header, fillSecrets(value, secrets)]),
  )
  const plan = toolPlan(tool)
  const signal = AbortSignal.timeout(tool.timeout_ms + SPARE_MS)
  const request = buildRequest(plan, args, headers, signal)
  const started = deps.clock.now()
  const { status, http_status, result } = await runTool(plan, args, headers, deps.fetch, signal)
  return {
    request:
      'problem' in request
        ? null
        : {
            method: request.method,
            url: request.url,
            // Values may be secrets.
            header_names: Object.keys(request.headers).map(header => header.toLowerCase()),
            body: request.body,
          },
    status,
    http_status,
    ms: Math.round(deps.clock.now() - started),
    result,
  }
}
