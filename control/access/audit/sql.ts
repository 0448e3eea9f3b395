import { type Db, json, type Tx } from '../../platform/db/connect.ts'
import type { AuditEntry, AuditOutcome } from '../../platform/http/audit-log.ts'

export interface AuditRow extends AuditEntry {
  id: string
  owner_id: string
  at: Date
  outcome: AuditOutcome | null
  code: string | null
}

const columns = [
  ...(['id', 'owner_id', 'at', 'actor', 'actor_id', 'channel', 'address', 'operation', 'resource'] as const),
  ...(['request_id', 'outcome', 'code', 'person_id'] as const),
] as const

export async function insertAuditEntry(db: Db, ownerId: string, row: Omit<AuditRow, 'owner_id'>): Promise<void> {
  await db`insert into audit_log ${db({ ...row, owner_id: ownerId }, ...columns)}`
}

/**
 * Turns off `synchronous_commit` for one statement, which then does not wait for the disk. The work that it announces
 * does wait, and its flush includes everything written before it.
 */
const quickly = (db: Db) => db`select set_config('synchronous_commit', 'off', true)`

export async function insertStarted(db: Db, ownerId: string, row: Omit<AuditRow, 'owner_id'>): Promise<void> {
  await db`
    with quick as (${quickly(db)})
    insert into audit_log select begun.*
    from quick, jsonb_populate_record(null::audit_log, ${json(db, { ...row, owner_id: ownerId })}) as begun`
}

/** Takes effect once; a trigger of the database rejects every other change. */
export async function updateOutcome(
  db: Db,
  ownerId: string,
  id: string,
  { outcome, code, resource }: { outcome: AuditOutcome; code: string | null; resource: string | null },
): Promise<void> {
  await db`
    with quick as (${quickly(db)})
    update audit_log set outcome = ${outcome}, code = ${code}, resource = coalesce(resource, ${resource}) from quick
    where owner_id = ${ownerId} and id = ${id} and outcome is null`
}

export interface AuditCursor {
  at: Date
  id: string
}

export interface NamedEntry extends AuditRow {
  /** E-mail of the person. */
  person: string | null
}

/** Most recent first, starting after `after`. */
export async function selectAuditEntries(
  db: Db,
  ownerId: string,
  { limit, after, operation }: { limit: number; after: AuditCursor | null; operation: string | undefined },
): Promise<NamedEntry[]> {
  return db<NamedEntry[]>`
    select ${db(columns)}, case when person_id = owner_id then (select email from accounts where id = owner_id)
        else (select email from members where members.owner_id = audit_log.owner_id and id = person_id) end as person
    from audit_log
    where owner_id = ${ownerId} ${after ? db`and (at, id) < (${after.at}, ${after.id})` : db``}
      ${operation === undefined ? db`` : db`and operation = ${operation}`}
    order by at desc, id desc limit ${limit}`
}

/** Lets this transaction delete rows: only retention and the erasure of an account may. */
export async function allowDeletion(tx: Tx): Promise<void> {
  await tx`select set_config('parley.audit_may_go', 'on', true)`
}

/** Covers all owners. Deletes people who left their account before any entry that is still kept. */
export async function deleteFormerMembers(db: Db, before: Date): Promise<void> {
  await db`delete from members where left_at < ${before}`
}

/** Covers all owners. Returns the number of deleted rows, at most `limit`. */
export async function deleteOldAuditEntries(tx: Tx, before: Date, limit: number): Promise<number> {
  await allowDeletion(tx)
  const rows = await tx`
    delete from audit_log where id in (select id from audit_log where at < ${before} order by at limit ${limit}) returning 1`
  return rows.length
}
