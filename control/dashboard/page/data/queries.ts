import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'

export type AuditEntry = Schemas['AuditEntry']
export type Erasure = Schemas['Erasure']
export type Mention = Erasure['mentions'][number]

export const retentionQuery = queryOptions({
  queryKey: ['retention'],
  queryFn: ({ signal }) => must(api.GET('/v1/public/retention', { signal })),
})

const PAGE = 50

/** Always refetched when the page opens: every operation adds entries. */
export const auditQuery = (operation: string | null) =>
  infiniteQueryOptions({
    queryKey: ['audit', operation],
    initialPageParam: null as string | null,
    queryFn({ pageParam: cursor, signal }) {
      const query = {
        limit: PAGE,
        ...(cursor === null ? {} : { cursor }),
        ...(operation === null ? {} : { operation }),
      }
      return must(api.GET('/v1/public/audit', { params: { query }, signal }))
    },
    getNextPageParam: ({ next_cursor }) => next_cursor,
    placeholderData: keepPreviousData,
    staleTime: 0,
  })

const MOST = 200

/** Names of API keys by ID; an account has few keys. */
export const keyNamesQuery = queryOptions({
  queryKey: ['keys', 'names'],
  queryFn: ({ signal }) =>
    must(api.GET('/v1/public/keys', { params: { query: { limit: MOST } }, signal })).then(
      ({ items }) => new Map(items.map(({ id, name }) => [id, name])),
    ),
})

interface Source {
  projectId: string
  name: string
}

/** Finds the project of each knowledge source: the API lists sources per project. */
export const sourcesQuery = (projects: readonly { id: string }[]) =>
  queryOptions({
    queryKey: ['knowledge', 'all', ...projects.map(({ id }) => id)],
    async queryFn({ signal }) {
      const found = new Map<string, Source>()
      for (const { id: project_id } of projects) {
        const params = { path: { project_id }, query: { limit: MOST } }
        const { items } = await must(api.GET('/v1/public/projects/{project_id}/knowledge', { params, signal }))
        for (const { id, name } of items) found.set(id, { projectId: project_id, name })
      }
      return found
    },
  })
