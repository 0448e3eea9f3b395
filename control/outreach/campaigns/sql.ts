import { type Db, json, type Tx } from '../../platform/db/connect.ts'
import type { Page } from '../../platform/http/paging.ts'
import type { OutboundLine } from '../../telephony/gates/sql.ts'
import type { CampaignFilters, ContactFilters } from './schema.ts'
import {
  type CampaignContactRow,
  type CampaignRow,
  type CampaignStatus,
  type ConsentEvidence,
  type ContactStatus,
  type Counters,
  contactStatuses,
  type PauseReason,
  type QueuedCall,
  requeuedStatuses,
} from './types.ts'

export type CountedCampaign = CampaignRow & Counters

const paramColumns = [
  'timezone',
  'window_start',
  'window_end',
  'days',
  'concurrency',
  'retries',
  'retry_interval_min',
  'quiet_start',
  'quiet_end',
  'scheduled_start_at',
  'max_spend',
  'resume_on_top_up',
] as const
const editable = ['name', 'project_id', 'task', ...paramColumns, 'updated_at'] as const
export type NewCampaign = Pick<CampaignRow, 'id' | 'owner_id' | 'created_at' | (typeof editable)[number]>

export async function insertCampaign(tx: Tx, ownerId: string, campaign: NewCampaign): Promise<void> {
  const row = { ...campaign, owner_id: ownerId, status: 'draft' }
  await tx`insert into campaigns ${tx(row as never, 'id', 'owner_id', ...editable, 'created_at', 'status' as never)}`
  await tx`insert into campaign_counters (campaign_id, owner_id) values (${campaign.id}, ${ownerId})`
}

/** Fast enough without a counter: an owner has a few hundred campaigns. */
export async function countCampaigns(
  db: Db,
  ownerId: string,
  filters: Partial<VisibleCampaigns> = {},
): Promise<number> {
  const [row] = await db<{ total: number }[]>`
    select count(*)::int as total from campaigns where ${where(db, ownerId, filters)}`
  return row!.total
}

export interface VisibleCampaigns extends CampaignFilters {
  /** Only campaigns of these projects; null: all. */
  visible: readonly string[] | null
}

const where = (db: Db, ownerId: string, { project_id, status, visible = null }: Partial<VisibleCampaigns>) => db`
  campaigns.owner_id = ${ownerId}
  ${visible ? db`and project_id = any(${visible as string[]})` : db``}
  ${project_id ? db`and project_id = ${project_id}` : db``}
  ${status ? db`and status = ${status}` : db``}`

const counted = (db: Db) => db`
  campaigns.*, ${db(['total', ...contactStatuses, 'goal_reached'].map(name => `campaign_counters.${name}`))}
  from campaigns join campaign_counters on campaign_counters.campaign_id = campaigns.id`

export async function selectCampaigns(db: Db, ownerId: string, filters: VisibleCampaigns): Promise<CountedCampaign[]> {
  return db<CountedCampaign[]>`
    select ${counted(db)} where ${where(db, ownerId, filters)}
    order by campaigns.created_at desc, campaigns.id desc limit ${filters.limit} offset ${filters.offset}`
}

export async function selectCampaign(db: Db, ownerId: string, id: string): Promise<CountedCampaign | undefined> {
  const [row] = await db<CountedCampaign[]>`
    select ${counted(db)} where campaigns.owner_id = ${ownerId} and campaigns.id = ${id}`
  return row
}

/** Serialises uploads, status changes and claims of contacts. */
export async function lockCampaign(tx: Tx, ownerId: string, id: string): Promise<CountedCampaign | undefined> {
  // Two statements: one that waited for the lock would read only the locked row again, and not the counters.
  await tx`select 1 from campaigns where owner_id = ${ownerId} and id = ${id} for update`
  return selectCampaign(tx, ownerId, id)
}

export async function updateCampaign(tx: Tx, ownerId: string, campaign: NewCampaign): Promise<void> {
  await tx`
    update campaigns set ${tx(campaign as never, ...(editable as never as []))}
    where owner_id = ${ownerId} and id = ${campaign.id}`
}

