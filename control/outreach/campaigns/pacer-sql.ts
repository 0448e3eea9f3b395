/**
 * Queries of the pacer, across all owners. Rows are locked in the order call, campaign, campaign contact, contact,
 * balance, counters. Claims and ends of calls lock the campaign's row `for key share`, so they do not wait for each
 * other; a change of its status (`for update`) waits for them, and they for it.
 */

import { type Db, json, type Tx } from '../../platform/db/connect.ts'
import type { CallRow } from '../../telephony/call-setup/sql.ts'
import { linesInUse, type OutboundLine, type StandingRow } from '../../telephony/gates/sql.ts'
import type { AttemptResult } from './attempt.ts'
import type { CampaignContactRow, CampaignRow, Counters, PauseReason, QueuedCall } from './types.ts'

export interface PacedLine extends OutboundLine {
  max_cps: number | null
}

/** `status` is that of the subscription: the campaign is running. */
export interface WorkRow extends Omit<CampaignRow, 'status'>, StandingRow {
  pending: number
  /** Its calls in progress. */
  live: number
  /** Time at which the first pending contact is due. */
  next_at: Date | null
  /** Number of due contacts, at most the number of free slots. */
  due: number
  caller_id: string | null
  lines: PacedLine[]
  reserved: bigint
}

/** Caller id and outbound lines of a campaign's calls. */
const dialled = (db: Db) => db`
  projects.settings ->> 'caller_id' as caller_id,
  coalesce((
    select json_agg(json_build_object(
      'number', numbers.number, 'trunk_id', trunks.id, 'max_calls', trunks.max_calls, 'max_cps', trunks.max_cps,
      'live', case when trunks.max_calls is null then 0 else ${linesInUse(db)} end
    ) order by number_bindings.created_at, numbers.number)
    from number_bindings join numbers on numbers.id = number_bindings.number_id
    join trunks on trunks.id = numbers.trunk_id
    where number_bindings.owner_id = campaigns.owner_id and number_bindings.project_id = projects.id
      and direction = 'out'
  ), '[]') as lines`

const projectOf = (db: Db) => db`
  left join projects on projects.id = campaigns.project_id and projects.deleted_at is null`

/**
 * Returns the units that calls in progress may still cost, for each campaign with a spending limit. A call that started
 * before the limit was set may cost all of it. A separate statement, because as a part of another one Postgres reads
 * the live calls of all campaigns for each of them.
 */
export async function selectReserved(
  db: Db,
  campaigns: readonly Pick<CampaignRow, 'id' | 'max_spend'>[],
): Promise<Map<string, bigint>> {
  const limits = new Map(campaigns.flatMap(({ id, max_spend }) => (max_spend === null ? [] : [[id, max_spend]])))
  if (limits.size === 0) return new Map()
  const rows = await db<{ campaign_id: string; limited: bigint; unlimited: bigint }[]>`
    select campaign_id, coalesce(sum(max_cost), 0)::bigint as limited, count(*) - count(max_cost) as unlimited
    from calls where campaign_id = any(${[...limits.keys()]}::uuid[]) and ended_at is null group by campaign_id`
  return new Map(
    rows.map(({ campaign_id: id, limited, unlimited }) => [id, limited + unlimited * limits.get(id)!] as const),
  )
}

