/** Parses briefs, and lists, shows and cancels searches. */

import type { Db } from '../../platform/db/connect.ts'
import { notFound, Problem } from '../../platform/http/problem.ts'
import { errorFields } from '../../platform/log.ts'
import { CANCELED, endJob } from './end.ts'
import { countLeads, selectLeads } from './leads-sql.ts'
import { type LeadDeps, leadParts, sourcesFor } from './parts.ts'
import { presentEstimate, presentJob, presentLead, presentSource } from './present.ts'
import type { JobFilters, LeadFilters } from './schema.ts'
import { countJobs, deleteJob, type JobRow, lockJob, selectJob, selectJobs, updateJob } from './sql.ts'
import { priceOfLead } from './start.ts'
import type { ParsedBrief } from './vocabulary/types.ts'

const READING_MS = 20_000

type Save = (db: Db, answer: unknown) => Promise<void>

export async function parseBrief(deps: LeadDeps, ownerId: string, raw: string) {
  const [{ brief, missing }, sources] = await Promise.all([readBrief(deps, raw), sourcesFor(deps, ownerId)])
  return {
    brief_parsed: brief,
    estimate: presentEstimate(deps.config, brief.target_leads, priceOfLead(deps.config)),
    sources: sources.map(presentSource),
    missing,
  }
}

/** Uses the first reader that returns a result. */
async function readBrief(deps: LeadDeps, raw: string): Promise<ParsedBrief> {
  const signal = AbortSignal.timeout(READING_MS)
  for (const reader of leadParts(deps).readers) {
    const parsed = await reader.read(raw, signal).catch(error => {
      deps.log.warn({ error: errorFields(error) }, 'brief reader failed; the next one is used')
      return null
    })
    if (parsed) return parsed
  }
  throw new Problem('service_unavailable', { retryAfterSeconds: 5 })
}

export async function listJobs(deps: Pick<LeadDeps, 'sql' | 'config'>, ownerId: string, page: JobFilters) {
  const [rows, total] = await Promise.all([selectJobs(deps.sql, ownerId, page), countJobs(deps.sql, ownerId)])
  return { items: rows.map(row => presentJob(deps.config, row)), total, limit: page.limit, offset: page.offset }
}

export async function findJob(deps: Pick<LeadDeps, 'sql'>, ownerId: string, id: string): Promise<JobRow> {
  const row = await selectJob(deps.sql, ownerId, id)
  if (!row) throw notFound()
  return row
}

export async function getJob(deps: Pick<LeadDeps, 'sql' | 'config'>, ownerId: string, id: string) {
  return presentJob(deps.config, await findJob(deps, ownerId, id))
}

/** A queued search ends at once, a running one within a second or two. A repeated request changes nothing. */
export async function cancelSearch(
  deps: Pick<LeadDeps, 'sql' | 'clock' | 'config'>,
  ownerId: string,
  id: string,
  save: Save = async () => {},
) {
  return deps.sql.begin(async tx => {
    const job = await lockJob(tx, ownerId, id)
    if (!job) throw notFound()
    if (job.status === 'completed' || job.status === 'failed') {
      throw new Problem('invalid_transition', { detail: `The search is ${job.status} and cannot be canceled.` })
    }
    if (job.status === 'queued') await endJob(deps, tx, job, CANCELED)
    else if (job.status === 'running') await updateJob(tx, ownerId, id, { status: 'canceling' })
    const answer = presentJob(deps.config, (await selectJob(tx, ownerId, id))!)
    await save(tx, answer)
    return answer
  })
}

/** The ledger keeps its id; a current run has lost its claim. */
export async function removeSearch(deps: Pick<LeadDeps, 'sql' | 'config'>, ownerId: string, id: string): Promise<void> {
  await deps.sql.begin(async tx => {
    const job = await lockJob(tx, ownerId, id)
    if (!job) throw notFound()
    if (job.ended_at === null) {
      throw new Problem('invalid_transition', {
        detail: 'The search is in progress. Cancel it, or wait until it ends.',
      })
    }
    await deleteJob(tx, ownerId, id)
  })
}

export async function listLeads(deps: Pick<LeadDeps, 'sql'>, ownerId: string, id: string, filters: LeadFilters) {
  const job = await findJob(deps, ownerId, id)
  const { limit, offset } = filters
  const [rows, total] = await Promise.all([
    selectLeads(deps.sql, ownerId, id, filters),
    totalOf(job, filters) ?? countLeads(deps.sql, ownerId, id, filters),
  ])
  return { items: rows.map(presentLead), total, limit, offset }
}

/** Total from the counters; null when they do not cover the filter. */
function totalOf({ found, enriched, rejected }: JobRow, { status, has_phone, min_score, q }: LeadFilters) {
  if (has_phone !== undefined || min_score !== undefined || q) return null
  if (status === undefined) return found
  return { found: found - enriched - rejected, enriched, rejected }[status]
}
