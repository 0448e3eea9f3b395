/** Dashboard sessions: a random token in a cookie and its hash in the database. Each use extends the session. */
import { cleanText } from '../../platform/db/text.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { credentialCacheByPorts } from '../../platform/http/credential-cache.ts'
import type { Page } from '../../platform/http/paging.ts'
import { newToken, sha256, uuidv7 } from '../../platform/ids.ts'
import { inBackground } from '../../platform/jobs/background.ts'
import { deviceOf } from './device.ts'
import {
  countSessions,
  deleteSessions,
  findSession,
  insertSession,
  type SessionRow,
  selectSession,
  selectSessions,
  touchSession,
  type Whose,
} from './sql.ts'

export type { SessionRow, Whose } from './sql.ts'

type Ports = Pick<Deps, 'sql' | 'clock' | 'config'>

const TOKEN = /^[\w-]{43}$/
/** Milliseconds by which the expiry may lag: one cookie an hour instead of one a request. */
const EXTEND_MS = 3_600_000
/** Milliseconds by which the last use may lag: one write a minute instead of one a request. */
const TOUCH_MS = 60_000
const DAY_MS = 24 * EXTEND_MS
const MOST_AGENT_CHARS = 400

const cache = credentialCacheByPorts<SessionRow>()
const endFrom = (deps: Ports, now: Date) => new Date(now.getTime() + deps.config.session_days * DAY_MS)

/** Where a session is used, as its person sees it in the list. */
export interface UsedFrom {
  address: string | null
  userAgent: string | null
}
const NOWHERE: UsedFrom = { address: null, userAgent: null }

export const usedFrom = ({
  ip,
  headers,
}: {
  ip: string
  headers: { 'user-agent'?: string | undefined }
}): UsedFrom => ({
  address: ip,
  userAgent: cleanText(headers['user-agent'] ?? '').slice(0, MOST_AGENT_CHARS) || null,
})

export interface NewSession {
  session: Pick<SessionRow, 'id' | 'expires_at'>
  /** Value of the cookie; only its hash is stored. */
  token: string
}

/** A person as `people` names one; null for the person who signed up, whose id is that of the account. */
export const whoseOf = ({ id, owner_id }: { id: string; owner_id: string }): Whose => ({
  owner_id,
  person_id: id === owner_id ? null : id,
})

interface Opening {
  from?: UsedFrom
  /** The person who signed up, by default. */
  personId?: string
  /** True when the person has just proved a second factor. */
  proved?: boolean
}

export async function openSession(deps: Ports, ownerId: string, opening: Opening = {}): Promise<NewSession> {
  const { from = NOWHERE, personId = ownerId, proved = false } = opening
  const token = newToken()
  const now = wallDate(deps)
  const session = {
    id: uuidv7(now.getTime()),
    ...whoseOf({ id: personId, owner_id: ownerId }),
    created_at: now,
    last_used_at: now,
    expires_at: endFrom(deps, now),
    address: from.address,
    user_agent: from.userAgent,
    proved_at: proved ? now : null,
  }
  await insertSession(deps.sql, { ...session, hash: sha256(token) })
  return { session, token }
}

/** `extended`: the expiry has moved, so the cookie must be set again. */
export async function verifySession(
  deps: Ports & Pick<Deps, 'log'>,
  token: string,
  from: UsedFrom,
): Promise<{ session: SessionRow; extended: boolean } | null> {
  if (!TOKEN.test(token)) return null
  const hash = sha256(token)
  const session = await cache(deps).of(hash, () => findSession(deps.sql, hash))
  const now = wallDate(deps)
  if (!session || session.expires_at <= now) return null
  return { session, extended: noteUse(deps, session, now, from) }
}

/** Runs in the background; the request does not wait. Returns whether the expiry has moved. */
function noteUse(deps: Ports & Pick<Deps, 'log'>, session: SessionRow, now: Date, from: UsedFrom): boolean {
  const before = new Date(now.getTime() - TOUCH_MS)
  const moved = from.address !== session.address
  if (session.last_used_at > before && !moved) return false
  const end = endFrom(deps, now)
  const extended = end.getTime() - session.expires_at.getTime() >= EXTEND_MS
  // Other requests of this process share this row.
  session.last_used_at = now
  session.address = from.address
  session.user_agent = from.userAgent
  if (extended) session.expires_at = end
  inBackground(deps, 'use of session was not recorded', touchSession(deps.sql, session, moved ? now : before))
  return extended
}

/** Not cached: what the second factor decides must be of this moment. */
export const sessionById = (deps: Ports, ownerId: string, id: string) => selectSession(deps.sql, ownerId, id)

const presentSession = (row: SessionRow, current: string | null) => ({
  id: row.id,
  current: row.id === current,
  device: deviceOf(row.user_agent),
  address: row.address,
  created_at: row.created_at.toISOString(),
  last_used_at: row.last_used_at.toISOString(),
  expires_at: row.expires_at.toISOString(),
})

export async function listSessions(deps: Ports, whose: Whose, current: string | null, page: Page) {
  const now = wallDate(deps)
  const [rows, total] = await Promise.all([
    selectSessions(deps.sql, whose, now, page),
    countSessions(deps.sql, whose, now),
  ])
  return { items: rows.map(row => presentSession(row, current)), total, limit: page.limit, offset: page.offset }
}

/** Ends all sessions of the person, all but one, or only one. Returns how many it ended. */
export async function endSessions(
  deps: Ports,
  whose: Whose,
  which: { only?: string; except?: string } = {},
): Promise<number> {
  const ended = await deleteSessions(deps.sql, whose, which)
  forgetSessions(deps, whose.owner_id)
  return ended
}

/** Takes effect at once in this process. Call it after the commit when sessions were deleted in a transaction. */
export function forgetSessions(deps: Ports, ownerId: string): void {
  cache(deps).forget(session => session.owner_id === ownerId)
}
