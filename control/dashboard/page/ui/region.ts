/** Where numbers without a country code are read as being of: the line that calls tells, or else the first trunk. */
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
  /** ISO 3166; null: nobody can tell. */
  region: string | null
  /** The number that tells. */
  number: string | null
}

/** Undefined while it is asked for. */
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
