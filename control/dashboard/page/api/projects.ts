import { queryOptions } from '@tanstack/react-query'
import { api } from './client.ts'
import { must } from './queries.ts'

export const projectQuery = (id: string) =>
  queryOptions({
    queryKey: ['project', id],
    queryFn: ({ signal }) =>
      must(api.GET('/v1/public/projects/{project_id}', { params: { path: { project_id: id } }, signal })),
  })

const MOST = 200

export const secretsQuery = queryOptions({
  queryKey: ['secrets'],
  queryFn: ({ signal }) => must(api.GET('/v1/public/secrets', { params: { query: { limit: MOST } }, signal })),
})

const WATCHED_MS = 1500

/** A project has at most 200 sources, so one request returns all. The query polls while a source is being indexed. */
export const knowledgeQuery = (id: string) =>
  queryOptions({
    queryKey: ['knowledge', id],
    queryFn: ({ signal }) => {
      const params = { path: { project_id: id }, query: { limit: MOST } }
      return must(api.GET('/v1/public/projects/{project_id}/knowledge', { params, signal }))
    },
    refetchInterval: ({ state }) =>
      state.data?.items.some(({ status }) => status === 'pending' || status === 'indexing') ? WATCHED_MS : false,
  })
