import type { Db } from '../../platform/db/connect.ts'
import type { Role } from '../../platform/http/caller.ts'
import type { Page } from '../../platform/http/paging.ts'

export interface SessionRow {
  id: string
  owner_id: string
  /** Null: the person who signed up. */
  person_id: string | null
  /** Role of the person. */
  role: Role
  email: string | null
  created_at: Date
  last_used_at: Date
  expires_at: Date
  /** Address of the last use; null until the first one. */
  address: string | null
  user_agent: string | null
  /** The last proof of a second factor; null: none. */
  proved_at: Date | null
  /** The last proof that was asked for by itself. */
  stepped_up_at: Date | null
  /** Whether the person has a second factor. */
  has_factor: boolean
  /** Whether the account requires one. */
  factor_required: boolean
}

const columns = (db: Db) => db`
  s.id, s.owner_id, person_id, coalesce(members.role, 'owner') as role, coalesce(members.email, accounts.email) as email,
  s.created_at, last_used_at, expires_at, address, user_agent, proved_at, stepped_up_at,
  require_second_factor as factor_required,
  (exists (
    select 1 from second_factors f
    where f.person_id = coalesce(s.person_id, s.owner_id) and f.owner_id = s.owner_id and totp_confirmed_at is not null
  ) or exists (
    select 1 from passkeys p where p.person_id = coalesce(s.person_id, s.owner_id) and p.owner_id = s.owner_id
  )) as has_factor`
/** Without those of people who have left the account. */
const withPerson = (db: Db) => db`
  join accounts on accounts.id = s.owner_id
  left join members on members.id = person_id and members.owner_id = s.owner_id and left_at is null
  where (person_id is null or members.id is not null)`

/** A person of an account, as sessions name one. */
export interface Whose {
  owner_id: string
  person_id: string | null
}

export async function insertSession(
  db: Db,
  session: Omit<SessionRow, 'role' | 'email' | 'stepped_up_at' | 'has_factor' | 'factor_required'> & { hash: Buffer },
): Promise<void> {
  await db`
    insert into sessions
    ${db(session, 'id', 'owner_id', 'person_id', 'hash', 'created_at', 'last_used_at', 'expires_at', 'address', 'user_agent', 'proved_at')}`
}

/** Has no owner parameter: this query finds the owner. */
export async function findSession(db: Db, hash: Buffer): Promise<SessionRow | null> {
  const [row] = await db<SessionRow[]>`
    select ${columns(db)} from sessions s ${withPerson(db)} and hash = ${hash}`
  return row ?? null
}

/** For a request that has proved to be of this session. */
export async function selectSession(db: Db, ownerId: string, id: string): Promise<SessionRow | null> {
  const [row] = await db<SessionRow[]>`
    select ${columns(db)} from sessions s ${withPerson(db)} and s.owner_id = ${ownerId} and s.id = ${id}`
  return row ?? null
}

/** Most recently used first. */
export async function selectSessions(db: Db, { owner_id, person_id }: Whose, now: Date, page: Page) {
  return db<SessionRow[]>`
    select ${columns(db)} from sessions s ${withPerson(db)}
      and s.owner_id = ${owner_id} and person_id is not distinct from ${person_id} and expires_at > ${now}
    order by last_used_at desc, s.id desc limit ${page.limit} offset ${page.offset}`
}

export async function countSessions(db: Db, { owner_id, person_id }: Whose, now: Date): Promise<number> {
  const [row] = await db<{ total: number }[]>`
    select count(*)::int as total from sessions
    where owner_id = ${owner_id} and person_id is not distinct from ${person_id} and expires_at > ${now}`
  return row!.total
}

/** Skips the write when another process has just made it. */
export async function touchSession(db: Db, session: SessionRow, before: Date): Promise<void> {
  await db`
    update sessions set last_used_at = ${session.last_used_at}, expires_at = ${session.expires_at},
      address = ${session.address}, user_agent = ${session.user_agent}
    where owner_id = ${session.owner_id} and id = ${session.id} and last_used_at <= ${before}`
}

/** Those of one person: all, all but one, or only one. */
export async function deleteSessions(
  db: Db,
  { owner_id, person_id }: Whose,
  { only, except }: { only?: string; except?: string } = {},
): Promise<number> {
  const rows = await db`
    delete from sessions where owner_id = ${owner_id} and person_id is not distinct from ${person_id}
      ${only === undefined ? db`` : db`and id = ${only}`} ${except === undefined ? db`` : db`and id <> ${except}`}
    returning 1`
  return rows.length
}

export async function insertReset(
  db: Db,
  reset: Whose & { hash: Buffer; created_at: Date; expires_at: Date },
): Promise<void> {
  await db`insert into password_resets ${db(reset, 'hash', 'owner_id', 'person_id', 'created_at', 'expires_at')}`
}

export async function countResetsSince(db: Db, { owner_id, person_id }: Whose, since: Date): Promise<number> {
  const [row] = await db<{ total: number }[]>`
    select count(*)::int as total from password_resets
    where owner_id = ${owner_id} and person_id is not distinct from ${person_id} and created_at > ${since}`
  return row!.total
}

/** Has no owner parameter: the token identifies the owner. */
export async function findReset(db: Db, hash: Buffer, now: Date): Promise<Whose | null> {
  const [row] = await db<Whose[]>`
    select owner_id, person_id from password_resets where hash = ${hash} and expires_at > ${now}`
  return row ?? null
}

/** Also deletes the person's other tokens. False when another request has already used this one. */
export async function spendReset(db: Db, whose: Whose, hash: Buffer): Promise<boolean> {
  const rows = await db`delete from password_resets where owner_id = ${whose.owner_id} and hash = ${hash} returning 1`
  if (rows.length > 0) await deleteResets(db, whose)
  return rows.length > 0
}

export async function deleteResets(db: Db, { owner_id, person_id }: Whose): Promise<void> {
  await db`
    delete from password_resets where owner_id = ${owner_id} and person_id is not distinct from ${person_id}`
}

export async function deleteExpired(db: Db, now: Date): Promise<void> {
  await db`delete from sessions where expires_at < ${now}`
  await db`delete from password_resets where expires_at < ${now}`
  await db`delete from invitations where expires_at < ${now}`
}
