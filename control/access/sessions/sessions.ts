/** Dashboard sessions: a random token in a cookie and its hash in the database. Each use extends the session. */
import { randomBytes } from 'node:crypto'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { credentialCacheByPorts } from '../../platform/http/credential-cache.ts'
import { sha256, uuidv7 } from '../../platform/ids.ts'
import { inBackground } from '../../platform/jobs/background.ts'
import { deleteSessions, findSession, insertSession, type SessionRow, touchSession } from './sql.ts'

export type { SessionRow } from './sql.ts'

type Ports = Pick<Deps, 'sql' | 'clock' | 'config'>

const TOKEN_BYTES = 32
const TOKEN = /^[\w-]{43}$/
/** Milliseconds by which the expiry may lag: one write an hour instead of one a request. */
const TOUCH_MS = 3_600_000
const DAY_MS = 24 * TOUCH_MS

const cache = credentialCacheByPorts<SessionRow>()
const endFrom = (deps: Ports, now: Date) => new Date(now.getTime() + deps.config.session_days * DAY_MS)

export interface NewSession {
  session: SessionRow
  /** Value of the cookie; only its hash is stored. */
  token: string
}

export async function openSession(deps: Ports, ownerId: string): Promise<NewSession> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const now = wallDate(deps)
  const session = {
    id: uuidv7(now.getTime()),
    owner_id: ownerId,
    created_at: now,
    last_used_at: now,
    expires_at: endFrom(deps, now),
  }
  await insertSession(deps.sql, { ...session, hash: sha256(token) })
  return { session, token }
}

/** `extended`: the expiry has moved, so the cookie must be set again. */
export async function verifySession(
  deps: Ports & Pick<Deps, 'log'>,
  token: string,
): Promise<{ session: SessionRow; extended: boolean } | null> {
  if (!TOKEN.test(token)) return null
  const hash = sha256(token)
  const session = await cache(deps).of(hash, () => findSession(deps.sql, hash))
  const now = wallDate(deps)
  if (!session || session.expires_at <= now) return null
  const before = new Date(now.getTime() - TOUCH_MS)
  if (session.last_used_at > before) return { session, extended: false }
  session.last_used_at = now // other requests of this process share this row
  session.expires_at = endFrom(deps, now)
  inBackground(deps, 'session was not extended', touchSession(deps.sql, session, before))
  return { session, extended: true }
}

/** Ends all sessions of the owner, all but one, or only one. Returns how many it ended. */
export async function endSessions(
  deps: Ports,
  ownerId: string,
  which: { only?: string; except?: string } = {},
): Promise<number> {
  const ended = await deleteSessions(deps.sql, ownerId, which)
  forgetSessions(deps, ownerId)
  return ended
}

/** Takes effect at once in this process. Call it after the commit when sessions were deleted in a transaction. */
export function forgetSessions(deps: Ports, ownerId: string): void {
  cache(deps).forget(session => session.owner_id === ownerId)
}
