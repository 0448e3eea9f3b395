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

/** A new dialogue of the session. */
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

/** A contact that was made for a dialogue, not found. */
export async function markWebContact(tx: Tx, ownerId: string, contactId: string): Promise<void> {
  await tx`update contacts set channel = 'web' where owner_id = ${ownerId} and id = ${contactId}`
}

// ---- over all owners: of rooms and of calls one is told by name ----

/** A session and how its latest call is. */
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
  // First the lock: what is read with it was read before others let go of it.
  await tx`select 1 from realtime_sessions where id = ${id} for update`
  const [row] = await tx<SeenSession[]>`${seen(tx)} where s.id = ${id}`
  return row
}

/** Nobody talks in this call any more. Answers the room, once; undefined when it is no dialogue, or was closed before. */
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

/** The caller came back into a dialogue that goes on. */
export async function updateCallerSince(db: Db, callId: string, since: Date): Promise<void> {
  await db`
    update realtime_sessions set caller_since = ${since}
    where call_id = ${callId} and closed_at is null and caller_since < ${since}`
}

/** Of these calls those in which nobody talks any more. Calls that we know nothing of are another installation's. */
export async function selectOver(db: Db, callIds: string[]): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from calls where id = any(${callIds}) and (ended_at is not null or exists(
      select 1 from call_events where call_id = calls.id and type = 'call.closing'))`
  return rows.map(row => row.id)
}

/** Of those that nobody used there is nothing to remember; of the others, for as long as a dialogue may last. */
export async function deleteOldSessions(db: Db, { unused, used }: { unused: Date; used: Date }): Promise<void> {
  await db`
    delete from realtime_sessions
    where expires_at < ${used} or (call_id is null and expires_at < ${unused})`
}
