import { assertCanPay } from '../accounts/service.ts'
import { upsertContact } from '../contacts/sql.ts'
import type { Db } from '../db/connect.ts'
import { type ControlConfig, type Deps, wallDate } from '../deps.ts'
import { isDoNotCall } from '../do-not-call/sql.ts'
import { notFound, Problem } from '../http/problem.ts'
import { uuidv7 } from '../ids.ts'
import { enqueue } from '../jobs.ts'
import { moderate } from '../moderation.ts'
import { costOf, openHold, type Tariff, toUnits } from '../money.ts'
import { type Line, selectOutboundLines } from '../numbers/sql.ts'
import { type ProjectRow, selectProject } from '../projects/sql.ts'
import { finishUnanswered } from './finish.ts'
import { fillVars } from './plan.ts'
import { presentCall, presentDetail } from './present.ts'
import type { CallFilters, CallInput } from './schema.ts'
import { type CallRow, insertCall, type NewCall, selectCall, selectCalls, selectEvents, totalCalls } from './sql.ts'

/** Money is held for the first minute before anything rings, and for one more each time the engine asks. */
export const HOLD_SECONDS = 60

export function tariffFor(config: ControlConfig, direction: CallRow['direction']): Tariff {
  return {
    price: toUnits(config.minute_price),
    factorPercent: direction === 'web' ? config.web_factor_percent : 100,
  }
}

/** The project's own number, or one of those bound to it, always the same for a phone. */
function pickLine(lines: Line[], project: ProjectRow, phone: string): Line {
  const chosen = lines.find(line => line.number === project.settings.caller_id)
  let hash = 0
  for (const char of phone) hash = (hash * 31 + char.charCodeAt(0)) >>> 0
  return chosen ?? lines[hash % lines.length]!
}

const textVars = (vars: CallInput['vars'] = {}) =>
  Object.fromEntries(Object.entries(vars).map(([name, value]) => [name, String(value)]))

/** Every gate in its published order, then call, hold and job in one transaction. */
export async function placeCall(
  deps: Deps,
  ownerId: string,
  input: CallInput,
  save: (db: Db, answer: unknown) => Promise<void> = async () => {},
): Promise<ReturnType<typeof presentCall>> {
  const { sql, config } = deps
  const project = await selectProject(sql, ownerId, input.project_id)
  if (!project) throw notFound()
  const tariff = tariffFor(config, 'out')
  await assertCanPay(deps, ownerId, costOf(tariff, HOLD_SECONDS))
  const lines = await selectOutboundLines(sql, ownerId, project.id)
  if (lines.length === 0) throw new Problem('no_outbound_line')
  if (await isDoNotCall(sql, ownerId, input.phone)) throw new Problem('do_not_call')
  const vars = textVars(input.vars)
  const filled = Object.entries(vars).map(([name, value]) => [`/vars/${name}`, value] as const)
  moderate({ '/task': input.task === undefined ? null : fillVars(input.task, vars), ...Object.fromEntries(filled) })

  const at = wallDate(deps)
  const line = pickLine(lines, project, input.phone)
  const call: Omit<NewCall, 'contact_id'> = {
    id: uuidv7(at.getTime()),
    owner_id: ownerId,
    project_id: project.id,
    direction: 'out',
    status: 'queued',
    from_phone: line.number,
    to_phone: input.phone,
    trunk_id: line.trunk_id,
    task: input.task ?? null,
    vars,
    price: tariff.price,
    factor_percent: tariff.factorPercent,
    created_at: at,
    deadline_at: new Date(at.getTime() + config.queue_expiry_ms),
  }
  return sql.begin(async tx => {
    // Rows are locked in the order contact, call, balance, counters: everywhere.
    const contact = { id: uuidv7(at.getTime()), phone: input.phone, project_id: project.id, at }
    const contact_id = await upsertContact(tx, ownerId, contact)
    const held = await openHold(tx, ownerId, { id: call.id, tariff, seconds: HOLD_SECONDS }, at)
    if (!held) throw new Problem('insufficient_balance')
    await insertCall(tx, { ...call, contact_id })
    await enqueue(deps, tx, 'call.place', { call_id: call.id })
    const answer = presentCall(config, (await selectCall(tx, ownerId, call.id))!)
    await save(tx, answer)
    return answer
  })
}

export async function listCalls(deps: Deps, ownerId: string, filters: CallFilters) {
  const [rows, total] = await Promise.all([
    selectCalls(deps.sql, ownerId, filters),
    totalCalls(deps.sql, ownerId, filters),
  ])
  return { items: rows.map(row => presentCall(deps.config, row)), total, limit: filters.limit, offset: filters.offset }
}

export async function getCall(deps: Deps, ownerId: string, id: string) {
  const row = await selectCall(deps.sql, ownerId, id)
  if (!row) throw notFound()
  const events = row.ended_at ? [] : await selectEvents(deps.sql, id, 0)
  return presentDetail(deps.config, row, events)
}

/** A call nobody has taken yet is canceled here; of any other its engine is told. */
export async function hangUp(deps: Deps, ownerId: string, id: string) {
  const row = await selectCall(deps.sql, ownerId, id)
  if (!row) throw notFound()
  if (row.ended_at) throw new Problem('call_ended')
  if (row.status === 'queued' && (await deps.bus.withdraw(id))) {
    await finishUnanswered(deps, id, 'canceled', 'canceled_by_api')
  } else if (!(await deps.bus.hangup(id, row.answered_at ? 'api_hangup' : 'canceled_by_api'))) {
    // It may have ended while we looked.
    const again = await selectCall(deps.sql, ownerId, id)
    if (again?.ended_at) throw new Problem('call_ended')
    throw new Problem('engine_unavailable', { retryAfterSeconds: 2 })
  }
  return presentCall(deps.config, (await selectCall(deps.sql, ownerId, id))!)
}
