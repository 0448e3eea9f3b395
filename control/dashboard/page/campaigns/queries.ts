import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api } from '../api/client.ts'
import { must, queryClient } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'

export type Campaign = Schemas['Campaign']
export type CampaignContact = Schemas['CampaignContact']
export type Status = Campaign['status']
export type ContactStatus = CampaignContact['status']
export type Counters = Schemas['CampaignCounters']

export const PAGE = 50

export const campaignsQuery = (filters: { status?: Status; project_id?: string; offset: number }) =>
  queryOptions({
    queryKey: ['campaigns', filters],
    queryFn: ({ signal }) =>
      must(api.GET('/v1/public/campaigns', { params: { query: { limit: PAGE, ...filters } }, signal })),
    placeholderData: keepPreviousData,
    // A campaign's own page follows its event stream; the list only polls.
    refetchInterval: ({ state }) => (state.data?.items.some(({ status }) => status === 'running') ? 5000 : false),
  })

export const campaignQuery = (id: string) =>
  queryOptions({
    queryKey: ['campaign', id],
    queryFn: ({ signal }) =>
      must(api.GET('/v1/public/campaigns/{campaign_id}', { params: { path: { campaign_id: id } }, signal })),
  })

export interface ContactFilters {
  status?: ContactStatus
  goal?: 'reached' | 'not_reached'
  offset: number
}

export const campaignContactsQuery = (id: string, filters: ContactFilters) =>
  queryOptions({
    queryKey: ['campaign', id, 'contacts', filters],
    queryFn: ({ signal }) =>
      must(
        api.GET('/v1/public/campaigns/{campaign_id}/contacts', {
          params: { path: { campaign_id: id }, query: { limit: PAGE, ...filters } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  })

export const whyQuery = (campaign_id: string, campaign_contact_id: string) =>
  queryOptions({
    queryKey: ['campaign', campaign_id, 'why', campaign_contact_id],
    queryFn: ({ signal }) =>
      must(
        api.GET('/v1/public/campaigns/{campaign_id}/contacts/{campaign_contact_id}/why', {
          params: { path: { campaign_id, campaign_contact_id } },
          signal,
        }),
      ),
    // Always fetch: the explanation is valid only at this moment.
    staleTime: 0,
    gcTime: 0,
  })

/** Fetches the full project for its time zone, which the project list does not include. */
export const projectQuery = (id: string) =>
  queryOptions({
    queryKey: ['project', id],
    queryFn: ({ signal }) =>
      must(api.GET('/v1/public/projects/{project_id}', { params: { path: { project_id: id } }, signal })),
  })

/** Updates the cache from the response to an action. */
export function renew(campaign: Campaign): void {
  queryClient.setQueryData(campaignQuery(campaign.id).queryKey, campaign)
  void queryClient.invalidateQueries({ queryKey: ['campaign', campaign.id, 'contacts'] })
  void queryClient.invalidateQueries({ queryKey: ['campaigns'] })
}
