import type { Db, Tx } from '../../platform/db/connect.ts'

export const kinds = ['recordings', 'transcripts', 'phones'] as const
export type Kind = (typeof kinds)[number]

export interface RetentionRow {
  owner_id: string
  kind: Kind
  days: number
  passed_at: Date
  passed_id: string
}

export async function selectDays(db: Db, ownerId: string): Promise<{ kind: Kind; days: number | null }[]> {
  return db<{ kind: Kind; days: number | null }[]>`select kind, days from retention where owner_id = ${ownerId}`
}

/** Keeps the sweep's position: everything before it has been deleted. */
export async function upsertDays(tx: Tx, ownerId: string, kind: Kind, days: number | null, at: Date): Promise<void> {
  await tx`
    insert into retention (owner_id, kind, days, due_at) values (${ownerId}, ${kind}, ${days}, ${at})
    on conflict (owner_id, kind) do update set days = excluded.days, due_at = excluded.due_at`
}

// ---- Sweep, across all owners ----

/** Locks one due row that no other process has, until the transaction ends. */
export async function lockDue(tx: Tx, at: Date): Promise<RetentionRow | undefined> {
  const [row] = await tx<RetentionRow[]>`
    select owner_id, kind, days, passed_at, passed_id from retention
    where days is not null and due_at <= ${at} order by due_at limit 1 for update skip locked`
  return row
}

export interface PassedCall {
  id: string
  created_at: Date
  ended_at: Date | null
  recording: { key: string } | null
}

/** Next calls by creation time, locked until the transaction ends: a recording may be about to be attached to one. */
export async function lockNextCalls(tx: Tx, row: RetentionRow, before: Date, limit: number): Promise<PassedCall[]> {
  return tx<PassedCall[]>`
    select id, created_at, ended_at, recording from calls
    where owner_id = ${row.owner_id} and (created_at, id) > (${row.passed_at}, ${row.passed_id})
      and created_at < ${before}
    order by created_at, id limit ${limit} for update`
}

export async function updatePassed(tx: Tx, { owner_id, kind }: RetentionRow, last: PassedCall): Promise<void> {
  await tx`
    update retention set passed_at = ${last.created_at}, passed_id = ${last.id}
    where owner_id = ${owner_id} and kind = ${kind}`
}

export async function updateDue(db: Db, { owner_id, kind }: RetentionRow, at: Date): Promise<void> {
  await db`update retention set due_at = ${at} where owner_id = ${owner_id} and kind = ${kind}`
}

/**
 * Deletes copies of transcripts and numbers that were sent to the owner's receivers. Returns how many, at most `limit`.
 */
export async function deleteDeliveries(tx: Tx, ownerId: string, before: Date, limit: number): Promise<number> {
  const rows = await tx`
    delete from webhook_deliveries where id in (
      select id from webhook_deliveries
      where owner_id = ${ownerId} and created_at < ${before} and status <> 'pending' and event <> 'test' limit ${limit}
    ) returning 1`
  return rows.length
}
