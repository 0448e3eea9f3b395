import { type Deps, wallDate } from '../deps.ts'
import { randomBase62, sha256, uuidv7 } from '../ids.ts'
import { findLiveKey, insertKey, type KeyRow, revokeKey, touchKey } from './sql.ts'

export type Scope = 'read' | 'write'
type Ports = Pick<Deps, 'sql' | 'clock'>

const PREFIX = 'svc_'
/** How stale `last_used_at` may be: a write a minute, not a write a request. */
const TOUCH_MS = 60_000

/** `value` is shown now and never again. */
export async function createKey(
  deps: Ports,
  ownerId: string,
  input: { name: string; scopes: Scope[]; expires_at?: Date | null },
): Promise<{ id: string; value: string }> {
  const value = PREFIX + randomBase62()
  const now = wallDate(deps)
  const id = uuidv7(now.getTime())
  await insertKey(
    deps.sql,
    ownerId,
    { id, name: input.name, scopes: input.scopes, created_at: now, expires_at: input.expires_at ?? null },
    sha256(value),
  )
  return { id, value }
}

/** Asked of the database at every request, so that a revoked key is dead everywhere at once. */
export async function verifyKey(deps: Ports, value: string): Promise<KeyRow | null> {
  if (!value.startsWith(PREFIX)) return null
  const now = wallDate(deps)
  const key = await findLiveKey(deps.sql, sha256(value), now)
  if (!key) return null
  if (!key.last_used_at || now.getTime() - key.last_used_at.getTime() >= TOUCH_MS) {
    await touchKey(deps.sql, key.owner_id, key.id, now)
  }
  return key
}

export async function revoke(deps: Ports, ownerId: string, id: string): Promise<boolean> {
  return revokeKey(deps.sql, ownerId, id, wallDate(deps))
}