/** Running campaigns with a free slot or with nothing left, except those known to sleep. */
export async function selectWork(db: Db, asleep: readonly string[], at: Date): Promise<WorkRow[]> {
  const rows = await db<Omit<WorkRow, 'reserved'>[]>`
    select campaigns.*, counters.pending,
      counters.dialing + counters.in_progress as live,
      (select next_attempt_at from campaign_contacts c where c.campaign_id = campaigns.id and c.status = 'pending'
        order by next_attempt_at, seq limit 1) as next_at,
      (select count(*) from (
        select from campaign_contacts c
        where c.campaign_id = campaigns.id and c.status = 'pending' and next_attempt_at <= ${at}
        order by next_attempt_at, seq limit concurrency - counters.dialing - counters.in_progress
      ) as waiting)::int as due,
      accounts.minute_price, accounts.destinations, accounts.stopped_at is not null as stopped, subscriptions.status, subscriptions.ends_at, balances.available,
      balances.open_holds, spendable(balances, ${at}) as spendable,
      ${dialled(db)}
    from campaigns
    join campaign_counters counters on counters.campaign_id = campaigns.id
    join accounts on accounts.id = campaigns.owner_id
    join balances on balances.owner_id = campaigns.owner_id
    left join subscriptions on subscriptions.owner_id = campaigns.owner_id ${projectOf(db)}
    where campaigns.status = 'running' and not (campaigns.id = any(${asleep as string[]}::uuid[]))
      and counters.dialing + counters.in_progress < campaigns.concurrency
      and (counters.pending > 0 or counters.dialing + counters.in_progress = 0)`
  const reserved = await selectReserved(db, rows)
  return rows.map(row => ({ ...row, reserved: reserved.get(row.id) ?? 0n }))
}

/** Outbound calls that no engine has accepted yet. */
export async function countQueued(db: Db): Promise<number> {
  const [row] = await db<{ calls: number }[]>`
    select count(*)::int as calls from calls where status = 'queued' and ended_at is null and direction <> 'in'`
  return row!.calls
}

// ---- Claims ----

/** Undefined when the campaign is no longer running. */
export async function lockRunning(tx: Tx, ownerId: string, id: string): Promise<CampaignRow | undefined> {
  const [row] = await tx<CampaignRow[]>`
    select * from campaigns where owner_id = ${ownerId} and id = ${id} and status = 'running' for key share`
  return row
}

export type Terms = Pick<WorkRow, 'minute_price' | 'destinations' | 'stopped' | 'caller_id' | 'lines'>

/** Current terms: a claim may run a while after the round that planned it. */
export async function selectTerms(tx: Tx, ownerId: string, id: string): Promise<Terms> {
  const [row] = await tx<Terms[]>`
    select accounts.minute_price, accounts.destinations, accounts.stopped_at is not null as stopped, ${dialled(tx)}
    from campaigns join accounts on accounts.id = campaigns.owner_id ${projectOf(tx)}
    where campaigns.owner_id = ${ownerId} and campaigns.id = ${id}`
  return row!
}

export interface DueRow extends CampaignContactRow {
  unwanted: boolean
}

/**
 * Contacts that were due first; `after` is the last one of the previous page. Skips rows that another process is
 * claiming.
 */
export async function lockDue(
  tx: Tx,
  ownerId: string,
  campaignId: string,
  { at, limit, after }: { at: Date; limit: number; after: DueRow | null },
): Promise<DueRow[]> {
  return tx<DueRow[]>`
    select contact.*, exists(
      select 1 from do_not_call d where d.owner_id = contact.owner_id and d.phone = contact.phone
    ) as unwanted
    from campaign_contacts contact
    where contact.owner_id = ${ownerId} and campaign_id = ${campaignId} and status = 'pending' and next_attempt_at <= ${at}
      ${after ? tx`and (next_attempt_at, seq) > (${after.next_attempt_at}, ${after.seq})` : tx``}
    order by next_attempt_at, seq limit ${limit} for update of contact skip locked`
}

export async function deferContacts(tx: Tx, ownerId: string, rows: { id: string; at: Date }[]): Promise<void> {
  if (rows.length === 0) return
  await tx`
    update campaign_contacts set next_attempt_at = given.at
    from jsonb_to_recordset(${json(tx, rows)}) as given (id uuid, at timestamptz)
    where campaign_contacts.owner_id = ${ownerId} and campaign_contacts.id = given.id`
}

