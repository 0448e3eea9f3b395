/** TanStack Query setup and the queries that several pages share. Queries of a single page are in its folder. */
import { MutationCache, QueryCache, QueryClient, queryOptions } from '@tanstack/react-query'
import { must, ParleyError } from '../../../api/client/problem.ts'
import { api } from './client.ts'
import { askForProof } from './proof.ts'

export { must, ParleyError } from '../../../api/client/problem.ts'

/** Redirects to the log-in page when the session has expired, with the way back. The page `/talk` has no session. */
function toLogIn(error: unknown): void {
  if (!(error instanceof ParleyError) || error.code !== 'unauthorized') return
  const { pathname, search } = window.location
  if (/^\/talk$|\/dashboard\/(?:log-in|sign-up|password|invitation)$/.test(pathname)) return
  const back = pathname.replace(/^\/dashboard/, '') + search
  window.location.assign(`/dashboard/log-in?${new URLSearchParams({ back })}`)
}

/** Sensitive operations need a proof of the second factor that is not old. */
function toProof(error: unknown): void {
  if (error instanceof ParleyError && error.code === 'second_factor_required') askForProof()
}

/** Retries network errors and temporary failures; other API errors are final. */
const again = (failures: number, error: unknown) =>
  failures < 2 && (!(error instanceof ParleyError) || ['rate_limited', 'service_unavailable'].includes(error.code))

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: toLogIn }),
  mutationCache: new MutationCache({
    onError(error) {
      toLogIn(error)
      toProof(error)
    },
  }),
  defaultOptions: { queries: { retry: again, staleTime: 10_000 }, mutations: { retry: false } },
})

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: ({ signal }) => must(api.GET('/auth/session', { signal })),
  staleTime: 60_000,
})

export const balanceQuery = queryOptions({
  queryKey: ['balance'],
  queryFn: ({ signal }) => must(api.GET('/v1/public/balance', { signal })),
})

export const limitsQuery = queryOptions({
  queryKey: ['limits'],
  queryFn: ({ signal }) => must(api.GET('/v1/public/limits', { signal })),
})

export const projectsQuery = queryOptions({
  queryKey: ['projects'],
  queryFn: ({ signal }) => must(api.GET('/v1/public/projects', { signal })).then(answer => answer.projects),
})

export const numbersQuery = queryOptions({
  queryKey: ['numbers'],
  queryFn: ({ signal }) => must(api.GET('/v1/public/numbers', { params: { query: { limit: 200 } }, signal })),
})
