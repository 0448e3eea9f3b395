import { selectProjects } from '../../agents/projects/sql.ts'
import type { Db } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { credentialCacheByPorts } from '../../platform/http/credential-cache.ts'
import type { Page } from '../../platform/http/paging.ts'
import { invalidField } from '../../platform/http/problem.ts'
import { time } from '../../platform/http/shapes.ts'
import { randomBase62, sha256, uuidv7 } from '../../platform/ids.ts'
import { inBackground } from '../../platform/jobs/background.ts'
import { isWithin } from './addresses.ts'
import { countKeys, findLiveKey, insertKey, type KeyRow, revokeKey, selectKeys, touchKey } from './sql.ts'

type Ports = Pick<Deps, 'sql' | 'clock'>

const PREFIX = 'svc_'
const SHOWN_CHARS = 8
const KEY = /^svc_[0-9A-Za-z]{43}$/
/** Milliseconds by which `last_used_at` may lag: one write a minute instead of one a request. */
const TOUCH_MS = 60_000

export const keyCache = credentialCacheByPorts<KeyRow>()

export function presentKey(row: Omit<KeyRow, 'role'>) {
  const { id, name, scopes, prefix, addresses, project_ids } = row
  return {
    id,
    name,
    scopes,
    prefix,
    addresses,
    project_ids,
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
  input: Pick<KeyRow, 'name' | 'scopes'> &
    Partial<Pick<KeyRow, 'expires_at' | 'person_id' | 'addresses' | 'project_ids'>>,
  save: (db: Db, answer: unknown) => Promise<void> = async () => {},
) {
  const value = PREFIX + randomBase62()
  const created_at = wallDate(deps)
  const { name, scopes, expires_at = null, person_id = null, addresses = null, project_ids = null } = input
  const row = {
    id: uuidv7(created_at.getTime()),
    owner_id: ownerId,
    person_id,
    name,
    prefix: value.slice(0, SHOWN_CHARS),
    scopes,
    addresses,
    project_ids,
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

/** Throws `validation_failed` for a project that the owner does not have. */
export async function assertOwnProjects(
  deps: Pick<Deps, 'sql'>,
  ownerId: string,
  ids: readonly string[] | null,
): Promise<void> {
  const own = new Set(ids === null ? [] : (await selectProjects(deps.sql, ownerId)).map(({ id }) => id))
  const index = (ids ?? []).findIndex(id => !own.has(id))
  if (index >= 0) throw invalidField(`/project_ids/${index}`, 'unknown_project', 'must be the id of a project')
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

/** `elsewhere`: the key is right, but may not be used from this address. Null: there is no such key. */
export async function verifyKey(
  deps: Ports & Pick<Deps, 'log'>,
  value: string,
  address: string,
): Promise<KeyRow | 'elsewhere' | null> {
  if (!KEY.test(value)) return null
  const hash = sha256(value)
  const key = await keyCache(deps).of(hash, () => findLiveKey(deps.sql, hash))
  const now = wallDate(deps)
  if (!key || (key.expires_at && key.expires_at <= now)) return null
  if (key.addresses !== null && !isWithin(key.addresses, address)) return 'elsewhere'
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
