/** Answers engines about a call while the caller waits: whether to accept it, and for how long it is paid. */
import { Refusal, type RequestAnswer, type RequestBody } from '../../../media/contract/messages.ts'
import { openSecrets } from '../../agents/projects/secrets.ts'
import { presentProject } from '../../agents/projects/service.ts'
import { type ProjectRow, selectProject } from '../../agents/projects/sql.ts'
import { secretNames } from '../../agents/projects/tool-plan.ts'
import { dialingLimitsOf } from '../../billing/limits/service.ts'
import { extendHold, type Tariff } from '../../billing/money.ts'
import { hasReadySource } from '../../knowledge/sql.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { Problem } from '../../platform/http/problem.ts'
import { uuidv7 } from '../../platform/ids.ts'
import { toE164 } from '../../platform/phone.ts'
import { knownContact, missingVars } from '../call-setup/known.ts'
import { makePlan } from '../call-setup/plan.ts'
import { insertCall, lockCall, type NewCall, updateMissingVars } from '../call-setup/sql.ts'
import { HOLD_SECONDS, tariffOfCall } from '../call-setup/tariff.ts'
import { upsertContact } from '../contacts/sql.ts'
import { holdSlot, passInbound } from '../gates/service.ts'
import { mayBeVerificationCall } from '../numbers/pending.ts'
import { selectInboundProject } from '../numbers/sql.ts'
import { selectProjectByName, selectSoftphoneById } from '../softphones/sql.ts'
import { noteNumberCall } from '../trunks/service.ts'
import { selectTrunkOwner } from '../trunks/sql.ts'

type Admission = RequestAnswer<'call.admit'>
const refuse = (refusal: Refusal): Admission => ({ admitted: false, refusal })

/** Verified parties of a call. */
interface Wish {
  project: ProjectRow
  called: string
  caller: string
  /** Null for a call from a softphone. */
  trunk_id: string | null
  /** Trace context of the engine's span. */
  traceparent: string | null
}

type Asked = Omit<Wish, 'traceparent'>

export async function admitCall(deps: Deps, request: RequestBody<'call.admit'>): Promise<Admission> {
  const asked = request.softphone_id
    ? await calledBySoftphone(deps, request, request.softphone_id)
    : await calledOverTrunk(deps, request)
  if (typeof asked === 'string') return refuse(asked)
  const wish: Wish = { ...asked, traceparent: request.traceparent ?? null }
  try {
    const { tariff } = await passInbound(deps, wish.project.owner_id, wish.trunk_id)
    const admission = await takeIn(deps, tariff, wish)
    const { called: number, trunk_id: trunkId, project } = wish
    if (request.decided_by === 'number' && trunkId !== null) {
      await noteNumberCall(deps, project.owner_id, { number, trunkId, source: request.source })
    }
    return admission
  } catch (error) {
    const refusal = Refusal.safeParse(error instanceof Problem ? error.code : null)
    if (!refusal.success) throw error
    return refuse(refusal.data)
  }
}

async function calledOverTrunk(deps: Deps, request: RequestBody<'call.admit'>): Promise<Asked | Refusal> {
  const { sql } = deps
  const { trunk_id, caller } = request
  // Several trunks share the source address, and none has the called number.
  if (!trunk_id) return 'unknown_number'
  const ownerId = await selectTrunkOwner(sql, trunk_id)
  if (!ownerId) return 'unknown_source'
  const called = toE164(request.called)
  // A registration shows whose the number is; the number alone must not get the code that shows it.
  const isHidden =
    called && request.decided_by !== 'registration' && (await mayBeVerificationCall(deps, called, caller))
  const project = called && !isHidden ? await projectOfNumber(deps, ownerId, called, trunk_id) : undefined
  return called && project ? { project, called, caller, trunk_id } : 'unknown_number'
}

async function projectOfNumber(
  deps: Deps,
  ownerId: string,
  number: string,
  trunkId: string | null,
): Promise<ProjectRow | undefined> {
  const id = await selectInboundProject(deps.sql, ownerId, number, trunkId)
  return id ? selectProject(deps.sql, ownerId, id) : undefined
}

/** `agent`, and short numbers such as 1 or 100: the softphone's own agent. */
const OWN_AGENT = /^(?:agent|[\d*#]{1,6})$/i
const LONGEST_NAME = 200

/** Softphones reach only agents of the same account; they are not a way into the telephone network. */
async function calledBySoftphone(
  deps: Deps,
  { called, caller }: RequestBody<'call.admit'>,
  id: string,
): Promise<Asked | Refusal> {
  const softphone = await selectSoftphoneById(deps.sql, id)
  if (!softphone) return 'unknown_source'
  const { owner_id, project_id } = softphone
  const number = toE164(called)
  const name = called.slice(0, LONGEST_NAME)
  const project = number
    ? await projectOfNumber(deps, owner_id, number, null)
    : OWN_AGENT.test(called)
      ? await selectProject(deps.sql, owner_id, project_id)
      : await selectProjectByName(deps.sql, owner_id, name)
  return project ? { project, called: number ?? name, caller, trunk_id: null } : 'unknown_number'
}

/** Inserts call and hold in one transaction. If the engine never reports the start, a sweep undoes both. */
async function takeIn(deps: Deps, tariff: Tariff, wish: Wish): Promise<Admission> {
  const { project, called, caller, trunk_id, traceparent } = wish
  const { owner_id } = project
  const at = wallDate(deps)
  const phone = toE164(caller)
  const call: Omit<NewCall, 'contact_id'> = {
    id: uuidv7(at.getTime()),
    owner_id,
    project_id: project.id,
    direction: 'in',
    status: 'ringing',
    from_phone: phone ?? caller,
    to_phone: called,
    trunk_id,
    task: null,
    vars: {},
    price: tariff.price,
    factor_percent: tariff.factorPercent,
    max_cost: null,
    created_at: at,
    deadline_at: new Date(at.getTime() + deps.config.admission_expiry_ms),
    traceparent,
  }
  const settings = presentProject(project)
  const secrets = await openSecrets(deps, deps.sql, owner_id, secretNames(settings))
  return deps.sql.begin(async tx => {
    const caller = phone ? { id: uuidv7(at.getTime()), phone, project_id: project.id, at } : null
    const contact_id = caller ? await upsertContact(tx, owner_id, caller) : null
    await holdSlot(tx, deps.config, call, tariff, true)
    await insertCall(tx, { ...call, contact_id })
    const missing = missingVars(settings, call)
    if (missing.length > 0) await updateMissingVars(tx, owner_id, call.id, missing)
    const contact = await knownContact(tx, { ...call, contact_id }, settings)
    const knowledge = await hasReadySource(tx, owner_id, project.id)
    const known = {
      settings,
      secrets,
      contact,
      knowledge,
      paidSeconds: HOLD_SECONDS,
      dialingLimits: await dialingLimitsOf(deps, tx, owner_id),
    }
    const plan = makePlan(deps.sealer, { call, language: project.language, ...known })
    return { admitted: true, plan }
  })
}

export async function extendCall(
  deps: Deps,
  request: RequestBody<'call.extend'>,
): Promise<RequestAnswer<'call.extend'>> {
  return deps.sql.begin(async tx => {
    const call = await lockCall(tx, request.call_id)
    if (!call || call.ended_at || call.owner_id !== request.owner_id) return { paid_ms: 0 }
    const more = { id: call.id, tariff: tariffOfCall(call), seconds: HOLD_SECONDS, most: call.max_cost }
    const seconds = await extendHold(tx, call.owner_id, more, wallDate(deps))
    return { paid_ms: seconds * 1000 }
  })
}
