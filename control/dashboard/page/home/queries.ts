import { queryOptions } from '@tanstack/react-query'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'

/** How sign-up leaves the example project; whoever has another prompt has edited it. */
const EXAMPLE_PROMPT = /^You are a friendly receptionist\. Answer briefly, and take a message when you cannot help\.$/

/** Which of the first steps are done, by what there is: nothing is kept about it anywhere. */
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
