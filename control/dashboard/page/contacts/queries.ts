import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'

export type Contact = Schemas['Contact']
export type Channel = Contact['channel']
export type LeadStatus = NonNullable<Contact['lead_status']>

export const channels = ['phone', 'web', 'lead'] as const satisfies Channel[]
export const leadStatuses = ['new', 'in_progress', 'hot', 'won', 'lost'] as const satisfies LeadStatus[]

export const PAGE = 50

export interface ContactFilters {
  q?: string
  project_id?: string
  channel?: Channel
  lead?: LeadStatus
  offset: number
}

export const contactsQuery = (filters: ContactFilters) =>
  queryOptions({
    queryKey: ['contacts', filters],
    queryFn: ({ signal }) =>
      must(api.GET('/v1/public/contacts', { params: { query: { limit: PAGE, ...filters } }, signal })),
    placeholderData: keepPreviousData,
  })

export const contactQuery = (id: string) =>
  queryOptions({
    queryKey: ['contact', id],
    queryFn: ({ signal }) =>
      must(api.GET('/v1/public/contacts/{contact_id}', { params: { path: { contact_id: id } }, signal })),
  })

const LOOK = 200

/**
 * The API can't filter calls by contact, so this pages through all calls, newest first, as far back as the user asks.
 */
export const callsOfContactQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ['contact', id, 'calls'],
    initialPageParam: 0,
    async queryFn({ pageParam: offset, signal }) {
      const query = { limit: LOOK, offset }
      const { items, total } = await must(api.GET('/v1/public/calls', { params: { query }, signal }))
      return { found: items.filter(call => call.contact_id === id), seen: offset + items.length, total }
    },
    getNextPageParam: ({ seen, total }) => (seen < total ? seen : undefined),
  })
