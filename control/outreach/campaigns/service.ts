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
import type { CampaignInput, CampaignPatch, ContactFilters } from './schema.ts'
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
  type VisibleCampaigns,
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

export async function listCampaigns(deps: Deps, ownerId: string, filters: VisibleCampaigns) {
  const [rows, total, price] = await Promise.all([
    selectCampaigns(deps.sql, ownerId, filters),
    countCampaigns(deps.sql, ownerId, filters),
    priceOf(deps, ownerId),
  ])
  const { limit, offset } = filters
  return { items: rows.map(row => presentCampaign(deps.config, row, price)), total, limit, offset }
}

export async function getCampaign(deps: Deps, ownerId: string, id: string): Promise<CampaignView> {
  // Sequential, so that a request for another owner's campaign runs the same queries as for one that does not exist.
  const row = await findCampaign(deps, ownerId, id)
  return presentCampaign(deps.config, row, await priceOf(deps, ownerId))
}

/** Creates a draft, which calls nobody until it has contacts and is started. */
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

/** Task and project are fixed by the start; window, concurrency and limits can be changed in a pause. */
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
    if (!isEditable(before))
      throw illegal(before, 'A draft can be changed; in a pause, only its name and params can be changed.')
    if (!isDraft(before) && (patch.task !== undefined || patch.project_id !== undefined)) {
      throw illegal(before, 'Task and project can be changed only in a draft.')
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
    if (!isDraft(campaign))
      throw illegal(campaign, 'Only a draft can be deleted; started campaigns are kept as evidence.')
    await deleteCampaign(tx, ownerId, id)
  })
}

// ---- Status changes ----

/** Actions that start dialling have to pass the start gates. */
const DIALING: readonly Action[] = ['start', 'resume', 'requeue']

/** Runs an action. Does nothing when it was already done; throws 409 when it is illegal. */
export async function stepCampaign(
  deps: CallDeps,
  { ownerId, caller }: { ownerId: string; caller: Caller },
  id: string,
  action: Action,
): Promise<CampaignView> {
  const seen = await findCampaign(deps, ownerId, id)
  if (DIALING.includes(action) && checkTransition(deps, seen, action) !== 'repeat') {
    await passStartGates(deps, ownerId, seen, action)
  }
  if (action === 'requeue') await beginRequeue(deps, ownerId, id)
  await deps.sql.begin(async tx => {
    const campaign = await lockCampaign(tx, ownerId, id)
    if (!campaign) throw notFound()
    const next = checkTransition(deps, campaign, action)
    if (next === 'repeat') {
      // A manual pause of an automatically paused campaign keeps it from resuming automatically.
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

/**
 * Moves most of many contacts in advance, while the campaign is paused; an interrupted requeue can continue from there.
 */
async function beginRequeue(deps: Deps, ownerId: string, id: string): Promise<void> {
  const begun = await deps.sql.begin(async tx => {
    const campaign = await lockCampaign(tx, ownerId, id)
    if (!campaign) throw notFound()
    checkTransition(deps, campaign, 'requeue')
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

function checkTransition(
  deps: Pick<Deps, 'clock'>,
  campaign: CountedCampaign,
  action: Action,
): CampaignStatus | 'repeat' {
  const next = nextStatus(action, campaign, wallDate(deps))
  if (next === null) throw illegal(campaign, `The action ${action} is not allowed in this status.`)
  return next
}

// ---- Contacts ----

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