export async function skipContacts(tx: Tx, ownerId: string, rows: { id: string; reason: string }[]): Promise<void> {
  if (rows.length === 0) return
  await tx`
    update campaign_contacts set status = 'skipped', skip_reason = given.reason
    from jsonb_to_recordset(${json(tx, rows)}) as given (id uuid, reason text)
    where campaign_contacts.owner_id = ${ownerId} and campaign_contacts.id = given.id`
}

/** Returns the account's contacts by phone, creating the missing ones. */
export async function upsertContacts(
  tx: Tx,
  ownerId: string,
  projectId: string,
  contacts: { id: string; phone: string; name: string | null }[],
  at: Date,
): Promise<Map<string, string>> {
  const rows = await tx<{ id: string; phone: string }[]>`
    with given as (
      select * from jsonb_to_recordset(${json(tx, contacts)}) as given (id uuid, phone text, name text) order by phone
    ), contact as (
      insert into contacts (id, owner_id, phone, name, search, created_at)
      select id, ${ownerId}, phone, name, lower(concat_ws(' ', name, phone)), ${at} from given
      on conflict (owner_id, phone) do update set phone = excluded.phone returning id, phone
    ), linked as (
      insert into contact_projects (contact_id, project_id) select id, ${projectId} from contact order by id
      on conflict do nothing
    )
    select id, phone from contact`
  return new Map(rows.map(row => [row.phone, row.id]))
}

/** State after all earlier settlements; nothing is settled or started until the transaction ends. */
export interface ClaimCapacity {
  available: bigint
  open_holds: number
  live: number
  spend: bigint
  reserved: bigint
}

export async function lockCapacity(
  tx: Tx,
  campaign: Pick<CampaignRow, 'owner_id' | 'id' | 'max_spend'>,
  at: Date,
): Promise<ClaimCapacity> {
  const { owner_id, id } = campaign
  // Separate statements, which see what the lock was waiting for.
  await tx`select 1 from balances where owner_id = ${owner_id} for update`
  const [row] = await tx<Omit<ClaimCapacity, 'reserved'>[]>`
    select spendable(balances, ${at}) as available, open_holds, counters.dialing + counters.in_progress as live, campaigns.spend
    from campaigns join campaign_counters counters on counters.campaign_id = campaigns.id
    join balances on balances.owner_id = campaigns.owner_id
    where campaigns.owner_id = ${owner_id} and campaigns.id = ${id}`
  const reserved = await selectReserved(tx, [campaign])
  return { ...row!, reserved: reserved.get(id) ?? 0n }
}

export interface NewAttempt {
  id: string
  from_phone: string
  trunk_id: string
  contact_id: string
  max_cost: string | null
  deadline_at: Date
  contact: DueRow
}

/** Inserts the calls and updates their campaign contacts and all counters. */
export async function insertAttempts(
  tx: Tx,
  campaign: CampaignRow,
  { price, at, attempts }: { price: bigint; at: Date; attempts: readonly NewAttempt[] },
): Promise<void> {
  const { owner_id, project_id } = campaign
  const rows = attempts.map(({ contact, ...call }) => ({
    ...call,
    to_phone: contact.phone,
    vars: { ...(contact.name ? { name: contact.name } : {}), ...contact.vars },
    campaign_contact_id: contact.id,
    round: contact.round,
    attempt: contact.attempts + 1,
  }))
  const count = rows.length
  await tx`
    with given as (
      select * from jsonb_to_recordset(${json(tx, rows)}) as given (id uuid, from_phone text, to_phone text, trunk_id uuid,
        contact_id uuid, vars jsonb, max_cost bigint, deadline_at timestamptz, campaign_contact_id uuid, round int,
        attempt int)
    ), called as (
      insert into calls (id, owner_id, project_id, direction, status, from_phone, to_phone, contact_id, campaign_id,
        campaign_contact_id, campaign_round, campaign_attempt, trunk_id, task, vars, price, factor_percent, max_cost,
        created_at, deadline_at)
      select id, ${owner_id}, ${project_id}, 'out', 'queued', from_phone, to_phone, contact_id, ${campaign.id},
        campaign_contact_id, round, attempt, trunk_id, ${campaign.task}, vars, ${price}, 100, max_cost, ${at}, deadline_at
      from given
    ), dialed as (
      update campaign_contacts
      set status = 'dialing', attempts = given.attempt, contact_id = given.contact_id, last_call_id = given.id
      from given where campaign_contacts.owner_id = ${owner_id} and campaign_contacts.id = given.campaign_contact_id
    )
    insert into call_counters (owner_id, project_id, direction, status, calls)
    values (${owner_id}, ${project_id}, 'out', 'queued', ${count})
    on conflict (owner_id, project_id, direction, status) do update set calls = call_counters.calls + ${count}`
}

