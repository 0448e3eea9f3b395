import { passModeration } from '../../agents/moderation/moderation.ts'
import { presentProject } from '../../agents/projects/service.ts'
import { type ProjectRow, selectProject } from '../../agents/projects/sql.ts'
import type { Db } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { limitReached, notFound, Problem } from '../../platform/http/problem.ts'
import { uuidv7 } from '../../platform/ids.ts'
import type { CallDeps } from '../../telephony/call-setup/ended.ts'
import { tariffOf } from '../../telephony/call-setup/tariff.ts'
import { BATCH, cancelRest, requeueRest } from './batches.ts'
import { cancelQueued } from './cancel.ts'
import { type Action, isDraft, isEditable, nextStatus } from './lifecycle.ts'
import { defaultParams, mergeParams, presentCampaign, presentContact } from './present.ts'
import type { CampaignFilters, CampaignInput, CampaignPatch, ContactFilters } from './schema.ts'
import {
  type CountedCampaign,
  countCampaigns,
  deleteCampaign,
  insertCampaign,
  lockCampaign,
  type NewCampaign,
  requeueContacts,
  selectCampaign,
  selectCampaigns,
  selectContacts,
  selectQueuedCalls,
  totalOf,
  updateCampaign,
} from './sql.ts'
import { consentOf, passStartGates } from './start.ts'
import { setStatus } from './status.ts'
import { type CampaignStatus, requeuedStatuses } from './types.ts'
import { wakePacers } from './wake.ts'

const MOST_CAMPAIGNS = 10_000

type Save = (db: Db, answer: unknown) => Promise<void>
type CampaignView = ReturnType<typeof presentCampaign>

const priceOf = async (deps: Deps, ownerId: string) => (await tariffOf(deps, ownerId, 'out')).price

export async function findCampaign(deps: Pick<Deps, 'sql'>, ownerId: string, id: string): Promise<CountedCampaign> {
  const row = await selectCampaign(deps.sql, ownerId, id)
  if (!row) throw notFound()
  return row
}

async function findProject(deps: Pick<Deps, 'sql'>, ownerId: string, id: string): Promise<ProjectRow> {
  const project = await selectProject(deps.sql, ownerId, id)
  if (!project) throw notFound()
  return project
}

export async function listCampaigns(deps: Deps, ownerId: string, filters: CampaignFilters) {
  const [rows, total, price] = await Promise.all([
    selectCampaigns(deps.sql, ownerId, filters),
    countCampaigns(deps.sql, ownerId, filters),
    priceOf(deps, ownerId),
  ])
  const { limit, offset } = filters
  return { items: rows.map(row => presentCampaign(deps.config, row, price)), total, limit, offset }
}

export async function getCampaign(deps: Deps, ownerId: string, id: string): Promise<CampaignView> {
  // One after the other, so that who asks for somebody else's asks the database the same as for one that never was.
  const row = await findCampaign(deps, ownerId, id)
  return presentCampaign(deps.config, row, await priceOf(deps, ownerId))
}

/** A draft: it calls nobody until it has contacts and is started. */
export async function createCampaign(
  deps: Deps,
  ownerId: string,
  input: CampaignInput,
  save: Save = async () => {},
): Promise<CampaignView> {
  const project = await findProject(deps, ownerId, input.project_id)
  await passModeration(deps, { '/task': input.task })
  const price = await priceOf(deps, ownerId)
  const { name, project_id, task = null } = input
  const at = wallDate(deps)
  const params = mergeParams({ timezone: presentProject(project).timezone, ...defaultParams }, input.params ?? {})
  const id = uuidv7(at.getTime())
  return deps.sql.begin(async tx => {
    if ((await countCampaigns(tx, ownerId)) >= MOST_CAMPAIGNS) throw limitReached(MOST_CAMPAIGNS, 'campaigns')
    const campaign: NewCampaign = {
      id,
      owner_id: ownerId,
      name,
      project_id,
      task,
      ...params,
      created_at: at,
      updated_at: at,
    }
    await insertCampaign(tx, ownerId, campaign)
    const answer = presentCampaign(deps.config, (await selectCampaign(tx, ownerId, id))!, price)
    await save(tx, answer)
    return answer
  })
}

const illegal = (campaign: { status: CampaignStatus }, detail: string) =>
  new Problem('invalid_transition', { detail: `The campaign is ${campaign.status}. ${detail}` })

