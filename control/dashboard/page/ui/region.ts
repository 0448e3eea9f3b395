/**
 * Determines the default country for phone numbers without a country code: that of the project's outgoing number, else
 * that of the oldest trunk.
 */
import { useQuery } from '@tanstack/react-query'
import { api } from '../api/client.ts'
import { must, numbersQuery } from '../api/queries.ts'
import { regionOf } from './phone.ts'

const homeQuery = {
  queryKey: ['trunks', 'home'],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    must(api.GET('/v1/public/trunks', { params: { query: { limit: 200 } }, signal })).then(({ items }) => items),
}

export interface HomeRegion {
  /** ISO 3166 code; null if it can't be determined. */
  region: string | null
  /** The phone number that the region was derived from. */
  number: string | null
}

/** Returns undefined while the queries are pending. */
export function useHomeRegion(projectId: string | null): HomeRegion | undefined {
  const numbers = useQuery(numbersQuery)
  const trunks = useQuery(homeQuery)
  if (numbers.isPending || trunks.isPending) return undefined
  const line = numbers.data?.items.find(({ bindings }) =>
    bindings.some(({ project_id, direction }) => project_id === projectId && direction !== 'in'),
  )
  const trunk = trunks.data?.find(({ id }) => id === line?.trunk_id) ?? trunks.data?.at(-1)
  const number = line?.number ?? trunk?.numbers[0] ?? null
  return { region: trunk?.region ?? (number && regionOf(number)), number }
}
