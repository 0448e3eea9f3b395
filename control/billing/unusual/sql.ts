import { type Db, json, type Tx } from '../../platform/db/connect.ts'
import type { SpentHour, StopReason } from './machine.ts'

export interface WatchRow {
  stop_unusual_activity: boolean
  stopped_at: Date | null
  stop_reason: StopReason | null
  stop_detail: StopDetail | null
  resumed_at: Date | null
}

/** Amounts are decimal strings. */
export interface StopDetail {
  countries: string[] | null
  spent: string | null
  usual: string | null
}

export async function selectWatch(db: Db, ownerId: string): Promise<WatchRow> {
  const [row] = await db<WatchRow[]>`
    select stop_unusual_activity, stopped_at, stop_reason, stop_detail, resumed_at from accounts where id = ${ownerId}`
  return row!
}

export async function isStopped(db: Db, ownerId: string): Promise<boolean> {
  const [row] = await db<{ stopped: boolean }[]>`
    select stopped_at is not null as stopped from accounts where id = ${ownerId}`
  return row?.stopped ?? false
}

/** False when the account is stopped already, or its owner has switched the stop off meanwhile. */
export async function updateStopped(
  tx: Tx,
  ownerId: string,
  { at, reason, detail }: { at: Date; reason: StopReason; detail: StopDetail },
): Promise<boolean> {
  const rows = await tx`
    update accounts set stopped_at = ${at}, stop_reason = ${reason}, stop_detail = ${json(tx, detail)}
    where id = ${ownerId} and stopped_at is null and stop_unusual_activity returning 1`
  return rows.length > 0
}

export async function updateResumed(db: Db, ownerId: string, at: Date): Promise<void> {
  await db`
    update accounts set stopped_at = null, stop_reason = null, stop_detail = null, resumed_at = ${at}
    where id = ${ownerId} and stopped_at is not null`
}

export async function updateSwitch(db: Db, ownerId: string, on: boolean): Promise<void> {
  await db`update accounts set stop_unusual_activity = ${on} where id = ${ownerId}`
}

export interface CalledCountry {
  country: string
  first_at: Date
}

/** `prefix`: plus and calling code. An account that is older than the list takes the first call from its calls. */
export async function insertCountries(
  tx: Tx,
  ownerId: string,
  countries: readonly { country: string; prefix: string }[],
  at: Date,
): Promise<void> {
  for (const { country, prefix } of countries) {
    await tx`
      insert into called_countries (owner_id, country, first_at)
      select ${ownerId}, ${country}, coalesce((
        select calls.created_at from calls
        where calls.owner_id = ${ownerId} and direction = 'out' and to_phone like ${`${prefix}%`}
          and calls.created_at < accounts.watched_since
        order by calls.created_at desc limit 1
      ), ${at})
      from accounts where accounts.id = ${ownerId}
      on conflict (owner_id, country) do nothing`
  }
}

export async function selectCountriesSince(db: Db, ownerId: string, since: Date): Promise<CalledCountry[]> {
  return db<CalledCountry[]>`
    select country, first_at from called_countries where owner_id = ${ownerId} and first_at > ${since}`
}

/** Countries of the account among these. */
export async function selectKnownCountries(db: Db, ownerId: string, countries: readonly string[]): Promise<string[]> {
  const rows = await db<{ country: string }[]>`
    select country from called_countries where owner_id = ${ownerId} and country = any(${countries as string[]})`
  return rows.map(({ country }) => country)
}

// ---- Spending ----

export interface SpenderRow {
  owner_id: string
  held: bigint
  minute_price: bigint | null
  resumed_at: Date | null
}

/** Covers all owners: those who spend now, and may be stopped. */
export async function selectSpenders(db: Db): Promise<SpenderRow[]> {
  return db<SpenderRow[]>`
    select balances.owner_id, balances.held, accounts.minute_price, accounts.resumed_at
    from balances join accounts on accounts.id = balances.owner_id
    where balances.held > 0 and accounts.stopped_at is null and accounts.stop_unusual_activity`
}

export async function selectSpentSince(db: Db, ownerId: string, since: Date): Promise<bigint> {
  const [row] = await db<{ spent: bigint }[]>`
    select coalesce(sum(amount), 0)::bigint as spent from ledger_entries
    where owner_id = ${ownerId} and account = 'revenue' and created_at >= ${since}`
  return row!.spent
}

export async function selectSpentHours(db: Db, ownerId: string, from: Date, to: Date): Promise<SpentHour[]> {
  const rows = await db<{ at: Date; spent: bigint }[]>`
    select date_trunc('hour', created_at) as at, sum(amount)::bigint as spent from ledger_entries
    where owner_id = ${ownerId} and account = 'revenue' and created_at >= ${from} and created_at < ${to}
    group by 1`
  return rows.map(({ at, spent }) => ({ atMs: at.getTime(), spent }))
}

/** E-mails of the people who may resume. */
export async function selectManagers(db: Db, ownerId: string): Promise<string[]> {
  const rows = await db<{ email: string }[]>`
    select email from people where owner_id = ${ownerId} and role in ('owner', 'admin') and email is not null`
  return rows.map(({ email }) => email)
}
