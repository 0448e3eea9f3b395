import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'

export type Job = Schemas['LeadSearch']
export type Lead = Schemas['Lead']
export type Brief = Schemas['ParsedLeadBrief']
export type Parsed = Schemas['LeadBriefParsed']
export type Directory = Schemas['LeadDirectory']

export const leadStatuses = ['found', 'enriched', 'rejected'] as const satisfies readonly Lead['status'][]
export const PAGE = 50

export const isOver = ({ ended_at }: Pick<Job, 'ended_at'>) => ended_at !== null

export const jobsQuery = queryOptions({
  queryKey: ['leads', 'jobs'],
  queryFn: ({ signal }) => must(api.GET('/v1/public/lead-search', { params: { query: { limit: 50 } }, signal })),
  refetchInterval: ({ state }) => (state.data?.items.some(job => !isOver(job)) ? 3000 : false),
})

export const jobQuery = (job_id: string) =>
  queryOptions({
    queryKey: ['leads', 'job', job_id],
    queryFn: ({ signal }) => must(api.GET('/v1/public/lead-search/{job_id}', { params: { path: { job_id } }, signal })),
  })

/** Parameters shared by the list and the export. */
export interface LeadSelection {
  status?: Lead['status']
  has_phone?: boolean
  min_score?: number
  q?: string
}

export const leadsQuery = (job_id: string, selection: LeadSelection, offset: number) =>
  queryOptions({
    queryKey: ['leads', 'of', job_id, selection, offset],
    queryFn: ({ signal }) =>
      must(
        api.GET('/v1/public/lead-search/{job_id}/leads', {
          params: { path: { job_id }, query: { ...selection, limit: PAGE, offset } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  })

export function csvPath(jobId: string, selection: LeadSelection): string {
  const given = Object.entries(selection).filter(([, value]) => value !== undefined)
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]))
  return `/v1/public/lead-search/${jobId}/leads.csv${query.size > 0 ? `?${query}` : ''}`
}

export const directoriesQuery = queryOptions({
  queryKey: ['leads', 'directories'],
  queryFn: ({ signal }) =>
    must(api.GET('/v1/public/lead-search/directories', { params: { query: { limit: 50 } }, signal })),
})
