import type { Db } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import type { Scope } from '../../platform/http/caller.ts'
import { credentialCacheByPorts } from '../../platform/http/credential-cache.ts'
import type { Page } from '../../platform/http/paging.ts'
import { invalidField } from '../../platform/http/problem.ts'
import { time } from '../../platform/http/shapes.ts'
import { randomBase62, sha256, uuidv7 } from '../../platform/ids.ts'
import { inBackground } from '../../platform/jobs/background.ts'
import { countKeys, findLiveKey, insertKey, type KeyRow, revokeKey, selectKeys, touchKey } from './sql.ts'

type Ports = Pick<Deps, 'sql' | 'clock'>

const PREFIX = 'svc_'
const SHOWN_CHARS = 8
const KEY = /^svc_[0-9A-Za-z]{43}$/
/** Milliseconds by which `last_used_at` may lag: one write a minute instead of one a request. */
const TOUCH_MS = 60_000

export const keyCache = credentialCacheByPorts<KeyRow>()

export function presentKey(row: Omit<KeyRow, 'role'>) {
  const { id, name, scopes, prefix } = row
  return {
    id,
    name,
    scopes,
    prefix,
    created_at: row.created_at.toISOString(),
    expires_at: time(row.expires_at),
    last_used_at: time(row.last_used_at),
    revoked_at: time(row.revoked_at),
  }
}

/** `value` is shown now and never again. */
export async function createKey(
  deps: Ports,
  ownerId: string,
  input: { name: string; scopes: Scope[]; expires_at?: Date | null; person_id?: string | null },
  save: (db: Db, answer: unknown) => Promise<void> = async () => {},
) {
  const value = PREFIX + randomBase62()
  const created_at = wallDate(deps)
  const { name, scopes, expires_at = null, person_id = null } = input
  const id = uuidv7(created_at.getTime())
  const row = {
    id,
    owner_id: ownerId,
    person_id,
    name,
    prefix: value.slice(0, SHOWN_CHARS),
    scopes,
    created_at,
    expires_at,
  }
  const answer = { ...presentKey({ ...row, revoked_at: null, last_used_at: null }), value }
  await deps.sql.begin(async tx => {
    await insertKey(tx, { ...row, hash: sha256(value) })
    await save(tx, answer)
  })
  return answer
}

export async function listKeys(deps: Pick<Deps, 'sql'>, ownerId: string, page: Page) {
  const [rows, total] = await Promise.all([selectKeys(deps.sql, ownerId, page), countKeys(deps.sql, ownerId)])
  return { items: rows.map(presentKey), total, limit: page.limit, offset: page.offset }
}

/** Rejects an expiry in the past, which can only be a mistake. */
export function futureDate(deps: Pick<Deps, 'clock'>, text: string | null | undefined): Date | null {
  if (text === null || text === undefined) return null
  const date = new Date(text)
  if (date.getTime() <= deps.clock.wall()) throw invalidField('/expires_at', 'past', 'must be in the future')
  return date
}

export async function verifyKey(deps: Ports & Pick<Deps, 'log'>, value: string): Promise<KeyRow | null> {
  if (!KEY.test(value)) return null
  const hash = sha256(value)
  const key = await keyCache(deps).of(hash, () => findLiveKey(deps.sql, hash))
  const now = wallDate(deps)
  if (!key || (key.expires_at && key.expires_at <= now)) return null
  noteUse(deps, key, now)
  return key
}

/** Runs in the background; the request does not wait. */
function noteUse(deps: Ports & Pick<Deps, 'log'>, key: KeyRow, now: Date): void {
  const before = new Date(now.getTime() - TOUCH_MS)
  if (key.last_used_at && key.last_used_at > before) return
  key.last_used_at = now // other requests of this process share this row
  inBackground(deps, 'last use of API key was not recorded', touchKey(deps.sql, key, now, before))
}

/** False when the owner has no such key, or none that `creator` created. */
export async function revoke(deps: Ports, ownerId: string, id: string, creator?: string): Promise<boolean> {
  const found = await revokeKey(deps.sql, ownerId, id, wallDate(deps), creator)
  keyCache(deps).forget(key => key.id === id)
  return found
}
