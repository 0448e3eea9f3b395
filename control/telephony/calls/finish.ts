/** Ends a call: record, money, contact, do-not-call and the handlers of other modules, in one transaction, once. */
import type { CallRecord, EndedReason, FinalStatus } from '../../../media/contract/messages.ts'
import type { OwnTool } from '../../../media/contract/own-tools.ts'
import { noTracing } from '../../../media/shared/tracing.ts'
import { settleHold } from '../../billing/money.ts'
import type { Tx } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { withJobs } from '../../platform/jobs/jobs.ts'
import { toE164 } from '../../platform/phone.ts'
import type { CallDeps, CallEndedSteps, EndedCall } from '../call-setup/ended.ts'
import { type CallRow, lockCall, selectCallById, selectEvents, updateEnded } from '../call-setup/sql.ts'
import { tariffOfCall } from '../call-setup/tariff.ts'
import { becomeLead, nameContact, touchContact } from '../contacts/sql.ts'
import { insertDoNotCall } from '../do-not-call/sql.ts'
import { insertTrace } from '../trace/sql.ts'
import { toolsOf, turnsOf } from './present.ts'

const DO_NOT_CALL: OwnTool = 'do_not_call'

/**
 * Returns false when the call has already ended or does not exist. `parent`: trace context of the engine's span; the
 * call's own trace by default.
 */
export async function finish(deps: CallDeps, callId: string, record: CallRecord, parent?: string): Promise<boolean> {
  const startMs = deps.clock.wall()
  let end = (_error?: string) => {}
  // The call's state and trace are known only under its lock, so the span starts there.
  const begin: Begin = call => {
    const attributes = { 'parley.call.id': call.id, 'parley.call.status': record.status }
    const options = { kind: 'consumer', parent: parent ?? call.traceparent, startMs, attributes } as const
    const span = (deps.tracing ?? noTracing).start('call.finish', options)
    end = error => span.end({ error })
    return span.traceparent
  }
  try {
    const done = await store(deps, callId, record, begin)
    end()
    return done
  } catch (error) {
    end('internal_error')
    throw error
  }
}

/** Returns the `traceparent` for work that follows from the end. */
type Begin = (call: CallRow) => string | null

async function store(deps: CallDeps, callId: string, record: CallRecord, begin: Begin): Promise<boolean> {
  let steps: CallEndedSteps[] = []
  const done = await withJobs(deps, async tx => {
    steps = []
    const call = await lockCall(tx, callId)
    if (!call || call.ended_at) return false
    const traceparent = begin(call)
    for (const handler of deps.callEnded) steps.push(await handler(deps, tx, call, record))
    const newLead = await noteContact(tx, call, record)
    const cost = await settle(deps, tx, call, record)
    for (const step of steps) await step.settled?.({ call, record, cost, newLead, traceparent })
    const at = wallDate(deps)
    if (record.sip) await insertTrace(tx, call.owner_id, call.id, record.sip, at)
    if (record.do_not_call) await listUnwanted(tx, call, at)
    return true
  })
  for (const step of steps) step.committed?.()
  return done
}

/** Returns the amount that was charged. */
async function settle(deps: CallDeps, tx: Tx, call: CallRow, record: CallRecord): Promise<bigint> {
  const seconds = Math.ceil(record.talked_ms / 1000)
  const hold = { id: call.id, tariff: tariffOfCall(call), seconds }
  const paid = await settleHold(tx, call.owner_id, hold, wallDate(deps))
  const answered_at = record.answered_at === null ? call.answered_at : new Date(record.answered_at)
  await updateEnded(tx, call, record, { billed_seconds: paid.seconds, cost: paid.captured, answered_at })
  return paid.captured
}

/** A caller may hide the number; then there is nothing to list. */
async function listUnwanted(tx: Tx, call: CallRow, at: Date): Promise<void> {
  const phone = toE164(call.direction === 'out' ? call.to_phone : call.from_phone)
  if (phone) await insertDoNotCall(tx, call.owner_id, { phone, source: 'caller', note: null, created_at: at })
}

/** Makes a caller a lead when a call reaches its goal. */
async function noteContact(tx: Tx, call: CallRow, record: CallRecord): Promise<EndedCall['newLead']> {
  const { owner_id, contact_id } = call
  if (!contact_id) return null
  await touchContact(tx, owner_id, contact_id, call.created_at)
  if (record.contact_name) await nameContact(tx, owner_id, contact_id, record.contact_name)
  const phone = record.goal_reached ? await becomeLead(tx, owner_id, contact_id) : null
  return phone ? { contact_id, phone } : null
}

function bareRecord(deps: Deps, status: FinalStatus, reason: EndedReason): CallRecord {
  return {
    status,
    ended_reason: reason,
    answered_by: null,
    sip_code: null,
    answered_at: null,
    ended_at: deps.clock.wall(),
    talked_ms: 0,
    transcript: [],
    tool_calls: [],
    latency: { p50_ms: null, p95_ms: null, turns: [] },
    summary: null,
    extracted: null,
    extraction_problem: null,
    goal_reached: false,
    goal_evidence: null,
    contact_name: null,
    do_not_call: false,
    media: null,
    sip: null,
    recording: null,
  }
}

/** Ends a call that no engine has claimed. */
export async function finishUnanswered(deps: CallDeps, callId: string, status: FinalStatus, reason: EndedReason) {
  return finish(deps, callId, bareRecord(deps, status, reason))
}

/** Ends a call whose engine is gone: the record and the cost follow from the last events that it reported. */
export async function finishLost(deps: CallDeps, callId: string): Promise<boolean> {
  const call = await selectCallById(deps.sql, callId)
  if (!call || call.ended_at) return false
  const events = await selectEvents(deps.sql, callId, 0)
  const tool_calls = toolsOf(events)
  return finish(deps, callId, {
    ...bareRecord(deps, 'failed', 'engine_lost'),
    answered_at: call.answered_at?.getTime() ?? null,
    talked_ms: call.progress_ms,
    transcript: turnsOf(events),
    tool_calls,
    do_not_call: tool_calls.some(({ name, status }) => name === DO_NOT_CALL && status === 'ok'),
  })
}
