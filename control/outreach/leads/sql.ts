import { type Db, json, type Tx } from '../../platform/db/connect.ts'
import type { Page } from '../../platform/http/paging.ts'
import type { EndReason, JobStatus } from './schema.ts'
import type { Brief } from './vocabulary/types.ts'

export interface SourceProblem {
  source: string
  code: string
  message: string
}

export interface JobRow {
  id: string
  owner_id: string
  status: JobStatus
  end_reason: EndReason | null
  brief_raw: string
  brief: Brief
  sources: string[]
  price: bigint
  target: number
  found: number
  enriched: number
  rejected: number
  problems: SourceProblem[]
  error_code: string | null
  error_message: string | null
  attempt: number
  tries: number
  campaign_id: string | null
  created_at: Date
  started_at: Date | null
  ended_at: Date | null
}

export type NewJob = Pick<
  JobRow,
  'id' | 'owner_id' | 'brief_raw' | 'brief' | 'sources' | 'price' | 'target' | 'created_at'
>

export async function insertJob(tx: Tx, ownerId: string, job: NewJob): Promise<JobRow> {
  const row = { ...job, owner_id: ownerId, brief: json(tx, job.brief), status: 'queued' }
  const [made] = await tx<JobRow[]>`insert into lead_jobs ${tx(row as never)} returning *`
  return made!
}

/** The list contains only the latest searches. */
export const LATEST = 50

export async function selectJobs(db: Db, ownerId: string, { limit, offset }: Page): Promise<JobRow[]> {
  return db<JobRow[]>`
    select * from lead_jobs where owner_id = ${ownerId}
    order by created_at desc, id desc limit ${Math.max(0, Math.min(limit, LATEST - offset))} offset ${offset}`
}

export async function countJobs(db: Db, ownerId: string): Promise<number> {
  const [row] = await db<{ total: number }[]>`
    select count(*)::int as total from (select 1 from lead_jobs where owner_id = ${ownerId} limit ${LATEST}) latest`
  return row!.total
}

export async function selectJob(db: Db, ownerId: string, id: string): Promise<JobRow | undefined> {
  const [row] = await db<JobRow[]>`select * from lead_jobs where owner_id = ${ownerId} and id = ${id}`
  return row
}

/** Serialises changes of a job and its leads. */
export async function lockJob(tx: Tx, ownerId: string, id: string): Promise<JobRow | undefined> {
  const [row] = await tx<JobRow[]>`select * from lead_jobs where owner_id = ${ownerId} and id = ${id} for update`
  return row
}

/** Deletes a locked job with its leads. */
export async function deleteJob(tx: Tx, ownerId: string, id: string): Promise<void> {
  await tx`
    delete from lead_identities using leads
    where leads.id = lead_id and leads.owner_id = ${ownerId} and leads.job_id = ${id}`
  await tx`delete from leads where owner_id = ${ownerId} and job_id = ${id}`
  await tx`delete from lead_jobs where owner_id = ${ownerId} and id = ${id}`
}

export async function selectActiveIds(db: Db, ownerId: string): Promise<string[]> {
  const rows = await db<{ id: string }[]>`select id from lead_jobs where owner_id = ${ownerId} and ended_at is null`
  return rows.map(row => row.id)
}

export interface StartFacts {
  /** True when this version of the terms was accepted. */
  accepted: boolean
  /** Searches started since `since`. */
  started: number
  active: string | null
}

export async function selectStartFacts(
  db: Db,
  ownerId: string,
  { version, since }: { version: string; since: Date },
): Promise<StartFacts> {
  const [row] = await db<StartFacts[]>`
    select
      exists(select 1 from lead_terms where owner_id = ${ownerId} and version = ${version}) as accepted,
      (select count(*)::int from lead_jobs where owner_id = ${ownerId} and created_at >= ${since}) as started,
      (select id from lead_jobs where owner_id = ${ownerId} and ended_at is null) as active`
  return row!
}

export interface Acceptance {
  version: string
  accepted_at: Date
  key_id: string | null
  session_id: string | null
}

/** Keeps the first acceptance. */
export async function insertAcceptance(tx: Tx, ownerId: string, acceptance: Acceptance): Promise<void> {
  await tx`insert into lead_terms ${tx({ owner_id: ownerId, ...acceptance })} on conflict do nothing`
}

// ---- Runs of the search; `attempt` is the right to write ----

export type Claim = Pick<JobRow, 'id' | 'owner_id' | 'attempt'>

/** Null when the search has ended or was deleted. */
export async function claimJob(db: Db, ownerId: string, id: string, at: Date): Promise<JobRow | null> {
  const [row] = await db<JobRow[]>`
    update lead_jobs
    set status = case status when 'queued' then 'running' else status end, attempt = attempt + 1, tries = tries + 1,
      started_at = coalesce(started_at, ${at})
    where owner_id = ${ownerId} and id = ${id} and ended_at is null returning *`
  return row ?? null
}

const isClaimed = (db: Db, claim: Claim) => db`
  owner_id = ${claim.owner_id} and id = ${claim.id} and attempt = ${claim.attempt} and ended_at is null`

/** Null when the claim is lost. */
export async function selectClaimed(db: Db, claim: Claim, lock = false): Promise<JobRow | null> {
  const [row] = await db<JobRow[]>`
    select * from lead_jobs where ${isClaimed(db, claim)} ${lock ? db`for update` : db``}`
  return row ?? null
}

export async function updateClaimed(
  db: Db,
  claim: Claim,
  change: { tries: number } | { problems: SourceProblem[] },
): Promise<void> {
  const row = 'problems' in change ? { problems: json(db, change.problems) } : change
  await db`update lead_jobs set ${db(row as never)} where ${isClaimed(db, claim)}`
}

export type JobChange = Partial<
  Pick<JobRow, 'status' | 'end_reason' | 'error_code' | 'error_message' | 'ended_at' | 'campaign_id'>
>

/** Call under the job's lock. */
export async function updateJob(tx: Tx, ownerId: string, id: string, change: JobChange): Promise<void> {
  await tx`update lead_jobs set ${tx(change as never)} where owner_id = ${ownerId} and id = ${id}`
}

/** The campaign that was created from the search, while it is a draft. */
export async function selectDraftOf(db: Db, ownerId: string, id: string): Promise<string | null> {
  const [row] = await db<{ id: string }[]>`
    select campaigns.id from lead_jobs join campaigns on campaigns.id = campaign_id
    where lead_jobs.owner_id = ${ownerId} and lead_jobs.id = ${id} and campaigns.status = 'draft'`
  return row?.id ?? null
}

/** The oldest project with an outbound line. */
export async function selectCallingProject(db: Db, ownerId: string): Promise<string | null> {
  const [row] = await db<{ id: string }[]>`
    select id from projects
    where owner_id = ${ownerId} and deleted_at is null and exists(
      select 1 from number_bindings where project_id = projects.id and direction = 'out')
    order by created_at, id limit 1`
  return row?.id ?? null
}

export async function addToCounter(tx: Tx, claim: Claim, counter: 'found' | 'enriched' | 'rejected'): Promise<void> {
  await tx`update lead_jobs set ${tx(counter)} = ${tx(counter)} + 1 where ${isClaimed(tx, claim)}`
}
