/** Queries for trunks, numbers and softphones. Status is polled while its page is open. */
import { queryOptions } from '@tanstack/react-query'
import { api } from '../api/client.ts'
import { must, queryClient } from '../api/queries.ts'

const LIVE_MS = 3000
const SOFTPHONES_MS = 6000
const NUMBERS_A_PAGE = 50

/** An account has at most 100 trunks. */
export const trunksQuery = queryOptions({
  queryKey: ['trunks', 'list'],
  queryFn: ({ signal }) => must(api.GET('/v1/public/trunks', { params: { query: { limit: 200 } }, signal })),
  refetchInterval: LIVE_MS,
})

export const trunkQuery = (id: string) =>
  queryOptions({
    queryKey: ['trunks', 'one', id],
    queryFn: ({ signal }) =>
      must(api.GET('/v1/public/trunks/{trunk_id}', { params: { path: { trunk_id: id } }, signal })),
    refetchInterval: LIVE_MS,
  })

export const numbersPageQuery = (offset: number) =>
  queryOptions({
    queryKey: ['numbers', 'page', offset],
    queryFn: ({ signal }) =>
      must(api.GET('/v1/public/numbers', { params: { query: { limit: NUMBERS_A_PAGE, offset } }, signal })),
  })

/** An account has at most 50 softphones. */
export const softphonesQuery = queryOptions({
  queryKey: ['softphones'],
  queryFn: ({ signal }) => must(api.GET('/v1/public/softphones', { params: { query: { limit: 200 } }, signal })),
  refetchInterval: SOFTPHONES_MS,
})

/** Trunks add and remove numbers, and the steps on the home page depend on them. */
export const trunksChanged = () =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: ['trunks'] }),
    queryClient.invalidateQueries({ queryKey: ['numbers'] }),
  ])

export const numbersChanged = () => queryClient.invalidateQueries({ queryKey: ['numbers'] })
export const softphonesChanged = () => queryClient.invalidateQueries({ queryKey: ['softphones'] })
