import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'

export type Entry = Schemas['DoNotCallEntry']

export const PAGE = 50

export const entriesQuery = (filters: { q?: string; offset: number }) =>
  queryOptions({
    queryKey: ['do-not-call', filters],
    queryFn: ({ signal }) =>
      must(api.GET('/v1/public/do-not-call', { params: { query: { limit: PAGE, ...filters } }, signal })),
    placeholderData: keepPreviousData,
  })
