import type { CallRecord, ToolCall, Turn } from '../../../media/contract/messages.ts'
import { type Db, json, type Tx } from '../../platform/db/connect.ts'
import { cleanText } from '../../platform/db/text.ts'
import type { CallFilters, CallStatus } from './schema.ts'

export interface CallRow {
  id: string
  owner_id: string
  project_id: string
  direction: 'in' | 'out' | 'web'
  status: CallStatus
  from_phone: string
  to_phone: string
  contact_id: string | null
  campaign_id: string | null
  /** For an attempt of a campaign: its contact, its round, and its number within the round, from 1. */
  campaign_contact_id: string | null
  campaign_round: number | null
  campaign_attempt: number | null
  trunk_id: string | null
  task: string | null
  vars: Record<string, string>
  price: bigint
  factor_percent: number
  max_cost: bigint | null
  created_at: Date
  deadline_at: Date
  engine: string | null
  boot: string | null
  progress_ms: number
  answered_at: Date | null
  ended_at: Date | null
  talked_ms: number | null
  billed_seconds: number | null
  cost: bigint | null
  goal_reached: boolean | null
  ended_reason: CallRecord['ended_reason'] | null
  answered_by: CallRecord['answered_by']
  sip_code: number | null
  summary: string | null
  extracted: CallRecord['extracted']
  transcript: Turn[] | null
  tool_calls: ToolCall[] | null
  latency: CallRecord['latency'] | null
  recording: CallRecord['recording']
  extraction_problem: string | null
  goal_evidence: string | null
  missing_vars: string[]
  /** Trunk of the current second leg, and the leg's number within this call, from 1; 0 when it has had none. */
  bridge_trunk_id: string | null
  bridge_attempt: number
  /** Trace context that caused the call; null when it was not traced. */
  traceparent: string | null
}

const newColumns = [
  'id',
  'owner_id',
  'project_id',
  'direction',
  'status',
  'from_phone',
  'to_phone',
  'contact_id',
  'trunk_id',
  'task',
  'vars',
  'price',
  'factor_percent',
  'max_cost',
  'created_at',
  'deadline_at',
  'traceparent',
] as const
export type NewCall = Pick<CallRow, (typeof newColumns)[number]>

/** Inserts call and counter in one statement. Returns the columns that lists show. */
export async function insertCall(tx: Tx, call: NewCall): Promise<ListedCall> {
  const { owner_id, project_id, direction, status } = call
  const [row] = await tx<ListedCall[]>`
    with counted as (
      insert into call_counters (owner_id, project_id, direction, status, calls)
      values (${owner_id}, ${project_id}, ${direction}, ${status}, 1)
      on conflict (owner_id, project_id, direction, status) do update set calls = call_counters.calls + 1
    )
    insert into calls ${tx({ ...call, vars: json(tx, call.vars) } as never, ...(newColumns as never as []))}
    returning ${tx(listed)}`
  return row!
}

/** Updates the totals of lists. Rows are locked in a fixed order, so that two concurrent calls cannot deadlock. */
async function bump(tx: Tx, call: NewCall | CallRow, change: Partial<Record<CallStatus, number>>): Promise<void> {
  const { owner_id, project_id, direction } = call
  for (const status of Object.keys(change).sort()) {
    const by = change[status as CallStatus]!
    await tx`
      insert into call_counters (owner_id, project_id, direction, status, calls)
      values (${owner_id}, ${project_id}, ${direction}, ${status}, ${Math.max(by, 0)})
      on conflict (owner_id, project_id, direction, status) do update set calls = call_counters.calls + ${by}`
  }
}

export async function selectCall(db: Db, ownerId: string, id: string): Promise<CallRow | undefined> {
  const [row] = await db<CallRow[]>`select * from calls where owner_id = ${ownerId} and id = ${id}`
  return row
}

/** For events of engines, which know a call by its id and are trusted. */
export async function selectCallById(db: Db, id: string): Promise<CallRow | undefined> {
  const [row] = await db<CallRow[]>`select * from calls where id = ${id}`
  return row
}

export async function lockCall(tx: Tx, id: string): Promise<CallRow | undefined> {
  const [row] = await tx<CallRow[]>`select * from calls where id = ${id} for update`
  return row
}