export type CounterChange = Partial<Record<Exclude<keyof Counters, 'total'>, number>>

/** Call after the counted rows are changed: the counters are the last rows that a transaction locks. */
export async function bumpCampaign(tx: Tx, campaignId: string, by: CounterChange): Promise<void> {
  await tx`
    update campaign_counters set pending = pending + ${by.pending ?? 0}, dialing = dialing + ${by.dialing ?? 0},
      in_progress = in_progress + ${by.in_progress ?? 0}, completed = completed + ${by.completed ?? 0},
      no_answer = no_answer + ${by.no_answer ?? 0}, busy = busy + ${by.busy ?? 0}, failed = failed + ${by.failed ?? 0},
      skipped = skipped + ${by.skipped ?? 0}, canceled = canceled + ${by.canceled ?? 0},
      goal_reached = goal_reached + ${by.goal_reached ?? 0}
    where campaign_id = ${campaignId}`
}

// ---- Status changes of a campaign ----

export async function pauseRunning(db: Db, id: string, reason: PauseReason, at: Date): Promise<void> {
  await db`
    update campaigns set status = 'paused', pause_reason = ${reason}, updated_at = ${at}
    where id = (select id from campaigns where id = ${id} and status = 'running' for update)`
}

/** Checks again under the lock: a claim or the end of a call may have come in between. */
export async function completeIfDone(tx: Tx, id: string, at: Date): Promise<boolean> {
  const locked = await tx`select 1 from campaigns where id = ${id} and status = 'running' for update`
  if (locked.length === 0) return false
  const done = await tx`
    update campaigns set status = 'completed', completed_at = ${at}, updated_at = ${at}
    where id = ${id} and exists(
      select 1 from campaign_counters where campaign_id = ${id} and pending + dialing + in_progress = 0
    ) returning 1`
  return done.length > 0
}

export async function startScheduled(db: Db, at: Date): Promise<number> {
  const rows = await db`
    update campaigns set status = 'running', started_at = ${at}, updated_at = ${at}
    where id in (select id from campaigns where status = 'scheduled' and scheduled_start_at <= ${at} for update)
    returning 1`
  return rows.length
}

/** `price`: units of the first minute for accounts without a price of their own. */
export async function resumeToppedUp(db: Db, price: bigint, at: Date): Promise<number> {
  const rows = await db`
    update campaigns set status = 'running', pause_reason = null, updated_at = ${at}
    where id in (
      select campaigns.id from campaigns
      join accounts on accounts.id = campaigns.owner_id join balances on balances.owner_id = campaigns.owner_id
      where campaigns.status = 'paused' and pause_reason = 'insufficient_balance' and resume_on_top_up
        and balances.available >= coalesce(accounts.minute_price, ${price}::bigint)
      for update of campaigns
    ) returning 1`
  return rows.length
}

