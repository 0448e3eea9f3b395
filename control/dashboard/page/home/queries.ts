import { queryOptions } from '@tanstack/react-query'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'

/** The prompt of the example project; another prompt means that the user has edited it. */
const EXAMPLE_PROMPT = /^You are a friendly receptionist\. Answer briefly, and take a message when you cannot help\.$/

/** Derives the completed steps from existing data; nothing is stored for it. */
export const stepsQuery = (projectId: string | null) =>
  queryOptions({
    queryKey: ['first steps', projectId],
    async queryFn({ signal }) {
      const [calls, keys, project] = await Promise.all([
        must(api.GET('/v1/public/calls', { params: { query: { direction: 'web', limit: 1 } }, signal })),
        must(api.GET('/v1/public/keys', { params: { query: { limit: 1 } }, signal })),
        projectId === null
          ? null
          : must(api.GET('/v1/public/projects/{project_id}', { params: { path: { project_id: projectId } }, signal })),
      ])
      return {
        talked: calls.total > 0,
        keyed: keys.total > 0,
        edited: project !== null && !EXAMPLE_PROMPT.test(project.prompt),
      }
    },
  })