interface VisibleCalls extends CallFilters {
  /** Only calls of these projects; null: all. */
  visible?: readonly string[] | null
}

const where = (db: Db, ownerId: string, { project_id, direction, status, visible }: VisibleCalls) => db`
  owner_id = ${ownerId}
  ${visible ? db`and project_id = any(${visible as string[]})` : db``}
  ${project_id ? db`and project_id = ${project_id}` : db``}
  ${direction ? db`and direction = ${direction}` : db``}
  ${status ? db`and status = ${status}` : db``}`

/** Without transcripts and other large columns, so that a page of 200 calls stays small. */
const listed = [
  'id',
  'project_id',
  'direction',
  'status',
  'from_phone',
  'to_phone',
  'contact_id',
  'campaign_id',
  'created_at',
  'answered_at',
  'ended_at',
  'talked_ms',
  'billed_seconds',
  'cost',
  'goal_reached',
  'ended_reason',
  'answered_by',
  'sip_code',
] as const
export type ListedCall = Pick<CallRow, (typeof listed)[number]>

/** Campaigns have counters of contacts only, so their calls are counted in their index. */
const ofCampaign = (db: Db, { campaign_id }: CallFilters) => (campaign_id ? db`and campaign_id = ${campaign_id}` : db``)

const total = (db: Db, ownerId: string, filters: VisibleCalls) =>
  filters.campaign_id
    ? db`(select count(*)::int from calls where ${where(db, ownerId, filters)} ${ofCampaign(db, filters)}) as total`
    : db`(select coalesce(sum(calls), 0)::int from call_counters where ${where(db, ownerId, filters)}) as total`

/** Returns a page and the total of the filtered list, in one statement. */
export async function selectCalls(
  db: Db,
  ownerId: string,
  filters: VisibleCalls,
): Promise<{ rows: ListedCall[]; total: number }> {
  const rows = await db<(ListedCall & { total: number })[]>`
    select ${db(listed)}, ${total(db, ownerId, filters)} from calls where ${where(db, ownerId, filters)} ${ofCampaign(db, filters)}
    order by created_at desc, id desc limit ${filters.limit} offset ${filters.offset}`
  if (rows.length > 0) return { rows, total: rows[0]!.total }
  const [beyond] = await db<{ total: number }[]>`select ${total(db, ownerId, filters)}` // a page after the last
  return { rows, total: beyond!.total }
}

/** Changes that engines report for a live call. */
export interface LiveChange {
  status?: CallStatus
  engine?: string
  boot?: string
  answered_at?: Date
  progress_ms?: number
}

export async function updateLive(tx: Tx, call: CallRow, change: LiveChange): Promise<void> {
  if (Object.keys(change).length === 0) return
  await tx`update calls set ${tx(change as never)} where id = ${call.id}`
  if (change.status && change.status !== call.status) await bump(tx, call, { [call.status]: -1, [change.status]: 1 })
}

export async function updateEnded(
  tx: Tx,
  call: CallRow,
  record: CallRecord,
  paid: { billed_seconds: number; cost: bigint; answered_at: Date | null },
): Promise<void> {
  await tx`
    update calls set status = ${record.status}, ended_reason = ${record.ended_reason},
      answered_by = ${record.answered_by}, sip_code = ${record.sip_code}, answered_at = ${paid.answered_at},
      ended_at = ${new Date(record.ended_at)}, talked_ms = ${record.talked_ms},
      billed_seconds = ${paid.billed_seconds}, cost = ${paid.cost}, goal_reached = ${record.goal_reached},
      summary = ${record.summary && cleanText(record.summary)}, extracted = ${record.extracted ? json(tx, record.extracted) : null},
      transcript = ${json(tx, record.transcript)}, tool_calls = ${json(tx, record.tool_calls)},
      extraction_problem = ${record.extraction_problem && cleanText(record.extraction_problem)},
      goal_evidence = ${record.goal_evidence && cleanText(record.goal_evidence)},
      latency = ${json(tx, record.latency)}, media = ${record.media ? json(tx, record.media) : null},
      recording = coalesce(${record.recording ? json(tx, record.recording) : null}, recording)
    where id = ${call.id}`
  await bump(tx, call, { [call.status]: -1, [record.status]: 1 })
}

