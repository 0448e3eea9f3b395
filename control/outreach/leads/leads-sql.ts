import { type Db, json, type Tx } from '../../platform/db/connect.ts'
import type { Page } from '../../platform/http/paging.ts'
import type { LeadSelection, LeadStatus } from './schema.ts'
import type { FoundSignal, Reason, RejectionCode } from './vocabulary/types.ts'

export interface LeadRow {
  id: string
  job_id: string
  owner_id: string
  status: LeadStatus
  source: string
  source_key: string
  company: string
  phones: string[]
  emails: string[]
  website: string | null
  address: string | null
  lat: number | null
  lon: number | null
  score: number | null
  signals: FoundSignal[]
  reasons: Reason[]
  rejected_code: RejectionCode | null
  rejected_text: string | null
  site_problem: string | null
  attribution: string | null
  licence: string | null
  contact_id: string | null
  search: string
  created_at: Date
  enriched_at: Date | null
}

type About = Pick<LeadRow, 'company' | 'website' | 'address' | 'lat' | 'lon' | 'search'>
export type NewLead = About &
  Pick<LeadRow, 'id' | 'job_id' | 'source' | 'source_key' | 'attribution' | 'licence' | 'created_at'>

/** False when the search already has this company from this source. */
export async function insertLead(tx: Tx, ownerId: string, lead: NewLead): Promise<boolean> {
  const rows = await tx`
    insert into leads ${tx({ ...lead, owner_id: ownerId, status: 'found' })}
    on conflict (job_id, source, source_key) do nothing returning 1`
  return rows.length > 0
}

export type LeadResult = About &
  Pick<
    LeadRow,
    | 'id'
    | 'phones'
    | 'emails'
    | 'score'
    | 'signals'
    | 'reasons'
    | 'rejected_code'
    | 'rejected_text'
    | 'site_problem'
    | 'contact_id'
    | 'enriched_at'
  >

/** Stores the result of a lead that was found. False when it is already stored. */
export async function updateFound(tx: Tx, ownerId: string, jobId: string, result: LeadResult): Promise<boolean> {
  const { id, signals, reasons, ...rest } = result
  const row = {
    ...rest,
    status: result.rejected_code === null ? 'enriched' : 'rejected',
    signals: json(tx, signals),
    reasons: json(tx, reasons),
  }
  const rows = await tx`
    update leads set ${tx(row as never)}
    where owner_id = ${ownerId} and job_id = ${jobId} and id = ${id} and status = 'found' returning 1`
  return rows.length > 0
}

/** Leads that a search already has, by source and key: the id if still to be enriched, null if done. */
export async function selectKnown(db: Db, ownerId: string, jobId: string): Promise<Map<string, string | null>> {
  const rows = await db<Pick<LeadRow, 'id' | 'source' | 'source_key' | 'status'>[]>`
    select id, source, source_key, status from leads where owner_id = ${ownerId} and job_id = ${jobId}`
  return new Map(rows.map(row => [knownAs(row.source, row.source_key), row.status === 'found' ? row.id : null]))
}

export const knownAs = (source: string, key: string) => `${source} ${key}`

// ---- Identities, which no two leads of a search share ----

/** Returns the lead that has any of these; call under the job's lock. */
export async function selectTwin(
  tx: Tx,
  jobId: string,
  identities: readonly string[],
): Promise<Pick<LeadRow, 'id' | 'company'> | undefined> {
  const [row] = await tx<Pick<LeadRow, 'id' | 'company'>[]>`
    select leads.id, company from lead_identities join leads on leads.id = lead_id
    where lead_identities.job_id = ${jobId} and identity = any(${[...identities]}) order by leads.id limit 1`
  return row
}

/** Returns the latest lead with any of these that the owner has paid for in another search, by time of enrichment. */
export async function selectBought(
  tx: Tx,
  ownerId: string,
  jobId: string,
  { identities, since }: { identities: readonly string[]; since: Date },
): Promise<Pick<LeadRow, 'company' | 'job_id'> | undefined> {
  const [row] = await tx<Pick<LeadRow, 'company' | 'job_id'>[]>`
    select company, leads.job_id from lead_identities join leads on leads.id = lead_id
    where identity = any(${[...identities]}) and owner_id = ${ownerId} and leads.job_id <> ${jobId}
      and status = 'enriched' and enriched_at >= ${since} order by enriched_at desc limit 1`
  return row
}

export async function insertIdentities(
  tx: Tx,
  jobId: string,
  leadId: string,
  identities: readonly string[],
): Promise<void> {
  await tx`
    insert into lead_identities (job_id, identity, lead_id)
    select ${jobId}, identity, ${leadId} from unnest(${[...identities]}::text[]) identity on conflict do nothing`
}

// ---- Reading ----

const like = (q: string) => `%${q.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`

const matches = (db: Db, ownerId: string, jobId: string, { status, has_phone, min_score, q }: LeadSelection) => db`
  owner_id = ${ownerId} and job_id = ${jobId}
  ${status ? db`and status = ${status}` : db``}
  ${has_phone === undefined ? db`` : db`and (cardinality(phones) > 0) = ${has_phone}`}
  ${min_score === undefined ? db`` : db`and score >= ${min_score}`}
  ${q ? db`and search like ${like(q)}` : db``}`

export async function selectLeads(
  db: Db,
  ownerId: string,
  jobId: string,
  filters: LeadSelection & Page,
): Promise<LeadRow[]> {
  return db<LeadRow[]>`
    select * from leads where ${matches(db, ownerId, jobId, filters)}
    order by created_at desc, id desc limit ${filters.limit} offset ${filters.offset}`
}

/** For filters that the job's counters do not cover: a search has a few hundred leads. */
export async function countLeads(db: Db, ownerId: string, jobId: string, selection: LeadSelection): Promise<number> {
  const [row] = await db<{ total: number }[]>`
    select count(*)::int as total from leads where ${matches(db, ownerId, jobId, selection)}`
  return row!.total
}

/** In the order in which they were found. */
export async function selectLeadsAfter(
  db: Db,
  ownerId: string,
  jobId: string,
  selection: LeadSelection,
  { after, limit }: { after: string | null; limit: number },
): Promise<LeadRow[]> {
  return db<LeadRow[]>`
    select * from leads where ${matches(db, ownerId, jobId, selection)} ${after ? db`and id > ${after}` : db``}
    order by id limit ${limit}`
}

/** Leads that can be called, best first. */
export async function selectCallable(db: Db, ownerId: string, jobId: string): Promise<LeadRow[]> {
  return db<LeadRow[]>`
    select * from leads
    where ${matches(db, ownerId, jobId, { status: 'enriched', has_phone: true })} order by score desc, id`
}
