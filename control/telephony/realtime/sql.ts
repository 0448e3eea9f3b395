import { type Db, json, type Tx } from '../../platform/db/connect.ts'
import type { CallRow } from '../call-setup/sql.ts'

export interface SessionRow {
  id: string
  owner_id: string
  project_id: string
  room: string
  identity: string
  task: string | null
  vars: Record<string, string>
  contact_name: string | null
  contact_phone: string | null
  created_at: Date
  expires_at: Date
  call_id: string | null
  closed_at: Date | null
  closed_reason: CallRow['ended_reason']
  caller_since: Date | null
}
export type NewSession = Omit<SessionRow, 'owner_id' | 'call_id' | 'closed_at' | 'closed_reason' | 'caller_since'>

export async function insertSession(tx: Tx, ownerId: string, session: NewSession): Promise<void> {
  await tx`
    insert into realtime_sessions ${tx({ ...session, owner_id: ownerId, vars: json(tx, session.vars) } as never)}`
}

/** Starts a new dialogue of the session. */
export async function updateCall(
  tx: Tx,
  ownerId: string,
  id: string,
  { callId, callerSince }: { callId: string; callerSince: Date },
): Promise<void> {
  await tx`
    update realtime_sessions
    set call_id = ${callId}, closed_at = null, closed_reason = null, caller_since = ${callerSince}
    where owner_id = ${ownerId} and id = ${id}`
}

/** Marks a contact that was created for a dialogue. */
export async function markWebContact(tx: Tx, ownerId: string, contactId: string): Promise<void> {
  await tx`update contacts set channel = 'web' where owner_id = ${ownerId} and id = ${contactId}`
}

// ---- Across all owners: rooms and calls are identified by name ----

/** A session with the state of its latest call. */
export interface SeenSession extends SessionRow {
  call_status: CallRow['status'] | null
  call_deadline_at: Date | null
  call_answered_at: Date | null
}

const seen = (db: Db) => db`
  select s.*, calls.status as call_status, calls.deadline_at as call_deadline_at,
    calls.answered_at as call_answered_at
  from realtime_sessions s left join calls on calls.id = s.call_id`

export async function selectByRooms(db: Db, rooms: string[]): Promise<SeenSession[]> {
  return db<SeenSession[]>`${seen(db)} where s.room = any(${rooms})`
}

export async function lockSession(tx: Tx, id: string): Promise<SeenSession | undefined> {
  // Lock first: data read in the same statement could be older than the lock.
  await tx`select 1 from realtime_sessions where id = ${id} for update`
  const [row] = await tx<SeenSession[]>`${seen(tx)} where s.id = ${id}`
  return row
}

/**
 * Marks the end of the conversation. Returns the room, once; undefined when it is not a dialogue or was already closed.
 */
export async function closeDialogue(
  db: Db,
  callId: string,
  at: Date,
  reason: NonNullable<SessionRow['closed_reason']>,
): Promise<string | undefined> {
  const [row] = await db<{ room: string }[]>`
    update realtime_sessions set closed_at = ${at}, closed_reason = ${reason}
    where call_id = ${callId} and closed_at is null returning room`
  return row?.room
}

/** Records that the caller rejoined an ongoing dialogue. */
export async function updateCallerSince(db: Db, callId: string, since: Date): Promise<void> {
  await db`
    update realtime_sessions set caller_since = ${since}
    where call_id = ${callId} and closed_at is null and caller_since < ${since}`
}

/** Returns the calls whose conversation has ended. Unknown calls belong to another installation. */
export async function selectOver(db: Db, callIds: string[]): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from calls where id = any(${callIds}) and (ended_at is not null or exists(
      select 1 from call_events where call_id = calls.id and type = 'call.closing'))`
  return rows.map(row => row.id)
}

/** Deletes unused sessions when they expire, and used ones after the longest possible dialogue. */
export async function deleteOldSessions(db: Db, { unused, used }: { unused: Date; used: Date }): Promise<void> {
  await db`
    delete from realtime_sessions
    where expires_at < ${used} or (call_id is null and expires_at < ${unused})`
}