export async function updateMissingVars(db: Db, ownerId: string, id: string, names: string[]): Promise<void> {
  await db`update calls set missing_vars = ${names} where owner_id = ${ownerId} and id = ${id}`
}

/** Keeps the first trace. */
export async function updateTraceparent(db: Db, ownerId: string, id: string, traceparent: string): Promise<void> {
  await db`
    update calls set traceparent = ${traceparent} where owner_id = ${ownerId} and id = ${id} and traceparent is null`
}

/** Counts the trunk only if it belongs to the owner. */
export async function updateBridge(
  tx: Tx,
  ownerId: string,
  { id, trunkId, attempt }: { id: string; trunkId: string; attempt: number },
): Promise<void> {
  await tx`
    update calls set bridge_attempt = ${attempt},
      bridge_trunk_id = (select trunks.id from trunks where trunks.owner_id = ${ownerId} and trunks.id = ${trunkId})
    where owner_id = ${ownerId} and id = ${id}`
}

/** Also covers a second leg that was requested and refused, or is not known yet: it will not come any more. */
export async function updateBridgeClosed(db: Db, ownerId: string, id: string, attempt: number): Promise<void> {
  await db`
    update calls set bridge_trunk_id = null, bridge_attempt = ${attempt}
    where owner_id = ${ownerId} and id = ${id} and bridge_attempt <= ${attempt}`
}

/** False when the owner has no such call, or its retention has passed. Call under the call's lock. */
export async function updateRecording(
  tx: Tx,
  ownerId: string,
  id: string,
  recording: NonNullable<CallRecord['recording']>,
): Promise<boolean> {
  const rows = await tx`
    update calls set recording = ${json(tx, recording)}
    where owner_id = ${ownerId} and id = ${id} and erased_at is null and not exists (
      select 1 from retention
      where retention.owner_id = ${ownerId} and kind = 'recordings' and days is not null
        and (calls.created_at, calls.id) <= (passed_at, passed_id)
    ) returning 1`
  return rows.length > 0
}

// ---- Sweeps, across all owners ----

/** Calls past their deadline that no engine has claimed. */
export async function selectOverdue(db: Db, now: Date): Promise<Pick<CallRow, 'id' | 'direction'>[]> {
  return db<Pick<CallRow, 'id' | 'direction'>[]>`
    select id, direction from calls
    where ended_at is null and engine is null and status in ('queued', 'ringing') and deadline_at < ${now}
    order by deadline_at limit 200`
}

/** Calls that an engine has reported; it holds a lease on each. */
export async function selectHeld(db: Db): Promise<string[]> {
  const rows = await db<{ id: string }[]>`select id from calls where ended_at is null and engine is not null`
  return rows.map(row => row.id)
}

/** Calls without a report from an engine, although one may have claimed them. */
export async function selectUnreported(db: Db): Promise<Pick<CallRow, 'id' | 'direction'>[]> {
  return db<Pick<CallRow, 'id' | 'direction'>[]>`
    select id, direction from calls where ended_at is null and engine is null`
}

export async function selectOfEarlierBoots(db: Db, engine: string, boot: string): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from calls where ended_at is null and engine = ${engine} and boot <> ${boot}`
  return rows.map(row => row.id)
}

// ---- Events ----

export interface EventRow {
  seq: number
  type: string
  at: Date
  data: Record<string, unknown>
}

export async function insertEvent(tx: Tx, callId: string, event: EventRow): Promise<void> {
  await tx`
    insert into call_events (call_id, seq, type, at, data)
    values (${callId}, ${event.seq}, ${event.type}, ${event.at}, ${json(tx, event.data)})
    on conflict (call_id, seq) do nothing`
}

export async function selectEvents(db: Db, callId: string, afterSeq: number): Promise<EventRow[]> {
  return db<EventRow[]>`
    select seq, type, at, data from call_events where call_id = ${callId} and seq > ${afterSeq} order by seq`
}

export async function deleteOldEvents(db: Db, before: Date): Promise<void> {
  await db`delete from call_events where at < ${before}`
}
