/**
 * Who did what, when and from where. A audit entry is written before it is begun and told once how it went, so that nothing is
 * done that is not in the log, whatever is killed. No bodies, and nothing of the people who are called.
 */

import type { Db } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import type { AuditEntry, AuditLog, Told } from '../../platform/http/audit-log.ts'
import { toProblem } from '../../platform/http/errors.ts'
import { uuidv7 } from '../../platform/ids.ts'
import { errorFields } from '../../platform/log.ts'
import {
  type AuditRow,
  deleteOldAuditEntries,
  insertAuditEntry,
  insertBegun,
  selectAuditEntries,
  updateOutcome,
} from './sql.ts'

type Ports = Pick<Deps, 'sql' | 'clock' | 'log'>

export async function audited<T>(
  deps: Ports,
  ownerId: string,
  entry: AuditEntry,
  work: () => Promise<T>,
  toldOf: (result: T) => Told = () => DONE,
): Promise<T> {
  const at = wallDate(deps)
  const id = uuidv7(at.getTime())
  await insertBegun(deps.sql, ownerId, { ...entry, id, at, outcome: null, code: null })
  // Done is done, and stands there as begun: who asked is not told of a failure that is the log's own.
  const tell = (told: Told) =>
    updateOutcome(deps.sql, ownerId, id, told).catch(error =>
      deps.log.error({ error: errorFields(error), operation: entry.operation }, 'an outcome is not in the audit log'),
    )
  let result: T
  try {
    result = await work()
  } catch (error) {
    const { status, code } = toProblem(error)
    await tell({ outcome: status >= 500 ? 'failed' : 'refused', code, resource: null })
    throw error
  }
  await tell(toldOf(result))
  return result
}

export const createAuditLog = (deps: Ports): AuditLog => ({
  audited: (ownerId, entry, work, toldOf) => audited(deps, ownerId, entry, work, toldOf),
})

const DONE: Told = { outcome: 'done', code: null, resource: null }

/** What is done already, or in the same transaction. */
export async function noteDone(db: Db, deps: Pick<Deps, 'clock'>, ownerId: string, entry: AuditEntry): Promise<void> {
  const at = wallDate(deps)
  await insertAuditEntry(db, ownerId, { ...entry, ...DONE, resource: entry.resource, id: uuidv7(at.getTime()), at })
}

/** Who enters the account or leaves it. */
export const entering = (operation: string, { id, ip }: { id: string; ip: string }): AuditEntry => ({
  ...{ actor: 'person', actor_id: null, door: 'auth', address: ip },
  ...{ operation, resource: null, request_id: id },
})

// ---- to read ----

const CURSOR = /^([0-9a-z]{1,11})_([0-9a-f]{32})$/
const TIME_BASE = 36

const cursorOf = ({ at, id }: AuditRow) => `${at.getTime().toString(TIME_BASE)}_${id.replaceAll('-', '')}`

export const isCursor = (text: string) => CURSOR.test(text)

function placeOf(cursor: string) {
  const [, time = '', hex = ''] = CURSOR.exec(cursor) ?? []
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  // Beyond any time that Postgres has, too, there is nothing.
  return { at: new Date(Math.min(Number.parseInt(time, TIME_BASE), Date.UTC(9999, 0))), id }
}

export async function listAuditEntries(
  deps: Pick<Deps, 'sql'>,
  ownerId: string,
  { limit, cursor, operation }: { limit: number; cursor?: string | undefined; operation?: string | undefined },
) {
  const after = cursor === undefined ? null : placeOf(cursor)
  // One more tells whether there is another page.
  const rows = await selectAuditEntries(deps.sql, ownerId, { limit: limit + 1, after, operation })
  const page = rows.slice(0, limit)
  return {
    items: page.map(({ at, owner_id: _, ...row }) => ({ ...row, at: at.toISOString() })),
    next_cursor: rows.length > limit ? cursorOf(page.at(-1)!) : null,
  }
}

// ---- its end ----

const KEPT_MS = 365 * 24 * 3600 * 1000
const DELETED_AT_ONCE = 5000

export async function sweepAuditEntries(deps: Pick<Deps, 'sql' | 'clock'>): Promise<void> {
  const before = new Date(deps.clock.wall() - KEPT_MS)
  let gone: number
  do gone = await deps.sql.begin(tx => deleteOldAuditEntries(tx, before, DELETED_AT_ONCE))
  while (gone === DELETED_AT_ONCE)
}
