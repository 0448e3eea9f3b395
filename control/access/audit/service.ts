/**
 * The audit log: who did what, when and from where. An entry is written before the operation begins and gets its
 * outcome once, so that no operation is missing from the log, even when the process is killed. Entries hold no bodies
 * and no data of the people who are called.
 */

import type { Db } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import type { AuditEntry, AuditLog, AuditResult } from '../../platform/http/audit-log.ts'
import { toProblem } from '../../platform/http/errors.ts'
import { uuidv7 } from '../../platform/ids.ts'
import { errorFields } from '../../platform/log.ts'
import {
  type AuditRow,
  deleteFormerMembers,
  deleteOldAuditEntries,
  insertAuditEntry,
  insertStarted,
  selectAuditEntries,
  updateOutcome,
} from './sql.ts'

type Ports = Pick<Deps, 'sql' | 'clock' | 'log'>

export async function audited<T>(
  deps: Ports,
  ownerId: string,
  entry: AuditEntry,
  work: () => Promise<T>,
  auditResultOf: (result: T) => AuditResult = () => DONE,
): Promise<T> {
  const at = wallDate(deps)
  const id = uuidv7(at.getTime())
  await insertStarted(deps.sql, ownerId, { ...entry, id, at, outcome: null, code: null })
  // A failure to record the outcome leaves the entry as begun. It must not reach the client, whose operation has run.
  const report = (result: AuditResult) =>
    updateOutcome(deps.sql, ownerId, id, result).catch(error =>
      deps.log.error({ error: errorFields(error), operation: entry.operation }, 'audit outcome was not recorded'),
    )
  let result: T
  try {
    result = await work()
  } catch (error) {
    const { status, code } = toProblem(error)
    await report({ outcome: status >= 500 ? 'failed' : 'refused', code, resource: null })
    throw error
  }
  await report(auditResultOf(result))
  return result
}

export const createAuditLog = (deps: Ports): AuditLog => ({
  audited: (ownerId, entry, work, auditResultOf) => audited(deps, ownerId, entry, work, auditResultOf),
})

const DONE: AuditResult = { outcome: 'done', code: null, resource: null }

/** Records an operation that has completed, or that completes in the same transaction. */
export async function noteDone(db: Db, deps: Pick<Deps, 'clock'>, ownerId: string, entry: AuditEntry): Promise<void> {
  const at = wallDate(deps)
  await insertAuditEntry(db, ownerId, { ...entry, ...DONE, resource: entry.resource, id: uuidv7(at.getTime()), at })
}

/** Entry for a person who enters the account or leaves it. */
export const entering = (
  operation: string,
  { id, ip }: { id: string; ip: string },
  personId: string | null,
): AuditEntry => ({
  actor: 'person',
  actor_id: null,
  channel: 'auth',
  address: ip,
  operation,
  resource: null,
  request_id: id,
  person_id: personId,
})

// ---- Reading ----

const CURSOR = /^([0-9a-z]{1,11})_([0-9a-f]{32})$/
const TIME_BASE = 36

const cursorOf = ({ at, id }: AuditRow) => `${at.getTime().toString(TIME_BASE)}_${id.replaceAll('-', '')}`

export const isCursor = (text: string) => CURSOR.test(text)

function positionOf(cursor: string) {
  const [, time = '', hex = ''] = CURSOR.exec(cursor) ?? []
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  // Postgres rejects times beyond the year 9999; no entry lies there.
  return { at: new Date(Math.min(Number.parseInt(time, TIME_BASE), Date.UTC(9999, 0))), id }
}

export async function listAuditEntries(
  deps: Pick<Deps, 'sql'>,
  ownerId: string,
  { limit, cursor, operation }: { limit: number; cursor?: string | undefined; operation?: string | undefined },
) {
  const after = cursor === undefined ? null : positionOf(cursor)
  // One extra row shows whether there is another page.
  const rows = await selectAuditEntries(deps.sql, ownerId, { limit: limit + 1, after, operation })
  const page = rows.slice(0, limit)
  return {
    items: page.map(({ at, owner_id: _, person_id: __, ...row }) => ({ ...row, at: at.toISOString() })),
    next_cursor: rows.length > limit ? cursorOf(page.at(-1)!) : null,
  }
}

// ---- Retention ----

const KEPT_MS = 365 * 24 * 3600 * 1000
const DELETED_AT_ONCE = 5000

export async function sweepAuditEntries(deps: Pick<Deps, 'sql' | 'clock'>): Promise<void> {
  const before = new Date(deps.clock.wall() - KEPT_MS)
  await deleteFormerMembers(deps.sql, before)
  let gone: number
  do gone = await deps.sql.begin(tx => deleteOldAuditEntries(tx, before, DELETED_AT_ONCE))
  while (gone === DELETED_AT_ONCE)
}
