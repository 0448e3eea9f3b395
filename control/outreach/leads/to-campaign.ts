/**
 * Creates a draft campaign from the leads of a search that has ended. Nobody is called before the owner starts it and
 * confirms consent.
 */
import { selectProject } from '../../agents/projects/sql.ts'
import type { Db, Tx } from '../../platform/db/connect.ts'
import type { Deps } from '../../platform/deps.ts'
import { notFound, Problem } from '../../platform/http/problem.ts'
import { createCampaign, getCampaign } from '../campaigns/service.ts'
import { uploadContacts } from '../campaigns/upload.ts'
import { type LeadRow, selectCallable } from './leads-sql.ts'
import type { CampaignWish } from './schema.ts'
import { findJob } from './service.ts'
import { cleanLine } from './sources/clean.ts'
import { type JobRow, lockJob, selectCallingProject, selectDraftOf, updateJob } from './sql.ts'

const LONGEST_VAR = 1000
/**
 * The name is spoken to the person who answers, where it cannot be marked as untrusted: too short for an instruction.
 */
const LONGEST_COMPANY = 100

/** Another request has created the draft meanwhile; this transaction is rolled back. */
class Taken extends Error {}

/** A repeated request returns the same campaign while it is a draft. */
export async function toCampaign(deps: Deps, ownerId: string, id: string, wish: CampaignWish) {
  const job = await findJob(deps, ownerId, id)
  if (wish.project_id !== undefined && !(await selectProject(deps.sql, ownerId, wish.project_id))) throw notFound()
  if (job.ended_at === null) {
    throw new Problem('invalid_transition', {
      detail: `The search is ${job.status}. Wait until it ends, or cancel it.`,
    })
  }
  const leads = await selectCallable(deps.sql, ownerId, id)
  if (leads.length === 0) throw new Problem('no_contacts', { detail: 'No lead of this search has a phone number.' })
  const draft = (await selectDraftOf(deps.sql, ownerId, id)) ?? (await makeDraft(deps, ownerId, job, wish))
  const campaign = await getCampaign(deps, ownerId, draft)
  // Empty: the campaign was just created, or its process was killed before the upload.
  if (campaign.counters.total > 0) return campaign
  await uploadContacts(deps, ownerId, draft, { entries: leads.map(lead => entryOf(job, lead)), mode: 'append' })
  return getCampaign(deps, ownerId, draft)
}

async function makeDraft(deps: Deps, ownerId: string, job: JobRow, wish: CampaignWish): Promise<string> {
  const project_id = wish.project_id ?? (await selectCallingProject(deps.sql, ownerId))
  if (project_id === null) {
    const detail = 'No project has an outbound line. Bind a number to a project, or set `project_id`.'
    throw new Problem('no_outbound_line', { detail })
  }
  const name = wish.name ?? `${job.brief.niche}, ${job.brief.geo}`.slice(0, 200).trim().toWellFormed()
  const link = async (tx: Tx, campaignId: string) => {
    await lockJob(tx, ownerId, job.id)
    if (await selectDraftOf(tx, ownerId, job.id)) throw new Taken()
    await updateJob(tx, ownerId, job.id, { campaign_id: campaignId })
  }
  const save = (db: Db, made: unknown) => link(db as Tx, (made as { id: string }).id)
  try {
    return (await createCampaign(deps, ownerId, { name, project_id }, save)).id
  } catch (error) {
    if (!(error instanceof Taken)) throw error
    return (await selectDraftOf(deps.sql, ownerId, job.id))!
  }
}

/**
 * Values of `{{company}}`, `{{score}}`, `{{signals}}` … in the task and the prompt. All except niche and signals are
 * untrusted text, which the plan of a call marks as all vars.
 */
function entryOf({ brief }: JobRow, lead: LeadRow) {
  const company = harmless(lead.company, LONGEST_COMPANY)
  const evidence = harmless(lead.signals.flatMap(({ evidence }) => evidence ?? []).join(' | '), LONGEST_VAR)
  const given = {
    company,
    address: harmless(lead.address),
    website: harmless(lead.website),
    email: lead.emails[0],
    niche: brief.niche,
    source: lead.source,
    signals: lead.signals.flatMap(({ signal, present }) => (present ? [signal] : [])).join(', '),
    evidence,
  }
  const texts = Object.entries(given).flatMap(([name, text]) =>
    text ? [[name, text.slice(0, LONGEST_VAR).toWellFormed()] as const] : [],
  )
  return {
    phone: lead.phones[0]!,
    name: company,
    vars: { ...Object.fromEntries(texts), score: lead.score ?? 0, lead_id: lead.id },
  }
}

const harmless = (text: string | null, longest?: number): string =>
  cleanLine((text ?? '').replace(/[<>{}]+/g, ' '), longest)
