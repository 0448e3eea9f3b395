import type { Db } from '../db/connect.ts'

export interface KeyRow {
  id: string
  owner_id: string
  name: string
  scopes: string[]
  created_at: Date
  expires_at: Date | null
  revoked_at: Date | null
  last_used_at: Date | null
}

export async function insertKey(
  db: Db,
  ownerId: string,
  key: Omit<KeyRow, 'owner_id' | 'revoked_at' | 'last_used_at'>,
  hash: Buffer,
) {
  await db`
    insert into api_keys (id, owner_id, name, hash, scopes, created_at, expires_at)
    values (${key.id}, ${ownerId}, ${key.name}, ${hash}, ${key.scopes}, ${key.created_at}, ${key.expires_at})`
}

/** The one query without an owner: it is what tells the owner. */
export async function findLiveKey(db: Db, hash: Buffer, now: Date): Promise<KeyRow | undefined> {
  const [row] = await db<KeyRow[]>`
    select id, owner_id, name, scopes, created_at, expires_at, revoked_at, last_used_at from api_keys
    where hash = ${hash} and revoked_at is null and (expires_at is null or expires_at > ${now})`
  return row
}

export async function touchKey(db: Db, ownerId: string, id: string, now: Date): Promise<void> {
  await db`update api_keys set last_used_at = ${now} where owner_id = ${ownerId} and id = ${id}`
}

export async function revokeKey(db: Db, ownerId: string, id: string, now: Date): Promise<boolean> {
  const rows = await db`
    update api_keys set revoked_at = ${now} where owner_id = ${ownerId} and id = ${id} and revoked_at is null returning 1`
  return rows.length > 0
}
