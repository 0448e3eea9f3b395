import type { Db } from '../db/connect.ts'
import type { Page } from '../http/paging.ts'
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

/** Newest of the first `total` first. They are numbered without holes, so a page is found by number, however far. */
export async function selectEntries(db: Db, ownerId: string, page: Page & { total: number }): Promise<EntryRow[]> {
  const newest = Math.max(0, page.total - page.offset)
  return db<EntryRow[]>`
    select id, kind, amount, balance_after, call_id, job_id, reference, created_at from ledger_entries
    where owner_id = ${ownerId} and account = 'balance' and seq > ${newest - page.limit} and seq <= ${newest}
    order by seq desc`
}
