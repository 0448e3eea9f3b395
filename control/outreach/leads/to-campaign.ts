/** From a search that is over to a draft that calls its leads. Nobody is called before the owner starts it, with consent. */
import { markUntrusted } from '../../../media/shared/untrusted.ts'
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
/** Of quotes, with the mark around them that says what they are. */
const LONGEST_EVIDENCE = 900
/** It is said to who answers, where no mark can be: not long enough for a story, and with nothing that opens a mark. */
const LONGEST_COMPANY = 100

/** Another request has made the draft meanwhile: what was made here is rolled back. */
class Taken extends Error {}

/** A repeat answers the same campaign as long as it is a draft. */
export async function toCampaign(deps: Deps, ownerId: string, id: string, wish: CampaignWish) {
  const job = await findJob(deps, ownerId, id)
  if (wish.project_id !== undefined && !(await selectProject(deps.sql, ownerId, wish.project_id))) throw notFound()
  if (job.ended_at === null) {
    throw new Problem('invalid_transition', { detail: `The search is ${job.status}: wait for its end, or cancel it.` })
  }
  const leads = await selectCallable(deps.sql, ownerId, id)
  if (leads.length === 0) throw new Problem('no_contacts', { detail: 'No lead of this search has a telephone number.' })
  const draft = (await selectDraftOf(deps.sql, ownerId, id)) ?? (await makeDraft(deps, ownerId, job, wish))
  const campaign = await getCampaign(deps, ownerId, draft)
  // Empty: it was made just now, or by a process that was killed before this.
  if (campaign.counters.total > 0) return campaign
  await uploadContacts(deps, ownerId, draft, { entries: leads.map(lead => entryOf(job, lead)), mode: 'append' })
  return getCampaign(deps, ownerId, draft)
}

async function makeDraft(deps: Deps, ownerId: string, job: JobRow, wish: CampaignWish): Promise<string> {
  const project_id = wish.project_id ?? (await selectCallingProject(deps.sql, ownerId))
  if (project_id === null) {
    const detail = 'No project has an outbound line: bind a number to one, or name a project.'
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

/** `{{company}}`, `{{score}}`, `{{signals}}` … of the task and the prompt. All but niche and signals is of strangers. */
function entryOf({ brief }: JobRow, lead: LeadRow) {
  const company = harmless(lead.company, LONGEST_COMPANY)
  const evidence = harmless(lead.signals.flatMap(({ evidence }) => evidence ?? []).join(' | '), LONGEST_EVIDENCE)
  const given = {
    ...{ company, address: harmless(lead.address), website: harmless(lead.website), email: lead.emails[0] },
    ...{ niche: brief.niche, source: lead.source },
    signals: lead.signals.flatMap(({ signal, present }) => (present ? [signal] : [])).join(', '),
    evidence: evidence && markUntrusted('site', evidence),
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
