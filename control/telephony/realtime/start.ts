/** Turns a caller in a room into a call that is offered to the engines. */
import type { CallPlan } from '../../../media/contract/plan.ts'
import type { ProjectSettings } from '../../agents/projects/schema.ts'
import { openSecrets } from '../../agents/projects/secrets.ts'
import { presentProject } from '../../agents/projects/service.ts'
import { secretNames } from '../../agents/projects/tool-plan.ts'
import { dialingLimitsOf } from '../../billing/limits/service.ts'
import { hasReadySource } from '../../knowledge/sql.ts'
import type { Tx } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { Problem } from '../../platform/http/problem.ts'
import { uuidv7 } from '../../platform/ids.ts'
import { knownContact, missingVars } from '../call-setup/known.ts'
import { offered } from '../call-setup/offer.ts'
import { makePlan } from '../call-setup/plan.ts'
import { insertCall, type NewCall, updateMissingVars } from '../call-setup/sql.ts'
import { HOLD_SECONDS } from '../call-setup/tariff.ts'
import { nameContact, upsertContact } from '../contacts/sql.ts'
import { holdSlot, passWeb } from '../gates/service.ts'
import { type LiveKit, MAX_IN_ROOM } from './livekit.ts'
import { agentOf } from './names.ts'
import { lockSession, markWebContact, type SeenSession, type SessionRow, updateCall } from './sql.ts'

/** Replaces the phone number of a person in a browser or an app, and of the agent. */
const WEB = 'web'
/** Seconds by which the engine's token outlasts the longest call, for the goodbye. */
const SEAT_SPARE_SECONDS = 600

/**
 * Passes the gates again; throws the Problem that is reported to the caller. False when `isDue` finds, in the locked
 * session, that another process was faster. `callerSince`: time of the join, by LiveKit's clock.
 */
export async function startDialogue(
  deps: Deps,
  livekit: LiveKit,
  { id, owner_id, project_id }: SessionRow,
  callerSince: Date,
  isDue: (session: SeenSession) => boolean,
): Promise<boolean> {
  const { project, tariff } = await passWeb(deps, owner_id, { project_id, texts: {} })
  if (!(await isStaffed(deps))) throw new Problem('no_capacity', { retryAfterSeconds: 5 })
  const settings = presentProject(project)
  const secrets = await openSecrets(deps, deps.sql, owner_id, secretNames(settings))
  const made = await deps.sql.begin(async tx => {
    const session = await lockSession(tx, id)
    if (!session || !isDue(session)) return null
    const base = newCall(deps, session, tariff)
    // Rows are locked in the order session, contact, balance, counters.
    const contact_id = await contactOf(tx, session, base.created_at)
    const call = { ...base, contact_id }
    await holdSlot(tx, deps.config, call, tariff, false)
    await insertCall(tx, call)
    await updateCall(tx, owner_id, id, { callId: call.id, callerSince })
    const missing = missingVars(settings, call)
    if (missing.length > 0) await updateMissingVars(tx, owner_id, call.id, missing)
    const known = await knownContact(tx, call, settings)
    const contact = session.contact_name === null ? known : { history: [], ...known, name: session.contact_name }
    const room = await roomPlan(deps, livekit, session, call.id, settings)
    const paid = { paidSeconds: HOLD_SECONDS, dialingLimits: await dialingLimitsOf(deps, tx, owner_id) }
    const { language } = project
    const knowledge = await hasReadySource(tx, owner_id, project_id)
    const plan = makePlan(deps.sealer, { call, language, settings, secrets, contact, room, knowledge, ...paid })
    return { call, plan, deadline: call.deadline_at.getTime() }
  })
  if (!made) return false
  const { call, plan, deadline } = made
  // If this process dies here, the sweep of overdue calls finds the call.
  await offered(deps, call, traceparent =>
    deps.bus.place({ type: 'call.place', plan: { ...plan, traceparent }, deadline }),
  )
  return true
}

/** True when a live engine accepts calls; one without a free slot may have one before the deadline. */
async function isStaffed(deps: Deps): Promise<boolean> {
  return (await deps.bus.engines()).some(({ capacity, rooms }) => rooms && capacity > 0)
}

function newCall(
  deps: Deps,
  { owner_id, project_id, task, vars, contact_phone }: SessionRow,
  tariff: { price: bigint; factorPercent: number },
): Omit<NewCall, 'contact_id'> {
  const at = wallDate(deps)
  return {
    id: uuidv7(at.getTime()),
    owner_id,
    project_id,
    direction: 'web',
    status: 'queued',
    from_phone: contact_phone ?? WEB,
    to_phone: WEB,
    trunk_id: null,
    task,
    vars,
    price: tariff.price,
    factor_percent: tariff.factorPercent,
    max_cost: null,
    created_at: at,
    deadline_at: new Date(at.getTime() + deps.config.web_queue_expiry_ms),
    traceparent: null,
  }
}

/** Contacts are identified by phone: without one, the agent gets the name and no contact is stored. */
async function contactOf(tx: Tx, session: SessionRow, at: Date): Promise<string | null> {
  const { owner_id, project_id, contact_phone: phone, contact_name: name } = session
  if (phone === null) return null
  const made = uuidv7(at.getTime())
  const id = await upsertContact(tx, owner_id, { id: made, phone, project_id, at })
  if (id === made) await markWebContact(tx, owner_id, id)
  if (name !== null) await nameContact(tx, owner_id, id, name)
  return id
}

async function roomPlan(
  { sealer }: Pick<Deps, 'sealer'>,
  livekit: LiveKit,
  { room, identity }: SessionRow,
  callId: string,
  { max_call_seconds }: ProjectSettings,
): Promise<CallPlan['room']> {
  const token = await livekit.token({
    room,
    identity: agentOf(callId),
    ttlSeconds: max_call_seconds + SEAT_SPARE_SECONDS,
    agent: true,
    publish: 'all',
    data: true,
    maxParticipants: MAX_IN_ROOM,
  })
  return { url: livekit.url, name: room, sealed: sealer.seal({ token }, callId), caller: identity }
}
