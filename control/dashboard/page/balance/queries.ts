import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'

export type Entry = Schemas['BalanceEntry']
export type Spend = Schemas['Spend']

export const PAGE = 25

/** The key is below `balance`, so that invalidating the balance refreshes the transactions too. */
export const entriesQuery = (offset: number) =>
  queryOptions({
    queryKey: ['balance', 'entries', offset],
    queryFn: ({ signal }) =>
      must(api.GET('/v1/public/balance/entries', { params: { query: { limit: PAGE, offset } }, signal })),
    placeholderData: keepPreviousData,
  })

const DAY_MS = 24 * 3600 * 1000

/** The last `days` calendar days in the browser's time zone, including today. */
export function spendQuery(days: number) {
  const { timeZone: timezone = 'UTC' } = Intl.DateTimeFormat().resolvedOptions()
  const to = dateOf(Date.now())
  // Subtract in UTC, where every day has 24 hours.
  const from = new Date(Date.parse(to) - (days - 1) * DAY_MS).toISOString().slice(0, 10)
  return queryOptions({
    queryKey: ['balance', 'spend', from, to, timezone],
    queryFn: ({ signal }) =>
      must(api.GET('/v1/public/balance/spend', { params: { query: { from, to, timezone } }, signal })),
    placeholderData: keepPreviousData,
  })
}

/** Formats as `YYYY-MM-DD`, which is the Swedish date format. */
const dateOf = (ms: number) => new Intl.DateTimeFormat('sv-SE').format(ms)
