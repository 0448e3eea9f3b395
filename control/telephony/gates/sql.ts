/** Reads all data of the gates in one statement each, because every call runs it. */
import type { Subscription } from '../../access/accounts/sql.ts'
import type { Db } from '../../platform/db/connect.ts'

export interface StandingRow {
  /** Price per minute of the account in units; null: the installation's price. */
  minute_price: bigint | null
  status: Subscription['status'] | null
  ends_at: Date | null
  available: bigint
  /** Part of `available` that the daily cap allows. */
  spendable: bigint
  open_holds: number
  /** Prefixes of the numbers that the account may call; empty: all. */
  destinations: string[]
  /** Whether outgoing calls are stopped for unusual activity. */
  stopped: boolean
}

const standing = (db: Db, at: Date) => db`
  accounts.minute_price, accounts.destinations, accounts.stopped_at is not null as stopped, subscriptions.status, subscriptions.ends_at, balances.available,
  balances.open_holds, spendable(balances, ${at}) as spendable`
/** Legs in use on a trunk: one per call, and a second one while its caller is being transferred. */
export const linesInUse = (db: Db) => db`
  ((select count(*) from calls where trunk_id = trunks.id and ended_at is null)
    + (select count(*) from calls where bridge_trunk_id = trunks.id and ended_at is null))`

const standingFrom = (db: Db) => db`
  accounts join balances on balances.owner_id = accounts.id
  left join subscriptions on subscriptions.owner_id = accounts.id`

export async function selectStanding(db: Db, ownerId: string, at: Date): Promise<StandingRow | undefined> {
  const [row] = await db<
    StandingRow[]
  >`select ${standing(db, at)} from ${standingFrom(db)} where accounts.id = ${ownerId}`
  return row
}

export interface OutboundLine {
  number: string
  trunk_id: string
  /** Null means no limit; `live` is then not counted. */
  max_calls: number | null
  live: number
}

export interface OutboundRow extends StandingRow {
  /** Null when the owner has no such project. */
  project_id: string | null
  caller_id: string | null
  unwanted: boolean
  /** Numbers that the project may call from, oldest binding first. */
  lines: OutboundLine[]
}

export async function selectOutbound(
  db: Db,
  ownerId: string,
  { project_id, phone, at }: { project_id: string; phone: string; at: Date },
): Promise<OutboundRow | undefined> {
  const [row] = await db<OutboundRow[]>`
    select ${standing(db, at)}, projects.id as project_id, projects.settings ->> 'caller_id' as caller_id,
      exists(select 1 from do_not_call where owner_id = ${ownerId} and phone = ${phone}) as unwanted,
      coalesce((
        select json_agg(json_build_object(
          'number', numbers.number, 'trunk_id', trunks.id, 'max_calls', trunks.max_calls,
          'live', case when trunks.max_calls is null then 0 else ${linesInUse(db)} end
        ) order by number_bindings.created_at, numbers.number)
        from number_bindings join numbers on numbers.id = number_bindings.number_id
        join trunks on trunks.id = numbers.trunk_id
        where number_bindings.owner_id = ${ownerId} and number_bindings.project_id = ${project_id} and direction = 'out'
      ), '[]') as lines
    from ${standingFrom(db)}
    left join projects
      on projects.owner_id = ${ownerId} and projects.id = ${project_id} and projects.deleted_at is null
    where accounts.id = ${ownerId}`
  return row
}

/** A trunk with a limit. */
export interface TrunkCapacity {
  max_calls: number
  live: number
}

export async function selectTrunkCapacity(
  db: Db,
  ownerId: string,
  trunkId: string,
): Promise<TrunkCapacity | undefined> {
  const [row] = await db<TrunkCapacity[]>`
    select max_calls, ${linesInUse(db)}::int as live
    from trunks where owner_id = ${ownerId} and id = ${trunkId} and max_calls is not null`
  return row
}
