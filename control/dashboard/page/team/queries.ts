import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'

export type Member = Schemas['Member']
export type Invitation = Schemas['Invitation']
export type Role = Member['role']

export const roles = ['owner', 'admin', 'developer', 'operator', 'billing', 'read_only'] as const satisfies Role[]

export const PAGE = 50

export const membersQuery = (offset: number) =>
  queryOptions({
    queryKey: ['members', offset],
    queryFn: ({ signal }) =>
      must(api.GET('/v1/public/members', { params: { query: { limit: PAGE, offset } }, signal })),
    placeholderData: keepPreviousData,
  })

export const invitationsQuery = queryOptions({
  queryKey: ['invitations'],
  queryFn: ({ signal }) => must(api.GET('/v1/public/invitations', { params: { query: { limit: 200 } }, signal })),
})
