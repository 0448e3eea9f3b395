/** Offers queued calls to the engines, for each trunk no faster than its carrier accepts. */

import { openSecrets } from '../../agents/projects/secrets.ts'
import { presentProject } from '../../agents/projects/service.ts'
import { selectProjectEver } from '../../agents/projects/sql.ts'
import { secretNames } from '../../agents/projects/tool-plan.ts'
import { dialingLimitsOf } from '../../billing/limits/service.ts'
import { isStopped } from '../../billing/unusual/sql.ts'
import { hasReadySource } from '../../knowledge/sql.ts'
import { wallDate } from '../../platform/deps.ts'
import { enqueue } from '../../platform/jobs/jobs.ts'
import { markOffered, takeSlot } from '../call-setup/dial-rate.ts'
import type { CallDeps } from '../call-setup/ended.ts'
import { knownContact, missingVars } from '../call-setup/known.ts'
import { offered } from '../call-setup/offer.ts'
import { makePlan } from '../call-setup/plan.ts'
import { type CallRow, selectCallById, updateMissingVars } from '../call-setup/sql.ts'
import { HOLD_SECONDS } from '../call-setup/tariff.ts'
import { isDoNotCall } from '../do-not-call/sql.ts'
import { selectSoftphoneId } from '../softphones/sql.ts'
import { selectMaxCps } from '../trunks/sql.ts'
import { cancelStopped, createWaiting, giveUp } from './waiting.ts'

export interface Dialer {
  /** Handler of the job behind a queued call. A second run may offer the call again; only one engine claims it. */
  offer(callId: string): Promise<void>
  stop(): Promise<void>
}

/** Seconds after its slot at which the job repeats a waiting call, in case this process has died. */
const SPARE_SECONDS = 5

export function createDialer(deps: CallDeps): Dialer {
  const waiting = createWaiting(deps)

  async function offer(callId: string): Promise<void> {
    const call = await selectCallById(deps.sql, callId)
    if (call?.status !== 'queued' || call.deadline_at <= wallDate(deps)) return
    if (await isDoNotCall(deps.sql, call.owner_id, call.to_phone)) return giveUp(deps, callId)
    if (call.trunk_id !== null && (await isStopped(deps.sql, call.owner_id))) return cancelStopped(deps, callId)
    const maxCps = call.trunk_id === null ? null : await selectMaxCps(deps.sql, call.owner_id, call.trunk_id)
    const placed = () => offered(deps, call, traceparent => place(deps, call, traceparent))
    if (call.trunk_id === null || maxCps === null) return placed()
    const wait = await takeSlot(deps, { callId, trunkId: call.trunk_id, maxCps })
    if (wait === null) return
    if (wait > 0) return later(callId, wait)
    await placed()
    await markOffered(deps, callId)
  }

  /** Waits in this process: the job queue polls too rarely to keep a pace, and its worker stays free. */
  async function later(callId: string, wait: number): Promise<void> {
    const startAfter = Math.ceil(wait / 1000) + SPARE_SECONDS
    await deps.sql.begin(tx => enqueue(deps, tx, 'call.place', { call_id: callId }, { startAfter }))
    if (!waiting.has(callId)) waiting.wait(callId, wait, () => offer(callId))
  }

  return {
    offer,
    stop: waiting.stop,
  }
}

async function place(deps: CallDeps, call: CallRow, traceparent: string | null): Promise<void> {
  const project = await selectProjectEver(deps.sql, call.owner_id, call.project_id)
  if (!project) throw new Error('project of a queued call is missing')
  const settings = presentProject(project)
  const secrets = await openSecrets(deps, deps.sql, call.owner_id, secretNames(settings))
  const contact = await knownContact(deps.sql, call, settings)
  const missing = missingVars(settings, call)
  if (missing.length > 0) await updateMissingVars(deps.sql, call.owner_id, call.id, missing)
  const paid = { paidSeconds: HOLD_SECONDS, dialingLimits: await dialingLimitsOf(deps, deps.sql, call.owner_id) }
  const softphone_id = call.trunk_id === null ? await selectSoftphoneId(deps.sql, call.owner_id, call.to_phone) : null
  const knowledge = await hasReadySource(deps.sql, call.owner_id, call.project_id)
  const known = { settings, secrets, contact, knowledge, softphone_id, traceparent, ...paid }
  const plan = makePlan(deps.sealer, { call, language: project.language, ...known })
  await deps.bus.place({ type: 'call.place', plan, deadline: call.deadline_at.getTime() })
}
