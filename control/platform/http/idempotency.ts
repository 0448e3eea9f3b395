/**
 * Idempotency-Key: one request with one body runs once, and its response is repeated for 24 hours. A resource that is
 * created in a transaction saves its response in the same transaction, so that a crash cannot create it twice: either
 * both exist, or neither, and the key is free again.
 */

import type { Db } from '../db/connect.ts'
import { type Deps, wallDate } from '../deps.ts'
import { sha256 } from '../ids.ts'
import { invalidField, Problem } from './problem.ts'

const KEPT_MS = 24 * 3600 * 1000
/** Longer than any request takes; after that, its process must be dead. */
const LOCK_MS = 60_000
const MAX_KEY = 255

export interface Answer {
  status: number
  body: string
}

export interface IdempotencyClaim {
  ownerId: string
  key: string
  /** Time of the claim: a request that took over the key after `LOCK_MS` has another one. */
  at: Date
}

interface Row {
  fingerprint: Buffer
  locked_at: Date
  status: number | null
  body: string | null
  expires_at: Date
}

/** Sorts keys at every level, so that the same JSON in another order is the same request. */
function canonical(value: unknown): string {
  return JSON.stringify(value ?? null, (_, inner: unknown) =>
    inner && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}

export function readKey(header: string | string[] | undefined): string | null {
  if (header === undefined) return null
  if (typeof header !== 'string' || header.length === 0 || header.length > MAX_KEY) {
    throw invalidField('', 'idempotency_key', `Idempotency-Key must have 1 to ${MAX_KEY} characters`)
  }
  return header
}

/** Returns null for the first request, which must then run and save its response. */
export async function claimKey(
  deps: Deps,
  claim: IdempotencyClaim,
  request: { operation: string; params: unknown; query: unknown; body: unknown; extras: unknown },
): Promise<Answer | null> {
  const { sql } = deps
  const now = claim.at
  const fingerprint = sha256(canonical(request))
  const stale = new Date(now.getTime() - LOCK_MS)
  const expires = new Date(now.getTime() + KEPT_MS)
  const taken = await sql`
    insert into idempotency (owner_id, key, fingerprint, locked_at, expires_at)
    values (${claim.ownerId}, ${claim.key}, ${fingerprint}, ${now}, ${expires})
    on conflict (owner_id, key) do update
      set fingerprint = excluded.fingerprint, locked_at = excluded.locked_at, expires_at = excluded.expires_at,
          status = null, body = null
      where idempotency.expires_at <= ${now}
        or (idempotency.status is null and idempotency.locked_at < ${stale}
            and idempotency.fingerprint = excluded.fingerprint)
    returning 1`
  if (taken.length > 0) return null
  const [row] = await sql<Row[]>`
    select * from idempotency where owner_id = ${claim.ownerId} and key = ${claim.key}`
  if (row && !row.fingerprint.equals(fingerprint)) throw new Problem('idempotency_mismatch')
  // No row: the first request failed on our side and released the key between the two queries.
  if (!row || row.status === null) throw new Problem('idempotency_in_flight', { retryAfterSeconds: 1 })
  return { status: row.status, body: row.body ?? 'null' }
}

/** False when a response is already saved, or the request took so long that another one has taken over the key. */
export async function saveAnswer(db: Db, claim: IdempotencyClaim, answer: Answer): Promise<boolean> {
  const rows = await db`
    update idempotency set status = ${answer.status}, body = ${answer.body}
    where owner_id = ${claim.ownerId} and key = ${claim.key} and locked_at = ${claim.at} and status is null returning 1`
  return rows.length > 0
}

/** After a failure on our side: the same request may be retried at once. A saved response stays. */
export async function releaseKey(deps: Deps, claim: IdempotencyClaim): Promise<void> {
  await deps.sql`
    delete from idempotency where owner_id = ${claim.ownerId} and key = ${claim.key} and locked_at = ${claim.at} and status is null`
}

export async function forgetOldKeys(deps: Deps): Promise<void> {
  await deps.sql`delete from idempotency where expires_at < ${wallDate(deps)}`
}