/** Calls that were queued when their campaign was stopped or paused. */
export async function selectHaltedCalls(db: Db): Promise<QueuedCall[]> {
  const halted = await db<{ id: string }[]>`
    select id from campaign_counters join campaigns on campaigns.id = campaign_id
    where dialing > 0 and status in ('stopped', 'paused')`
  if (halted.length === 0) return []
  return db<QueuedCall[]>`
    select calls.id, campaigns.status from calls join campaigns on campaigns.id = calls.campaign_id
    where campaign_id = any(${halted.map(row => row.id)}::uuid[]) and ended_at is null and calls.status = 'queued'
    order by calls.id limit 500`
}

// ---- Offers ----

/** Calls of campaigns that no engine has claimed. */
export async function selectUnclaimed(db: Db, at: Date): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from calls
    where ended_at is null and campaign_id is not null and status = 'queued' and deadline_at > ${at}
    order by id limit 10000`
  return rows.map(row => row.id)
}

export interface OfferRow extends CallRow {
  unwanted: boolean
  stopped: boolean
  max_cps: number | null
  contact_name: string | null
}

export async function selectOffers(db: Db, ids: readonly string[], now: Date): Promise<OfferRow[]> {
  return db<OfferRow[]>`
    select calls.*, trunks.max_cps, contacts.name as contact_name, exists(
      select 1 from do_not_call d where d.owner_id = calls.owner_id and d.phone = calls.to_phone
    ) as unwanted, exists(select 1 from accounts where id = calls.owner_id and stopped_at is not null) as stopped
    from calls join campaigns on campaigns.id = calls.campaign_id
    left join trunks on trunks.id = calls.trunk_id left join contacts on contacts.id = calls.contact_id
    where calls.id = any(${ids as string[]}::uuid[]) and calls.status = 'queued' and calls.deadline_at > ${now}
      and campaigns.status <> 'stopped'
    order by calls.id`
}

// ---- Results of calls ----

export interface AttemptRow extends Pick<CampaignContactRow, 'id' | 'campaign_id' | 'status' | 'attempts'> {
  campaign: Pick<CampaignRow, 'status' | 'retries' | 'retry_interval_min'>
}

/** The contact of a call, unless a later attempt has taken it. */
export async function lockAttempt(
  tx: Tx,
  call: Pick<CallRow, 'id' | 'owner_id' | 'campaign_id' | 'campaign_contact_id'>,
): Promise<AttemptRow | null> {
  if (call.campaign_id === null || call.campaign_contact_id === null) return null
  const [campaign] = await tx<AttemptRow['campaign'][]>`
    select status, retries, retry_interval_min from campaigns
    where owner_id = ${call.owner_id} and id = ${call.campaign_id} for key share`
  const [contact] = await tx<Omit<AttemptRow, 'campaign'>[]>`
    select id, campaign_id, status, attempts from campaign_contacts
    where owner_id = ${call.owner_id} and id = ${call.campaign_contact_id} and last_call_id = ${call.id}
      and status in ('dialing', 'in_progress')
    for update`
  return campaign && contact ? { ...contact, campaign } : null
}

export async function updateOutcome(tx: Tx, ownerId: string, contactId: string, outcome: AttemptResult): Promise<void> {
  const { status, attempts, nextAttemptAtMs, skip_reason, goal_reached } = outcome
  await tx`
    update campaign_contacts set status = ${status}, attempts = ${attempts}, skip_reason = ${skip_reason},
      goal_reached = ${goal_reached},
      next_attempt_at = coalesce(${nextAttemptAtMs === null ? null : new Date(nextAttemptAtMs)}::timestamptz, next_attempt_at)
    where owner_id = ${ownerId} and id = ${contactId}`
}

export async function updateTalking(tx: Tx, ownerId: string, contactId: string): Promise<void> {
  await tx`update campaign_contacts set status = 'in_progress' where owner_id = ${ownerId} and id = ${contactId}`
}

export async function addSpend(tx: Tx, ownerId: string, campaignId: string, cost: bigint): Promise<void> {
  await tx`update campaigns set spend = spend + ${cost} where owner_id = ${ownerId} and id = ${campaignId}`
}
