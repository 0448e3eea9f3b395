import type { Db } from '../../platform/db/connect.ts'
import type { Page } from '../../platform/http/paging.ts'
import type { EntryKind } from '../money.ts'

export interface EntryRow {
  id: string
  kind: EntryKind
  amount: bigint
  balance_after: bigint
  call_id: string | null
  job_id: string | null
  reference: string | null
  created_at: Date
}

export async function countEntries(db: Db, ownerId: string): Promise<number> {
  const [row] = await db<{ entries: number }[]>`select entries from balances where owner_id = ${ownerId}`
  return row?.entries ?? 0
}

/**
 * Returns a page of the first `total` entries, newest first. `seq` has no gaps, so any page is found by number in
 * constant time.
 */
export async function selectEntries(db: Db, ownerId: string, page: Page & { total: number }): Promise<EntryRow[]> {
  const newest = Math.max(0, page.total - page.offset)
  return db<EntryRow[]>`
    select id, kind, amount, balance_after, call_id, job_id, reference, created_at from ledger_entries
    where owner_id = ${ownerId} and account = 'balance' and seq > ${newest - page.limit} and seq <= ${newest}
    order by seq desc`
}

export const spendKinds = ['calls', 'web', 'leads'] as const
export type SpendKind = (typeof spendKinds)[number]

export interface SpentRow {
  /** Number of the day, from 1. */
  day: number
  kind: SpendKind
  spent: bigint
}

/**
 * Returns captured money by day of capture; `bounds` come from `Days`. Joins only browser calls, which have an index of
 * their own.
 */
export async function selectSpent(db: Db, ownerId: string, bounds: readonly Date[]): Promise<SpentRow[]> {
  const [first, last] = [bounds[0]!, bounds.at(-1)!]
  return db<SpentRow[]>`
    select width_bucket(entries.created_at, ${bounds.map(bound => bound.toISOString())}::timestamptz[]) as day,
      case when entries.job_id is not null then 'leads' when web.id is not null then 'web' else 'calls' end as kind,
      sum(entries.amount)::bigint as spent
    from ledger_entries as entries
      left join calls as web on web.id = entries.call_id and web.owner_id = ${ownerId} and web.direction = 'web'
    where entries.owner_id = ${ownerId} and entries.account = 'revenue'
      and entries.created_at >= ${first} and entries.created_at < ${last}
    group by 1, 2`
}
