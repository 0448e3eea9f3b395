import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'
import type { CallFilters } from './filters.ts'

export type Call = Schemas['Call']
export type CallDetail = Schemas['CallDetail']

const LIVE_MS = 5_000
/** Poll, because other calls start in the meantime. */
const QUIET_MS = 30_000
const NEAR_END_MS = 2_000
/** The recording is stored a few moments after the call ends. */
const STORED_WITHIN_MS = 60_000

export const isLive = ({ ended_at }: Pick<Call, 'ended_at'>) => ended_at === null

export const callsQuery = (filters: CallFilters) =>
  queryOptions({
    queryKey: ['calls', filters],
    queryFn: ({ signal }) => must(api.GET('/v1/public/calls', { params: { query: filters }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (state.data?.items.some(isLive) ? LIVE_MS : QUIET_MS),
  })

export const callQuery = (call_id: string) =>
  queryOptions({
    queryKey: ['calls', call_id],
    queryFn: ({ signal }) => must(api.GET('/v1/public/calls/{call_id}', { params: { path: { call_id } }, signal })),
    refetchInterval({ state: { data } }) {
      if (!data) return false
      if (data.ended_at === null) return NEAR_END_MS
      const fresh = Date.now() - Date.parse(data.ended_at) < STORED_WITHIN_MS
      return fresh && data.answered_at !== null && data.recording_url === null ? LIVE_MS : false
    },
  })

export const traceQuery = (call_id: string) =>
  queryOptions({
    queryKey: ['calls', call_id, 'trace'],
    queryFn: ({ signal }) =>
      must(api.GET('/v1/public/calls/{call_id}/trace', { params: { path: { call_id } }, signal })) as Promise<
        Schemas['SipTrace']
      >,
    staleTime: Number.POSITIVE_INFINITY,
  })

/** The SIP ladder diagram as text. */
export const traceTextQuery = (call_id: string) =>
  queryOptions({
    queryKey: ['calls', call_id, 'trace', 'text'],
    queryFn: ({ signal }) =>
      must(
        api.GET('/v1/public/calls/{call_id}/trace', {
          params: { path: { call_id }, query: { format: 'text' } },
          parseAs: 'text',
          signal,
        }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
  })

export const contactNameQuery = (contact_id: string) =>
  queryOptions({
    queryKey: ['contacts', contact_id],
    queryFn: ({ signal }) =>
      must(api.GET('/v1/public/contacts/{contact_id}', { params: { path: { contact_id } }, signal })),
  })

export const campaignNameQuery = (campaign_id: string) =>
  queryOptions({
    queryKey: ['campaigns', campaign_id],
    queryFn: ({ signal }) =>
      must(api.GET('/v1/public/campaigns/{campaign_id}', { params: { path: { campaign_id } }, signal })),
  })

/** Relative URL, so that the session cookie is sent; the API's own URL may name another host. */
export const recordingPath = (id: string) => `/v1/public/calls/${id}/recording`
