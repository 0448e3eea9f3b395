/**
 * Stores the companies of a search: once when a source finds one, and once when it is enriched. Each write is one
 * transaction under the job's lock, so that counters, contact and webhook match the row if a process dies, and the
 * second of two equal companies finds the first.
 */

import type { Tx } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { uuidv7 } from '../../platform/ids.ts'
import { withJobs } from '../../platform/jobs/jobs.ts'
import { insertLeadContact } from '../../telephony/contacts/sql.ts'
import { selectUnwanted } from '../../telephony/do-not-call/sql.ts'
import { emitWebhook } from '../../webhooks/emit.ts'
import { identityOf } from './enrich/dedupe.ts'
import { insertIdentities, insertLead, type LeadResult, selectBought, selectTwin, updateFound } from './leads-sql.ts'
import { cleanLine, cleanOrNull } from './sources/clean.ts'
import { addToCounter, type Claim, type JobRow, selectClaimed } from './sql.ts'
import type { Candidate, Enriched, LeadSource } from './vocabulary/types.ts'

const LONGEST_COMPANY = 200
const LONGEST_ADDRESS = 500
/** Milliseconds during which a company that was paid for is not sold again; after that, its data is outdated. */
const BOUGHT_MS = 180 * 24 * 3600 * 1000

const aboutOf = (
  candidate: Pick<Candidate, 'company' | 'website' | 'address' | 'geo'>,
  contacts: readonly string[] = [],
): Pick<LeadResult, 'company' | 'website' | 'address' | 'lat' | 'lon' | 'search'> => {
  const company = cleanLine(candidate.company, LONGEST_COMPANY)
  const website = cleanOrNull(candidate.website, 2000)
  const address = cleanOrNull(candidate.address, LONGEST_ADDRESS)
  const search = [company, website, address, ...contacts].filter(Boolean).join(' ').toLowerCase()
  return { company, website, address, lat: candidate.geo?.lat ?? null, lon: candidate.geo?.lon ?? null, search }
}

/** Returns the id of the row; null when the claim is lost. */
export async function addFound(
  deps: Pick<Deps, 'sql' | 'clock'>,
  claim: Claim,
  { id: source, attribution, licence }: LeadSource,
  candidate: Candidate,
): Promise<string | null> {
  const created_at = wallDate(deps)
  const id = uuidv7(created_at.getTime())
  return deps.sql.begin(async tx => {
    if (!(await selectClaimed(tx, claim, true))) return null
    const lead = { id, job_id: claim.id, source, source_key: candidate.key, attribution, licence, created_at }
    const added = await insertLead(tx, claim.owner_id, { ...aboutOf(candidate), ...lead })
    if (added) await addToCounter(tx, claim, 'found')
    return id
  })
}

/** `full`: the target is reached and nothing was written. `lost`: the claim is lost. */
export type Stored = 'stored' | 'full' | 'lost'

export async function storeLead(deps: Deps, claim: Claim, leadId: string, enriched: Enriched): Promise<Stored> {
  return withJobs(deps, async tx => {
    const job = await selectClaimed(tx, claim, true)
    if (job?.status !== 'running') return 'lost'
    if (job.enriched >= job.target) return 'full'
    const rejected = await rejectionOf(deps, tx, job, leadId, enriched)
    const result = resultOf(deps, leadId, { ...enriched, rejected })
    const phone = result.phones[0] ?? null
    if (rejected === null && phone !== null) result.contact_id = await contactOf(tx, job, result.company, phone, result)
    if (!(await updateFound(tx, job.owner_id, job.id, result))) return 'stored'
    await addToCounter(tx, job, rejected === null ? 'enriched' : 'rejected')
    if (rejected === null) await emitCreated(deps, tx, job, result)
    return job.enriched + (rejected === null ? 1 : 0) >= job.target ? 'full' : 'stored'
  })
}

/** Rejections that need the whole search, earlier ones and the owner's lists. */
async function rejectionOf(
  deps: Pick<Deps, 'clock'>,
  tx: Tx,
  job: JobRow,
  leadId: string,
  enriched: Enriched,
): Promise<Enriched['rejected']> {
  const identities = identityOf(enriched)
  // An excluded company must not come back under another name; a closed or unreachable one may.
  if (enriched.rejected?.code === 'excluded') await insertIdentities(tx, job.id, leadId, identities)
  if (enriched.rejected) return enriched.rejected
  const twin = await selectTwin(tx, job.id, identities)
  // Stores identities of rejected leads too: a company that must not be called is not called on another number either.
  await insertIdentities(tx, job.id, twin?.id ?? leadId, identities)
  if (twin) return { code: 'duplicate', text: `Duplicate of ${twin.company}` }
  const since = new Date(deps.clock.wall() - BOUGHT_MS)
  const bought = await selectBought(tx, job.owner_id, job.id, { identities, since })
  if (bought) {
    return { code: 'duplicate', text: `Already bought in search ${bought.job_id} as ${bought.company}` }
  }
  const unwanted = await selectUnwanted(tx, job.owner_id, enriched.phones)
  return unwanted ? { code: 'do_not_call', text: `${unwanted} is on your do-not-call list` } : null
}

function resultOf(deps: Pick<Deps, 'clock'>, id: string, enriched: Enriched): LeadResult {
  const { reasons, rejected } = enriched
  // A lead that is not paid for has no contact data, and no data is kept of people who must not be called.
  const { phones, emails, signals } = rejected === null ? enriched : { phones: [], emails: [], signals: [] }
  return {
    ...aboutOf(enriched, [...phones, ...emails]),
    id,
    phones,
    emails,
    signals,
    reasons,
    score: Math.round(enriched.score),
    rejected_code: rejected?.code ?? null,
    rejected_text: rejected && cleanLine(rejected.text),
    site_problem: cleanOrNull(enriched.site_problem),
    contact_id: null,
    enriched_at: wallDate(deps),
  }
}

const contactOf = (tx: Tx, job: JobRow, name: string, phone: string, { enriched_at }: LeadResult) =>
  insertLeadContact(tx, job.owner_id, { id: uuidv7(enriched_at!.getTime()), phone, name, at: enriched_at! })

async function emitCreated(deps: Deps, tx: Tx, job: JobRow, lead: LeadResult): Promise<void> {
  await emitWebhook(deps, tx, job.owner_id, 'lead.created', {
    lead_id: lead.id,
    job_id: job.id,
    created_at: lead.enriched_at!.toISOString(),
    phone: lead.phones[0] ?? null,
    score: lead.score,
    data: { company: lead.company },
  })
}
