import type { Db } from '../db/connect.ts'

export interface Subscription {
  status: 'active' | 'inactive'
  ends_at: Date | null
}

export async function insertAccount(db: Db, account: { id: string; name: string; email: string | null; at: Date }) {
  await db`
    insert into accounts (id, name, email, created_at)
    values (${account.id}, ${account.name}, ${account.email}, ${account.at})`
}

export async function upsertSubscription(db: Db, ownerId: string, plan: string, subscription: Subscription) {
  await db`
    insert into subscriptions (owner_id, status, plan, ends_at)
    values (${ownerId}, ${subscription.status}, ${plan}, ${subscription.ends_at})
    on conflict (owner_id) do update set status = excluded.status, plan = excluded.plan, ends_at = excluded.ends_at`
}

export async function selectSubscription(db: Db, ownerId: string): Promise<Subscription | undefined> {
  const [row] = await db<Subscription[]>`select status, ends_at from subscriptions where owner_id = ${ownerId}`
  return row
}
