import type { Db } from '../../platform/db/connect.ts'
import type { Role, Scope } from '../../platform/http/caller.ts'
import type { Page } from '../../platform/http/paging.ts'

export interface KeyRow {
  id: string
  owner_id: string
  /** The person who created the key; null: the person who signed up, or a program. */
  person_id: string | null
  /** Role of that person. A key has no more rights than its creator. */
  role: Role
  name: string
  prefix: string
  scopes: Scope[]
  /** Networks as `readNetwork` returns them; null: from everywhere. */
  addresses: string[] | null
  /** Null: all projects, and the account itself. */
  project_ids: string[] | null
  created_at: Date
  expires_at: Date | null
  revoked_at: Date | null
  last_used_at: Date | null
}

const columns = (db: Db) => db`
  k.id, k.owner_id, person_id, coalesce(members.role, 'owner') as role, k.name, prefix, scopes, addresses, project_ids,
  k.created_at, expires_at, revoked_at, last_used_at`
const withPerson = (db: Db) => db`
  left join members on members.id = person_id and members.owner_id = k.owner_id and left_at is null`

const inserted = [
  ...(['id', 'owner_id', 'person_id', 'name', 'prefix', 'hash', 'scopes', 'addresses', 'project_ids'] as const),
  ...(['created_at', 'expires_at'] as const),
] as const

export async function insertKey(
  db: Db,
  key: Omit<KeyRow, 'revoked_at' | 'last_used_at' | 'role'> & { hash: Buffer },
): Promise<void> {
  await db`
    insert into api_keys ${db(key, ...inserted)}`
}

/** Has no owner parameter: this query finds the owner. */
export async function findLiveKey(db: Db, hash: Buffer): Promise<KeyRow | null> {
  const [row] = await db<KeyRow[]>`
    select ${columns(db)} from api_keys k ${withPerson(db)}
    where hash = ${hash} and revoked_at is null and (person_id is null or members.id is not null)`
  return row ?? null
}

export async function selectKeys(db: Db, ownerId: string, page: Page): Promise<KeyRow[]> {
  return db<KeyRow[]>`
    select ${columns(db)} from api_keys k ${withPerson(db)} where k.owner_id = ${ownerId}
    order by k.created_at desc, k.id desc limit ${page.limit} offset ${page.offset}`
}

/** Needs no index: an owner has only a few keys. */
export async function countKeys(db: Db, ownerId: string): Promise<number> {
  const [row] = await db<{ total: number }[]>`select count(*)::int as total from api_keys where owner_id = ${ownerId}`
  return row!.total
}

/** Skips the write when another process has just made it. */
export async function touchKey(db: Db, key: Pick<KeyRow, 'owner_id' | 'id'>, now: Date, before: Date): Promise<void> {
  await db`
    update api_keys set last_used_at = ${now}
    where owner_id = ${key.owner_id} and id = ${key.id} and (last_used_at is null or last_used_at <= ${before})`
}

/**
 * False when the owner has no such key, or none that `creator` created. A key that is already revoked keeps its time.
 */
export async function revokeKey(
  db: Db,
  ownerId: string,
  id: string,
  now: Date,
  creator: string | undefined,
): Promise<boolean> {
  const rows = await db`
    update api_keys set revoked_at = coalesce(revoked_at, ${now})
    where owner_id = ${ownerId} and id = ${id}
      ${creator === undefined ? db`` : db`and coalesce(person_id, owner_id) = ${creator}`} returning 1`
  return rows.length > 0
}

/** Operator query, without an owner. */
export async function selectKeyOwner(db: Db, id: string): Promise<string | null> {
  const [row] = await db<{ owner_id: string }[]>`select owner_id from api_keys where id = ${id}`
  return row?.owner_id ?? null
}