/** What is said, and by whom, is fixed by the start; when, how many and for how much can be changed in a pause. */
export async function patchCampaign(
  deps: Deps,
  ownerId: string,
  id: string,
  { params = {}, ...patch }: CampaignPatch,
): Promise<CampaignView> {
  await findCampaign(deps, ownerId, id)
  if (patch.project_id !== undefined) await findProject(deps, ownerId, patch.project_id)
  await passModeration(deps, { '/task': patch.task })
  const given = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined))
  await deps.sql.begin(async tx => {
    const before = await lockCampaign(tx, ownerId, id)
    if (!before) throw notFound()
    if (!isEditable(before)) throw illegal(before, 'It can be changed as a draft, and its name and params in a pause.')
    if (!isDraft(before) && (patch.task !== undefined || patch.project_id !== undefined)) {
      throw illegal(before, 'Its task and its project can be changed as long as it is a draft.')
    }
    const settings = { ...before, ...mergeParams(before, params) }
    await updateCampaign(tx, ownerId, { ...settings, ...given, updated_at: wallDate(deps) })
  })
  return getCampaign(deps, ownerId, id)
}

export async function removeCampaign(deps: Deps, ownerId: string, id: string): Promise<void> {
  await deps.sql.begin(async tx => {
    const campaign = await lockCampaign(tx, ownerId, id)
    if (!campaign) throw notFound()
    if (!isDraft(campaign)) throw illegal(campaign, 'Only a draft can be deleted; the others stay as evidence.')
    await deleteCampaign(tx, ownerId, id)
  })
}

// ---- its life ----

/** Those that make it dial have to pass the gates. */
const DIALING: readonly Action[] = ['start', 'resume', 'requeue']

/** Carries out a step, or nothing when it was done before; an illegal one is 409. */
export async function stepCampaign(
  deps: CallDeps,
  { ownerId, caller }: { ownerId: string; caller: Caller },
  id: string,
  action: Action,
): Promise<CampaignView> {
  const seen = await findCampaign(deps, ownerId, id)
  if (DIALING.includes(action) && judge(deps, seen, action) !== 'repeat') {
    await passStartGates(deps, ownerId, seen, action)
  }
  if (action === 'requeue') await beginRequeue(deps, ownerId, id)
  await deps.sql.begin(async tx => {
    const campaign = await lockCampaign(tx, ownerId, id)
    if (!campaign) throw notFound()
    const next = judge(deps, campaign, action)
    if (next === 'repeat') {
      // Who pauses what has paused by itself means it to stay so.
      if (action === 'pause' && campaign.pause_reason !== 'owner') await setStatus(deps, tx, campaign, 'paused')
      return
    }
    if (action === 'start' && campaign.total === 0) throw new Problem('no_contacts')
    if (action === 'requeue') await requeueContacts(tx, ownerId, id, wallDate(deps))
    const consent = action === 'start' ? { consent: consentOf(caller, wallDate(deps)) } : {}
    await setStatus(deps, tx, campaign, next, { ...consent, begins: action !== 'resume' })
  })
  if (action === 'stop') await cancelRest(deps, ownerId, id)
  if (action === 'stop' || action === 'pause') await cancelQueued(deps, await selectQueuedCalls(deps.sql, ownerId, id))
  if (DIALING.includes(action)) wakePacers(deps)
  return getCampaign(deps, ownerId, id)
}

/** Of many contacts most are moved before: it is paused then, and whoever comes back can go on from there. */
async function beginRequeue(deps: Deps, ownerId: string, id: string): Promise<void> {
  const begun = await deps.sql.begin(async tx => {
    const campaign = await lockCampaign(tx, ownerId, id)
    if (!campaign) throw notFound()
    judge(deps, campaign, 'requeue')
    if (campaign.status === 'stopped' && campaign.pending > 0) return false
    const many = requeuedStatuses.reduce((sum, status) => sum + campaign[status], 0) > BATCH
    if (many && campaign.status !== 'paused') await setStatus(deps, tx, campaign, 'paused')
    return many ? 'many' : 'few'
  })
  if (begun === 'many') await requeueRest(deps, ownerId, id)
  if (begun) return
  await cancelRest(deps, ownerId, id)
  await beginRequeue(deps, ownerId, id)
}

function judge(deps: Pick<Deps, 'clock'>, campaign: CountedCampaign, action: Action): CampaignStatus | 'repeat' {
  const next = nextStatus(action, campaign, wallDate(deps))
  if (next === null) throw illegal(campaign, `There is no ${action} from there.`)
  return next
}

// ---- its contacts ----

export async function listContacts(
  deps: Pick<Deps, 'sql' | 'clock'>,
  ownerId: string,
  id: string,
  filters: ContactFilters,
) {
  const campaign = await findCampaign(deps, ownerId, id)
  const { limit, offset } = filters
  const rows = await selectContacts(deps.sql, ownerId, id, filters, campaign.total)
  const now = wallDate(deps)
  return { items: rows.map(row => presentContact(row, now)), total: totalOf(campaign, filters), limit, offset }
}
