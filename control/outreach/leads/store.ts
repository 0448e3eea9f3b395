/**
 * What a search writes of a company: once when a source tells of it, once when it was looked at. Each is one transaction
 * under the lock of the job, so that counters, contact and webhook agree with the row whatever is killed, and of two
 * companies that are one the second finds the first.
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
/** So long a company that was paid for is not sold again; then what was found of it is old. */
const BOUGHT_MS = 180 * 24 * 3600 * 1000

const aboutOf = (
  told: Pick<Candidate, 'company' | 'website' | 'address' | 'geo'>,
  contacts: readonly string[] = [],
): Pick<LeadResult, 'company' | 'website' | 'address' | 'lat' | 'lon' | 'search'> => {
  const company = cleanLine(told.company, LONGEST_COMPANY)
  const website = cleanOrNull(told.website, 2000)
  const address = cleanOrNull(told.address, LONGEST_ADDRESS)
  const search = [company, website, address, ...contacts].filter(Boolean).join(' ').toLowerCase()
  return { company, website, address, lat: told.geo?.lat ?? null, lon: told.geo?.lon ?? null, search }
}

/** Answers the id of its row; null when the right to write is lost. */
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

/** `full`: there are as many leads as were asked for, and nothing was written. `lost`: so is the right to write. */
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
    if (rejected === null) await tell(deps, tx, job, result)
    return job.enriched + (rejected === null ? 1 : 0) >= job.target ? 'full' : 'stored'
  })
}

/** What only the whole search, the earlier ones and the owner's lists know. */
async function rejectionOf(
  deps: Pick<Deps, 'clock'>,
  tx: Tx,
  job: JobRow,
  leadId: string,
  enriched: Enriched,
): Promise<Enriched['rejected']> {
  const identities = identityOf(enriched)
  // What is not wanted does not come back under another name; what is closed or silent may.
  if (enriched.rejected?.code === 'excluded') await insertIdentities(tx, job.id, leadId, identities)
  if (enriched.rejected) return enriched.rejected
  const twin = await selectTwin(tx, job.id, identities)
  // Also what is rejected here is known from now on: another number of who does not want to be called is not called either.
  await insertIdentities(tx, job.id, twin?.id ?? leadId, identities)
  if (twin) return { code: 'duplicate', text: `The same company as ${twin.company}` }
  const since = new Date(deps.clock.wall() - BOUGHT_MS)
  const bought = await selectBought(tx, job.owner_id, job.id, { identities, since })
  if (bought) {
    return { code: 'duplicate', text: `You have it from the search ${bought.job_id}, as ${bought.company}` }
  }
  const unwanted = await selectUnwanted(tx, job.owner_id, enriched.phones)
  return unwanted ? { code: 'do_not_call', text: `${unwanted} is on your do-not-call list` } : null
}

function resultOf(deps: Pick<Deps, 'clock'>, id: string, enriched: Enriched): LeadResult {
  const { reasons, rejected } = enriched
  // Of what is not paid for nobody gets a number, and of who must not be called none is kept.
  const { phones, emails, signals } = rejected === null ? enriched : { phones: [], emails: [], signals: [] }
  return {
    ...aboutOf(enriched, [...phones, ...emails]),
    ...{ id, phones, emails, signals, reasons },
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

async function tell(deps: Deps, tx: Tx, job: JobRow, lead: LeadResult): Promise<void> {
  await emitWebhook(deps, tx, job.owner_id, 'lead.created', {
    ...{ lead_id: lead.id, job_id: job.id, created_at: lead.enriched_at!.toISOString() },
    ...{ phone: lead.phones[0] ?? null, score: lead.score, data: { company: lead.company } },
  })
}
