/** Helpers shared by the tests of lead search. */
import { expect } from 'vitest'
import type { Deps } from '../../../control/deps.ts'
import { createSearcher, type Searcher } from '../../../control/outreach/leads/job.ts'
import type { Brief, LeadParts } from '../../../control/outreach/leads/vocabulary/types.ts'
import type { JobData } from '../../../control/platform/jobs/jobs.ts'
import { brief, fakeLeads } from '../../fakes/leads.ts'
import type { Tenant, TestControl } from '../../support/control.ts'
import { onlyJobs } from '../../support/jobs.ts'

export const wish = (part: Partial<Brief> = {}) => ({
  brief_raw: 'I need dental clinics in Oakland',
  brief_parsed: brief(part),
  accept_terms: true,
})

export async function start(owner: Tenant, part: Partial<Brief> = {}): Promise<{ owner_id: string; job_id: string }> {
  const { status, body } = await owner.call('POST', '/lead-search', wish(part))
  if (status !== 201) throw new Error(JSON.stringify(body))
  return { owner_id: owner.ownerId, job_id: body.id }
}

export const withLeads = ({ deps }: TestControl, part: Partial<LeadParts>): Deps => ({
  ...deps,
  leads: fakeLeads(part),
})

export const searcher = (control: TestControl, part: Partial<LeadParts> = {}): Searcher =>
  createSearcher(withLeads(control, part))

export const jobOf = async (owner: Tenant, { job_id }: { job_id: string }) =>
  (await owner.call('GET', `/lead-search/${job_id}`)).body

export const leadsOf = async (owner: Tenant, { job_id }: { job_id: string }, query = '') =>
  (await owner.call('GET', `/lead-search/${job_id}/leads${query}`)).body

export async function moneyOf(owner: Tenant): Promise<[balance: string, held: string]> {
  const { body } = await owner.call('GET', '/balance')
  return [body.balance.amount, body.held.amount]
}

/** Counters, rows, money and webhooks of a search say the same. */
export async function audit(
  { deps: { sql } }: TestControl,
  { owner_id, job_id }: { owner_id: string; job_id: string },
) {
  const [job] = await sql`select * from lead_jobs where id = ${job_id}`
  const [rows] = await sql`
    select count(*)::int as found, count(*) filter (where status = 'enriched')::int as enriched,
      count(*) filter (where status = 'rejected')::int as rejected from leads where job_id = ${job_id}`
  expect(job).toMatchObject({ found: rows!['found'], enriched: rows!['enriched'], rejected: rows!['rejected'] })
  const [hold] = await sql`select amount, captured from holds where job_id = ${job_id}`
  const cost = job!['ended_at'] === null ? null : job!['price'] * BigInt(rows!['enriched'])
  expect(hold).toEqual({ amount: job!['price'] * BigInt(job!['target']), captured: cost })
  const [sums] = await sql`
    select coalesce(sum(amount) filter (where account = 'revenue'), 0)::bigint as revenue, sum(amount)::bigint as all,
      sum(amount) filter (where account = 'held')::bigint as held from ledger_entries where job_id = ${job_id}`
  expect(sums).toEqual({ revenue: cost ?? 0n, all: 0n, held: cost === null ? hold!['amount'] : 0n })
  const [balance] = await sql`select available, held from balances where owner_id = ${owner_id}`
  const [ledger] = await sql`
    select sum(amount) filter (where account = 'balance')::bigint as available,
      coalesce(sum(amount) filter (where account = 'held'), 0)::bigint as held
    from ledger_entries where owner_id = ${owner_id}`
  expect(balance).toEqual(ledger)
  const told = await sql<{ body: string }[]>`
    select body from webhook_deliveries where owner_id = ${owner_id} and event = 'lead.created'`
  const ids = told.map(({ body }) => JSON.parse(body)).filter(one => one.job_id === job_id)
  expect(new Set(ids.map(one => one.lead_id)).size).toBe(ids.length)
  return { told: ids, enriched: rows!['enriched'] as number }
}

/** Runs only this job; other jobs are fetched and discarded. */
export const onlySearches = (run: (job: JobData['leads.search']) => Promise<void>) => onlyJobs({ 'leads.search': run })
