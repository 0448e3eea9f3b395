/**
 * Offers the calls of a claim to the engines and reads shared data once. As with single calls, an offer may be
 * repeated, and only one engine claims it.
 */

import { openSecrets } from '../../agents/projects/secrets.ts'
import { presentProject } from '../../agents/projects/service.ts'
import { selectProjectEver } from '../../agents/projects/sql.ts'
import { secretNames } from '../../agents/projects/tool-plan.ts'
import { dialingLimitsOf } from '../../billing/limits/service.ts'
import { hasReadySource } from '../../knowledge/sql.ts'
import { wallDate } from '../../platform/deps.ts'
import { enqueue } from '../../platform/jobs/jobs.ts'
import { markOffered, takeSlot } from '../../telephony/call-setup/dial-rate.ts'
import type { CallDeps } from '../../telephony/call-setup/ended.ts'
import { knownContact, missingVars } from '../../telephony/call-setup/known.ts'
import { offered } from '../../telephony/call-setup/offer.ts'
import { makePlan } from '../../telephony/call-setup/plan.ts'
import { updateMissingVars } from '../../telephony/call-setup/sql.ts'
import { HOLD_SECONDS } from '../../telephony/call-setup/tariff.ts'
import { cancelStopped, createWaiting, giveUp } from '../../telephony/calls/waiting.ts'
import { type OfferRow, selectOffers } from './pacer-sql.ts'

export interface CampaignDialer {
  /** Handler of the job that offers queued calls. */
  offer(callIds: readonly string[]): Promise<void>
  stop(): Promise<void>
}

/** Seconds after their rate tokens at which the job repeats waiting calls, in case this process has died. */
const SPARE_SECONDS = 5

type Command = Parameters<CallDeps['bus']['place']>[0]

export function createCampaignDialer(deps: CallDeps): CampaignDialer {
  const waiting = createWaiting(deps)

  async function offer(callIds: readonly string[]): Promise<void> {
    const rows = await selectOffers(deps.sql, callIds, wallDate(deps))
    for (const row of rows) {
      if (row.unwanted) await giveUp(deps, row.id)
      else if (row.stopped) await cancelStopped(deps, row.id)
    }
    const wanted = rows.filter(row => !row.unwanted && !row.stopped && !waiting.has(row.id))
    const turns = await Promise.all(wanted.map(row => turnOf(deps, row)))
    const due = wanted.flatMap((row, i) => (turns[i] === null ? [] : [{ row, wait: turns[i]! }]))
    const late = due.filter(one => one.wait > 0)
    // Before anything is placed: if this process dies, the job repeats them.
    if (late.length > 0) await spare(deps, late)
    const groups = Map.groupBy(due, one => one.row.project_id)
    await allOrThrow([...groups.values()].map(group => placeOf(deps, group, waitFor)))
  }

  /** Waits in this process: the job queue polls too rarely to keep a pace, and its worker stays free. */
  function waitFor(wait: number, command: Command): void {
    waiting.wait(command.plan.call_id, wait, () => placePaced(deps, command))
  }

  return {
    offer,
    stop: waiting.stop,
  }
}

/** One failure must not keep the others from being placed; the job repeats the failed one. */
async function allOrThrow(work: Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(work)).find(result => result.status === 'rejected')
  if (failed) throw failed.reason
}

/** Milliseconds until its rate token; null when it has already been offered. */
async function turnOf(deps: CallDeps, { id, trunk_id, max_cps }: OfferRow): Promise<number | null> {
  if (trunk_id === null || max_cps === null) return 0
  return takeSlot(deps, { callId: id, trunkId: trunk_id, maxCps: max_cps })
}

async function spare(deps: CallDeps, late: readonly { row: OfferRow; wait: number }[]): Promise<void> {
  const call_ids = late.map(one => one.row.id)
  const startAfter = Math.ceil(Math.max(...late.map(one => one.wait)) / 1000) + SPARE_SECONDS
  await deps.sql.begin(tx => enqueue(deps, tx, 'campaign.place', { call_ids }, { startAfter }))
}

async function placePaced(deps: CallDeps, command: Command): Promise<void> {
  await deps.bus.place(command)
  await markOffered(deps, command.plan.call_id)
}

/** Calls of one project. */
async function placeOf(
  deps: CallDeps,
  group: readonly { row: OfferRow; wait: number }[],
  waitFor: (wait: number, command: Command) => void,
): Promise<void> {
  const { owner_id, project_id } = group[0]!.row
  const project = await selectProjectEver(deps.sql, owner_id, project_id)
  if (!project) throw new Error('project of a queued call is missing')
  const settings = presentProject(project)
  const [secrets, knowledge, dialingLimits] = await Promise.all([
    openSecrets(deps, deps.sql, owner_id, secretNames(settings)),
    hasReadySource(deps.sql, owner_id, project_id),
    dialingLimitsOf(deps, deps.sql, owner_id),
  ])
  const shared = { language: project.language, settings, secrets, knowledge, softphone_id: null }
  const place = async ({ row, wait }: { row: OfferRow; wait: number }, traceparent: string | null) => {
    const contact = settings.remember
      ? await knownContact(deps.sql, row, settings)
      : { name: row.contact_name, history: [] }
    const missing = missingVars(settings, row)
    if (missing.length > 0) await updateMissingVars(deps.sql, owner_id, row.id, missing)
    const deadline = row.deadline_at.getTime()
    const paid = { paidSeconds: HOLD_SECONDS, dialingLimits }
    const input = { call: row, contact, traceparent, ...shared, ...paid }
    const plan = { ...makePlan(deps.sealer, input), dial_by: deadline }
    const command: Command = { type: 'call.place', plan, deadline }
    if (wait > 0) waitFor(wait, command)
    else if (row.max_cps === null) await deps.bus.place(command)
    else await placePaced(deps, command)
  }
  await allOrThrow(group.map(one => offered(deps, one.row, traceparent => place(one, traceparent))))
}
