/** What engines ask about a call while a caller waits: whether to take it, and for how long it is paid. */
import { type AskAnswer, type AskRequest, Refusal } from '../../media/contract/messages.ts'
import { upsertContact } from '../contacts/sql.ts'
import { type Deps, wallDate } from '../deps.ts'
import { holdPlace, passInbound } from '../gates/service.ts'
import { Problem } from '../http/problem.ts'
import { uuidv7 } from '../ids.ts'
import { extendHold, type Tariff } from '../money.ts'
import { selectInboundProject } from '../numbers/sql.ts'
import { toE164 } from '../phone.ts'
import { openSecrets } from '../projects/secrets.ts'
import { presentProject } from '../projects/service.ts'
import { type ProjectRow, selectProject } from '../projects/sql.ts'
import { selectTrunkOwner } from '../trunks/sql.ts'
import { knownContact, missingVars } from './known.ts'
import { makePlan, secretNames } from './plan.ts'
import { insertCall, lockCall, type NewCall, updateMissingVars } from './sql.ts'
import { HOLD_SECONDS, tariffOfCall } from './tariff.ts'

type Admission = AskAnswer<'call.admit'>
const refuse = (refusal: Refusal): Admission => ({ admitted: false, refusal })

export async function admitCall(deps: Deps, request: AskRequest<'call.admit'>): Promise<Admission> {
  const { sql } = deps
  // Several trunks share the source, and the number called is on none of them.
  if (!request.trunk_id) return refuse('unknown_number')
  const ownerId = await selectTrunkOwner(sql, request.trunk_id)
  if (!ownerId) return refuse('unknown_source')
  const called = toE164(request.called)
  const projectId = called ? await selectInboundProject(sql, ownerId, called) : undefined
  const project = projectId ? await selectProject(sql, ownerId, projectId) : undefined
  if (!called || !project) return refuse('unknown_number')
  try {
    const { tariff } = await passInbound(deps, ownerId, request.trunk_id)
    return await takeIn(deps, project, tariff, { called, caller: request.caller, trunk_id: request.trunk_id })
  } catch (error) {
    const refusal = Refusal.safeParse(error instanceof Problem ? error.code : null)
    if (!refusal.success) throw error
    return refuse(refusal.data)
  }
}

/** Call and hold in one transaction; if the engine never says that it started, a sweep undoes both. */
async function takeIn(
  deps: Deps,
  project: ProjectRow,
  tariff: Tariff,
  { called, caller, trunk_id }: { called: string; caller: string; trunk_id: string },
): Promise<Admission> {
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
  }
  const settings = presentProject(project)
  const secrets = await openSecrets(deps, deps.sql, owner_id, secretNames(settings))
  return deps.sql.begin(async tx => {
    const caller = phone ? { id: uuidv7(at.getTime()), phone, project_id: project.id, at } : null
    const contact_id = caller ? await upsertContact(tx, owner_id, caller) : null
    await holdPlace(tx, deps.config, call, tariff, true)
    await insertCall(tx, { ...call, contact_id })
    const missing = missingVars(settings, call)
    if (missing.length > 0) await updateMissingVars(tx, owner_id, call.id, missing)
    const contact = await knownContact(tx, { ...call, contact_id }, settings)
    const paid = { paidSeconds: HOLD_SECONDS }
    const plan = makePlan(deps.sealer, { call, language: project.language, settings, secrets, contact, ...paid })
    return { admitted: true, plan }
  })
}

export async function extendCall(deps: Deps, request: AskRequest<'call.extend'>): Promise<AskAnswer<'call.extend'>> {
  return deps.sql.begin(async tx => {
    const call = await lockCall(tx, request.call_id)
    if (!call || call.ended_at || call.owner_id !== request.owner_id) return { paid_ms: 0 }
    const more = { id: call.id, tariff: tariffOfCall(call), seconds: HOLD_SECONDS, most: call.max_cost }
    const seconds = await extendHold(tx, call.owner_id, more, wallDate(deps))
    return { paid_ms: seconds * 1000 }
  })
}
