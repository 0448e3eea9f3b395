import { costOf } from '../../billing/money.ts'
import { presentMoney } from '../../billing/money-schema.ts'
import { noteCountries, unlessUnusual } from '../../billing/unusual/service.ts'
import type { Db, Tx } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { invalidField, notFound, Problem } from '../../platform/http/problem.ts'
import { uuidv7 } from '../../platform/ids.ts'
import { enqueue, withJobs } from '../../platform/jobs/jobs.ts'
import type { CallDeps } from '../call-setup/ended.ts'
import { textsOf, textVars } from '../call-setup/plan.ts'
import type { CallFilters, CallInput } from '../call-setup/schema.ts'
import { type CallRow, insertCall, type NewCall, selectCall, selectCalls, selectEvents } from '../call-setup/sql.ts'
import { HOLD_SECONDS, tariffOf } from '../call-setup/tariff.ts'
import { upsertContact } from '../contacts/sql.ts'
import { holdSlot, type OutboundPass, passOutbound } from '../gates/service.ts'
import { hasTrace } from '../trace/sql.ts'
import { finishUnanswered } from './finish.ts'
import { presentCall, presentDetail } from './present.ts'

export interface PlaceOptions {
  /** Units that the call may cost at most; null: no limit. */
  maxCost?: bigint | null
  /** Trace context of the request. */
  traceparent?: string | null
  /** Called in the transaction that inserts the call, with the response. */
  save?: (db: Db, answer: unknown) => Promise<void>
}

/** Throws 400 before the gates, as for every invalid field. */
async function checkMaxCost(deps: Deps, ownerId: string, maxCost: bigint | null): Promise<void> {
  if (maxCost === null || maxCost >= costOf(await tariffOf(deps, ownerId, 'out'), HOLD_SECONDS)) return
  throw invalidField('/max_cost', 'max_cost', 'must be at least the price of one minute')
}

async function passGates(deps: Deps, ownerId: string, input: CallInput, maxCost: bigint | null): Promise<OutboundPass> {
  await checkMaxCost(deps, ownerId, maxCost)
  const { project_id, phone, task } = input
  return passOutbound(deps, ownerId, { project_id, phone, texts: textsOf(task, textVars(input.vars)) })
}

/** Passes every gate in its published order, then inserts call, hold and job in one transaction. */
export async function placeCall(
  deps: Deps,
  ownerId: string,
  input: CallInput,
  { maxCost = null, traceparent = null, save = async () => {} }: PlaceOptions = {},
): Promise<ReturnType<typeof presentCall>> {
  const { config } = deps
  const { line, tariff } = await passGates(deps, ownerId, input, maxCost)
  const at = wallDate(deps)
  const call: Omit<NewCall, 'contact_id'> = {
    id: uuidv7(at.getTime()),
    owner_id: ownerId,
    project_id: input.project_id,
    direction: 'out',
    status: 'queued',
    from_phone: line.number,
    to_phone: input.phone,
    trunk_id: line.trunk_id,
    task: input.task ?? null,
    vars: textVars(input.vars),
    price: tariff.price,
    factor_percent: tariff.factorPercent,
    max_cost: maxCost,
    created_at: at,
    deadline_at: new Date(at.getTime() + config.queue_expiry_ms),
    traceparent,
  }
  const insert = async (tx: Tx) => {
    // Rows are always locked in the order contact, call, balance, counters. Statements without a needed result are not
    // awaited separately.
    const contact = { id: uuidv7(at.getTime()), phone: input.phone, project_id: input.project_id, at }
    const [contact_id] = await Promise.all([
      line.trunk_id === null ? null : upsertContact(tx, ownerId, contact),
      holdSlot(tx, config, call, tariff, line.max_calls !== null),
    ])
    if (line.trunk_id !== null) await noteCountries(tx, ownerId, [input.phone], at)
    const [row] = await Promise.all([
      insertCall(tx, { ...call, contact_id }),
      enqueue(deps, tx, 'call.place', { call_id: call.id }),
    ])
    const answer = presentCall(config, row)
    await save(tx, answer)
    return answer
  }
  return unlessUnusual(deps, ownerId, () => withJobs(deps, insert))
}

/** Passes the same gates as `placeCall` and writes nothing. */
export async function tryCall(
  deps: Deps,
  ownerId: string,
  input: CallInput,
  { maxCost = null }: Pick<PlaceOptions, 'maxCost'> = {},
) {
  const { line, tariff, available } = await passGates(deps, ownerId, input, maxCost)
  return {
    would_place: true as const,
    from: line.number,
    to: input.phone,
    minute_price: presentMoney(tariff.price, deps.config.currency),
    balance: presentMoney(available, deps.config.currency),
  }
}

export async function listCalls(deps: Deps, ownerId: string, filters: CallFilters, visible: readonly string[] | null) {
  const { rows, total } = await selectCalls(deps.sql, ownerId, { ...filters, visible })
  return { items: rows.map(row => presentCall(deps.config, row)), total, limit: filters.limit, offset: filters.offset }
}

export async function getCall(deps: Deps, ownerId: string, id: string) {
  const row = await selectCall(deps.sql, ownerId, id)
  if (!row) throw notFound()
  const [events, traced] = await Promise.all([
    row.ended_at ? [] : selectEvents(deps.sql, id, 0),
    hasTrace(deps.sql, ownerId, id),
  ])
  return presentDetail(deps.config, row, events, traced)
}

/** Cancels a call that no engine has claimed yet; otherwise commands its engine. */
export async function hangUp(deps: CallDeps, ownerId: string, id: string) {
  const row = await selectCall(deps.sql, ownerId, id)
  if (!row) throw notFound()
  if (row.ended_at) throw new Problem('call_ended')
  if (row.status === 'queued' && (await deps.bus.withdraw(id))) {
    await finishUnanswered(deps, id, 'canceled', 'canceled_by_api')
  } else if (!(await tellHangup(deps, row))) {
    // The call may have ended in the meantime.
    const again = await selectCall(deps.sql, ownerId, id)
    if (again?.ended_at) throw new Problem('call_ended')
    throw new Problem('engine_unavailable', { retryAfterSeconds: 2 })
  }
  return presentCall(deps.config, (await selectCall(deps.sql, ownerId, id))!)
}

const tellHangup = (deps: Deps, { id, answered_at }: CallRow) =>
  deps.bus.command({ type: 'call.hangup', call_id: id, reason: answered_at ? 'api_hangup' : 'canceled_by_api' })
