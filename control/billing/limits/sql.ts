import type { Db, Tx } from '../../platform/db/connect.ts'
import type { WatchRow } from '../unusual/sql.ts'

export interface LimitsRow extends WatchRow {
  destinations: string[]
  /** Units; null means no limit. */
  daily_cap: bigint | null
  /** Units captured today (UTC), and units held now. */
  spent: bigint
  held: bigint
}

export async function selectLimits(db: Db, ownerId: string, at: Date): Promise<LimitsRow> {
  const [row] = await db<LimitsRow[]>`
    select destinations, daily_cap, held, stop_unusual_activity, stopped_at, stop_reason, stop_detail, resumed_at,
      case when spent_on = (${at}::timestamptz at time zone 'UTC')::date then spent else 0 end as spent
    from accounts join balances on balances.owner_id = accounts.id where accounts.id = ${ownerId}`
  return row!
}

export async function selectDestinations(db: Db, ownerId: string): Promise<string[]> {
  const [row] = await db<Pick<LimitsRow, 'destinations'>[]>`select destinations from accounts where id = ${ownerId}`
  return row?.destinations ?? []
}

/** Undefined fields stay. */
export async function updateLimits(
  tx: Tx,
  ownerId: string,
  { destinations, dailyCap }: { destinations?: readonly string[]; dailyCap?: bigint | null },
): Promise<void> {
  if (destinations !== undefined) {
    await tx`update accounts set destinations = ${destinations as string[]} where id = ${ownerId}`
  }
  if (dailyCap !== undefined) await tx`update balances set daily_cap = ${dailyCap} where owner_id = ${ownerId}`
}