export interface StatusChange {
  status: CampaignStatus
  pause_reason: PauseReason | null
  consent?: ConsentEvidence
  started_at?: Date
  completed_at: Date | null
  updated_at: Date
}

export async function updateStatus(tx: Tx, ownerId: string, id: string, change: StatusChange): Promise<void> {
  const row = { ...change, ...(change.consent ? { consent: json(tx, change.consent) } : {}) }
  await tx`update campaigns set ${tx(row as never)} where owner_id = ${ownerId} and id = ${id}`
}

export async function deleteCampaign(tx: Tx, ownerId: string, id: string): Promise<void> {
  await tx`delete from campaign_contacts where owner_id = ${ownerId} and campaign_id = ${id}`
  await tx`delete from campaign_counters where owner_id = ${ownerId} and campaign_id = ${id}`
  await tx`delete from campaigns where owner_id = ${ownerId} and id = ${id}`
}

/** Campaigns of a deleted project that could still dial. */
export async function selectUnfinishedOf(db: Db, ownerId: string, projectId: string): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from campaigns
    where owner_id = ${ownerId} and project_id = ${projectId} and status in ('scheduled', 'running', 'paused')`
  return rows.map(row => row.id)
}

/** Calls that no engine has accepted yet. */
export async function selectQueuedCalls(db: Db, ownerId: string, campaignId: string): Promise<QueuedCall[]> {
  return db<QueuedCall[]>`
    select calls.id, campaigns.status from calls join campaigns on campaigns.id = calls.campaign_id
    where calls.owner_id = ${ownerId} and campaign_id = ${campaignId} and calls.status = 'queued' and ended_at is null`
}

export interface StartFacts {
  project_id: string | null
  caller_id: string | null
  lines: Pick<OutboundLine, 'number' | 'trunk_id'>[]
  region: string | null
}

/** Returns the lines of the project, oldest binding first, and the region set for the first line's trunk. */
export async function selectLines(db: Db, ownerId: string, projectId: string): Promise<StartFacts> {
  const [row] = await db<StartFacts[]>`
    with lines as (
      select numbers.number, trunks.id as trunk_id, trunks.region, number_bindings.created_at
      from number_bindings join numbers on numbers.id = number_bindings.number_id
      join trunks on trunks.id = numbers.trunk_id
      where number_bindings.owner_id = ${ownerId} and number_bindings.project_id = ${projectId} and direction = 'out'
    )
    select projects.id as project_id, projects.settings ->> 'caller_id' as caller_id,
      coalesce((
        select json_agg(json_build_object('number', number, 'trunk_id', trunk_id) order by created_at, number) from lines
      ), '[]') as lines,
      (select region from lines order by created_at, number limit 1) as region
    from (select 1) as one left join projects
      on projects.owner_id = ${ownerId} and projects.id = ${projectId} and projects.deleted_at is null`
  return row!
}

// ---- Contacts ----

export interface NewContact {
  id: string
  phone: string
  name: string | null
  vars: Record<string, string>
}

/** Call under the campaign's lock. Skips numbers that the campaign already has; returns how many were inserted. */
export async function insertContacts(
  tx: Tx,
  ownerId: string,
  campaignId: string,
  contacts: NewContact[],
  at: Date,
): Promise<number> {
  const rows = contacts.map((contact, n) => ({ ...contact, n }))
  const [row] = await tx<{ inserted: number }[]>`
    with given as (
      select * from jsonb_to_recordset(${json(tx, rows)}) as given (id uuid, phone text, name text, vars jsonb, n int)
    ), inserted as (
      insert into campaign_contacts
        (id, campaign_id, owner_id, seq, phone, name, vars, status, next_attempt_at, created_at)
      select id, ${campaignId}, ${ownerId},
        (select total from campaign_counters where campaign_id = ${campaignId}) + row_number() over (order by n),
        phone, name, vars, 'pending', ${at}::timestamptz, ${at}::timestamptz
      from given where not exists (
        select 1 from campaign_contacts known where known.campaign_id = ${campaignId} and known.phone = given.phone
      )
      returning 1
    )
    update campaign_counters set total = total + n, pending = pending + n
    from (select count(*)::int as n from inserted) as counted
    where owner_id = ${ownerId} and campaign_id = ${campaignId} returning n as inserted`
  return row!.inserted
}

/**
 * Until Postgres knows how many contacts a campaign has, it sorts all of them for a page; autovacuum's own analysis
 * comes within a minute. Skipped when another analysis is running.
 */
export async function renewStatistics(db: Db): Promise<void> {
  await db`analyze (skip_locked) campaign_contacts`
}

export async function deleteContacts(tx: Tx, ownerId: string, campaignId: string): Promise<void> {
  await tx`delete from campaign_contacts where owner_id = ${ownerId} and campaign_id = ${campaignId}`
  const none = Object.fromEntries(['total', ...contactStatuses, 'goal_reached'].map(name => [name, 0]))
  await tx`update campaign_counters set ${tx(none)} where owner_id = ${ownerId} and campaign_id = ${campaignId}`
}

/** Holds the status of a campaign: status changes wait, ends of its calls do not. */
export async function holdStatus(tx: Tx, ownerId: string, id: string, status: CampaignStatus): Promise<boolean> {
  const rows = await tx`
    select 1 from campaigns where owner_id = ${ownerId} and id = ${id} and status = ${status} for key share`
  return rows.length > 0
}

/** Cancels contacts that were not dialled yet; returns how many. Locks their rows before the counters, as elsewhere. */
export async function cancelPending(tx: Tx, ownerId: string, campaignId: string, most: number): Promise<number> {
  const [row] = await tx<{ canceled: number }[]>`
    with gone as (
      update campaign_contacts set status = 'canceled'
      where id in (
        select id from campaign_contacts
        where owner_id = ${ownerId} and campaign_id = ${campaignId} and status = 'pending'
        order by next_attempt_at, seq limit ${most} for update
      ) returning 1
    )
    update campaign_counters set pending = pending - n, canceled = canceled + n
    from (select count(*)::int as n from gone) as counted
    where owner_id = ${ownerId} and campaign_id = ${campaignId} returning n as canceled`
  return row?.canceled ?? 0
}

/** Returns how many contacts are pending again. `most` null: all of them. */
export async function requeueContacts(
  tx: Tx,
  ownerId: string,
  campaignId: string,
  at: Date,
  most: number | null = null,
): Promise<number> {
  const [row] = await tx<{ requeued: number }[]>`
    with ended as (
      select id, status from campaign_contacts
      where owner_id = ${ownerId} and campaign_id = ${campaignId} and status = any(${[...requeuedStatuses]})
      order by status, seq limit ${most} for update
    ), back as (
      update campaign_contacts set status = 'pending', attempts = 0, round = round + 1, next_attempt_at = ${at}
      from ended where campaign_contacts.id = ended.id
    )
    update campaign_counters
    set pending = pending + n, no_answer = campaign_counters.no_answer - moved.no_answer,
      busy = campaign_counters.busy - moved.busy, failed = campaign_counters.failed - moved.failed
    from (
      select count(*)::int as n, count(*) filter (where status = 'no_answer')::int as no_answer,
        count(*) filter (where status = 'busy')::int as busy, count(*) filter (where status = 'failed')::int as failed
      from ended
    ) as moved
    where owner_id = ${ownerId} and campaign_id = ${campaignId} returning n as requeued`
  return row?.requeued ?? 0
}

/** Across all owners: campaigns stopped before `before` that still have contacts to cancel. */
export async function selectHalfStopped(db: Db, before: Date): Promise<Pick<CampaignRow, 'owner_id' | 'id'>[]> {
  return db<Pick<CampaignRow, 'owner_id' | 'id'>[]>`
    select campaigns.owner_id, id from campaign_counters join campaigns on campaigns.id = campaign_id
    where pending > 0 and status = 'stopped' and completed_at < ${before}`
}

const isIn = (db: Db, ownerId: string, campaignId: string) => db`
  owner_id = ${ownerId} and campaign_id = ${campaignId}`

const matches = (db: Db, { status, goal }: Pick<ContactFilters, 'status' | 'goal'>) => db`
  ${status ? db`and status = ${status}` : db``}
  ${goal ? db`and goal_reached = ${goal === 'reached'} and goal_reached is not null` : db``}`

/**
 * Last upload first. `seq` has no gaps, so a page of the whole list is a range of numbers at any offset; a page of a
 * filtered list is found in the index before any row is read.
 */
export async function selectContacts(
  db: Db,
  ownerId: string,
  campaignId: string,
  filters: ContactFilters,
  total: number,
): Promise<CampaignContactRow[]> {
  const { limit, offset, status, goal } = filters
  const page =
    status || goal
      ? db`and seq in (
          select seq from campaign_contacts where campaign_id = ${campaignId} ${matches(db, filters)}
          order by seq desc limit ${limit} offset ${offset})`
      : db`and seq <= ${total - offset}`
  return db<CampaignContactRow[]>`
    select * from campaign_contacts where ${isIn(db, ownerId, campaignId)} ${page} order by seq desc limit ${limit}`
}

export async function selectContact(
  db: Db,
  ownerId: string,
  campaignId: string,
  id: string,
): Promise<CampaignContactRow | undefined> {
  const [row] = await db<CampaignContactRow[]>`
    select * from campaign_contacts where ${isIn(db, ownerId, campaignId)} and id = ${id}`
  return row
}

// ---- Results ----

export interface ResultRow extends CampaignContactRow {
  answered_by: string | null
  ended_reason: string | null
  ended_at: Date | null
  talked_ms: number | null
  summary: string | null
  extracted: Record<string, unknown> | null
}

/** In the order of upload, with the result of each contact's last call. */
export async function selectResults(
  db: Db,
  ownerId: string,
  campaignId: string,
  { after, limit }: { after: number; limit: number },
): Promise<ResultRow[]> {
  return db<ResultRow[]>`
    select contacts.*, calls.answered_by, calls.ended_reason, calls.ended_at, calls.talked_ms, calls.summary,
      calls.extracted
    from campaign_contacts contacts left join calls on calls.id = contacts.last_call_id
    where contacts.owner_id = ${ownerId} and contacts.campaign_id = ${campaignId} and seq > ${after}
    order by seq limit ${limit}`
}

/** Names of vars of any contact and of fields extracted by any last call; at most `limit` of each. */
export async function selectResultNames(
  db: Db,
  ownerId: string,
  campaignId: string,
  { limit }: Pick<Page, 'limit'>,
): Promise<{ vars: string[]; extracted: string[] }> {
  const [row] = await db<{ vars: string[]; extracted: string[] }[]>`
    select array(
      select distinct jsonb_object_keys(vars) as name from campaign_contacts
      where ${isIn(db, ownerId, campaignId)} order by name limit ${limit}
    ) as vars, array(
      select distinct jsonb_object_keys(calls.extracted) as name
      from campaign_contacts contacts join calls on calls.id = contacts.last_call_id
      where contacts.owner_id = ${ownerId} and contacts.campaign_id = ${campaignId}
        and jsonb_typeof(calls.extracted) = 'object'
      order by name limit ${limit}
    ) as extracted`
  return row!
}

/** Total of a filtered list from the counters: only completed contacts have a goal. */
export function totalOf(counters: Counters, { status, goal }: Pick<ContactFilters, 'status' | 'goal'>): number {
  if (goal === undefined) return counters[status ?? ('total' satisfies keyof Counters)]
  if (status !== undefined && status !== ('completed' satisfies ContactStatus)) return 0
  return goal === 'reached' ? counters.goal_reached : counters.completed - counters.goal_reached
}
