import type { Db } from '../../platform/db/connect.ts'
import type { Page } from '../../platform/http/paging.ts'

export interface SessionRow {
  id: string
  owner_id: string
  created_at: Date
  last_used_at: Date
  expires_at: Date
  /** Address of the last use; null until the first one. */
  address: string | null
  user_agent: string | null
}

const columns = (db: Db) => db`id, owner_id, created_at, last_used_at, expires_at, address, user_agent`

export async function insertSession(db: Db, session: SessionRow & { hash: Buffer }): Promise<void> {
  await db`
    insert into sessions
    ${db(session, 'id', 'owner_id', 'hash', 'created_at', 'last_used_at', 'expires_at', 'address', 'user_agent')}`
}

/** Has no owner parameter: this query finds the owner. */
export async function findSession(db: Db, hash: Buffer): Promise<SessionRow | null> {
  const [row] = await db<SessionRow[]>`
    select ${columns(db)} from sessions where hash = ${hash}`
  return row ?? null
}

/** Most recently used first. */
export async function selectSessions(db: Db, ownerId: string, now: Date, page: Page): Promise<SessionRow[]> {
  return db<SessionRow[]>`
    select ${columns(db)} from sessions where owner_id = ${ownerId} and expires_at > ${now}
    order by last_used_at desc, id desc limit ${page.limit} offset ${page.offset}`
}

export async function countSessions(db: Db, ownerId: string, now: Date): Promise<number> {
  const [row] = await db<{ total: number }[]>`
    select count(*)::int as total from sessions where owner_id = ${ownerId} and expires_at > ${now}`
  return row!.total
}

/** Skips the write when another process has just made it. */
export async function touchSession(db: Db, session: SessionRow, before: Date): Promise<void> {
  await db`
    update sessions set last_used_at = ${session.last_used_at}, expires_at = ${session.expires_at},
      address = ${session.address}, user_agent = ${session.user_agent}
    where owner_id = ${session.owner_id} and id = ${session.id} and last_used_at <= ${before}`
}

export async function deleteSessions(
  db: Db,
  ownerId: string,
  { only, except }: { only?: string; except?: string },
): Promise<number> {
  const rows = await db`
    delete from sessions where owner_id = ${ownerId}
      ${only === undefined ? db`` : db`and id = ${only}`} ${except === undefined ? db`` : db`and id <> ${except}`}
    returning 1`
  return rows.length
}

export async function insertReset(
  db: Db,
  reset: { hash: Buffer; owner_id: string; created_at: Date; expires_at: Date },
): Promise<void> {
  await db`insert into password_resets ${db(reset, 'hash', 'owner_id', 'created_at', 'expires_at')}`
}

export async function countResetsSince(db: Db, ownerId: string, since: Date): Promise<number> {
  const [row] = await db<{ total: number }[]>`
    select count(*)::int as total from password_resets where owner_id = ${ownerId} and created_at > ${since}`
  return row!.total
}

/** Has no owner parameter: the token identifies the owner. */
export async function findReset(db: Db, hash: Buffer, now: Date): Promise<string | null> {
  const [row] = await db<{ owner_id: string }[]>`
    select owner_id from password_resets where hash = ${hash} and expires_at > ${now}`
  return row?.owner_id ?? null
}

/** Also deletes the owner's other tokens. False when another request has already used this one. */
export async function spendReset(db: Db, ownerId: string, hash: Buffer): Promise<boolean> {
  const rows = await db`delete from password_resets where owner_id = ${ownerId} and hash = ${hash} returning 1`
  if (rows.length > 0) await deleteResets(db, ownerId)
  return rows.length > 0
}

export async function deleteResets(db: Db, ownerId: string): Promise<void> {
  await db`delete from password_resets where owner_id = ${ownerId}`
}

export async function deleteExpired(db: Db, now: Date): Promise<void> {
  await db`delete from sessions where expires_at < ${now}`
  await db`delete from password_resets where expires_at < ${now}`
}
