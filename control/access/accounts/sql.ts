import type { Db, Tx } from '../../platform/db/connect.ts'

export interface Subscription {
  status: 'active' | 'inactive'
  ends_at: Date | null
}

export interface AccountRow {
  id: string
  name: string
  email: string | null
  password_hash: string | null
  minute_price: bigint | null
  created_at: Date
  closed_at: Date | null
  deleted_at: Date | null
}

export async function insertAccount(
  db: Db,
  account: Pick<AccountRow, 'id' | 'name' | 'email' | 'password_hash' | 'created_at'>,
): Promise<void> {
  await db`insert into accounts ${db(account, 'id', 'name', 'email', 'password_hash', 'created_at')}`
}

export async function selectAccount(db: Db, id: string): Promise<AccountRow | undefined> {
  const [row] = await db<AccountRow[]>`
    select id, name, email, password_hash, minute_price, created_at, closed_at, deleted_at from accounts where id = ${id}`
  return row
}

/** Deleted accounts have no e-mail, so this never finds one. */
export async function selectAccountByEmail(db: Db, email: string): Promise<AccountRow | undefined> {
  const [row] = await db<AccountRow[]>`
    select id, name, email, password_hash, minute_price, created_at, closed_at, deleted_at from accounts
    where lower(email) = ${email.toLowerCase()}`
  return row
}

/** Sets the log-in of an account that was created without one. */
export async function updateLogin(db: Db, id: string, email: string, passwordHash: string): Promise<void> {
  await db`update accounts set email = ${email}, password_hash = ${passwordHash} where id = ${id} and deleted_at is null`
}

export async function updateMinutePrice(db: Db, id: string, price: bigint | null): Promise<void> {
  await db`update accounts set minute_price = ${price} where id = ${id} and deleted_at is null`
}

export async function selectMinutePrice(db: Db, id: string): Promise<bigint | null> {
  const [row] = await db<{ minute_price: bigint | null }[]>`select minute_price from accounts where id = ${id}`
  return row?.minute_price ?? null
}

export async function upsertSubscription(db: Db, ownerId: string, plan: string, subscription: Subscription) {
  await db`
    insert into subscriptions (owner_id, status, plan, ends_at)
    values (${ownerId}, ${subscription.status}, ${plan}, ${subscription.ends_at})
    on conflict (owner_id) do update set status = excluded.status, plan = excluded.plan, ends_at = excluded.ends_at`
}

export async function selectSubscription(
  db: Db,
  ownerId: string,
): Promise<(Subscription & { plan: string }) | undefined> {
  const [row] = await db<(Subscription & { plan: string })[]>`
    select status, plan, ends_at from subscriptions where owner_id = ${ownerId}`
  return row
}

// ---- Operator queries, across all owners ----

export interface ListedAccount {
  id: string
  name: string
  email: string | null
  available: bigint
  held: bigint
  minute_price: bigint | null
  status: 'active' | 'inactive'
  plan: string | null
  ends_at: Date | null
  created_at: Date
}

export async function selectAccounts(db: Db, now: Date): Promise<ListedAccount[]> {
  return db<ListedAccount[]>`
    select id, name, email, available, held, minute_price, plan, ends_at, created_at,
      case when status = 'active' and (ends_at is null or ends_at > ${now}) then 'active' else 'inactive' end as status
    from accounts join balances on balances.owner_id = id left join subscriptions on subscriptions.owner_id = id
    where deleted_at is null order by created_at, id`
}

export async function lockAccount(tx: Tx, id: string): Promise<Pick<AccountRow, 'deleted_at'> | undefined> {
  const [row] = await tx<Pick<AccountRow, 'deleted_at'>[]>`select deleted_at from accounts where id = ${id} for update`
  return row
}

export async function countLiveCalls(db: Db, ownerId: string): Promise<number> {
  const [row] = await db<{ live: number }[]>`
    select count(*)::int as live from calls where owner_id = ${ownerId} and ended_at is null`
  return row!.live
}

/** Blocks log-in and calls in both directions. */
export async function closeAccount(tx: Tx, id: string, now: Date): Promise<void> {
  await tx`delete from api_keys where owner_id = ${id}`
  await tx`delete from sessions where owner_id = ${id}`
  await tx`delete from password_resets where owner_id = ${id}`
  await tx`delete from invitations where owner_id = ${id}`
  await tx`update members set password_hash = null where owner_id = ${id}`
  await tx`update subscriptions set status = 'inactive' where owner_id = ${id}`
  await tx`update accounts set password_hash = null, closed_at = ${now} where id = ${id}`
}

export async function anonymise(db: Db, id: string, now: Date): Promise<void> {
  await db`
    update accounts set name = '', email = null, password_hash = null, minute_price = null, deleted_at = ${now}
    where id = ${id}`
}
