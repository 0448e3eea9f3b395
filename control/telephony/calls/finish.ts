/** Ends a call: record, money, contact, do-not-call and webhooks, in one transaction, once. */
import type { CallRecord, EndedReason, FinalStatus } from '../../../media/contract/messages.ts'
import type { OwnTool } from '../../../media/contract/own-tools.ts'
import { noTracing } from '../../../media/shared/tracing.ts'
import { settleHold } from '../../billing/money.ts'
import { type Deps, wallDate } from '../../deps.ts'
import { lockAttempt } from '../../outreach/campaigns/pacer-sql.ts'
import { noteEnded, placeFreed } from '../../outreach/campaigns/results-of-calls.ts'
import type { Tx } from '../../platform/db/connect.ts'
import { withJobs } from '../../platform/jobs/jobs.ts'
import { toE164 } from '../../platform/phone.ts'
import { emitWebhook } from '../../webhooks/emit.ts'
import { type CallRow, lockCall, selectCallById, selectEvents, updateEnded } from '../call-setup/sql.ts'
import { tariffOfCall } from '../call-setup/tariff.ts'
import { becomeLead, nameContact, touchContact } from '../contacts/sql.ts'
import { insertDoNotCall } from '../do-not-call/sql.ts'
import { reconcileSoon } from '../realtime/look.ts'
import { closeDialogue } from '../realtime/sql.ts'
import { insertTrace } from '../trace/sql.ts'
import { toolsOf, turnsOf } from './present.ts'

const DO_NOT_CALL: OwnTool = 'do_not_call'

/**
 * False when the call had already ended, or does not exist. `parent`: the engine's span; otherwise the call's own
 * trace.
 */
export async function finish(deps: Deps, callId: string, record: CallRecord, parent?: string): Promise<boolean> {
  const startMs = deps.clock.wall()
  let end = (_error?: string) => {}
  // Only under the call's lock it is known whether there is anything to do, and in which trace.
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

async function store(deps: Deps, callId: string, record: CallRecord, begin: Begin): Promise<boolean> {
  let room: string | undefined
  let campaignId: string | null = null
  const done = await withJobs(deps, async tx => {
    const call = await lockCall(tx, callId)
    if (!call || call.ended_at) return false
    const traceparent = begin(call)
    const at = wallDate(deps)
    const { owner_id } = call
    campaignId = call.campaign_id
    const attempt = await lockAttempt(tx, call)
    if (call.direction === 'web') room = await closeDialogue(tx, callId, new Date(record.ended_at), record.ended_reason)
    const lead = await noteContact(tx, call, record)
    const seconds = Math.ceil(record.talked_ms / 1000)
    const paid = await settleHold(tx, owner_id, { id: call.id, tariff: tariffOfCall(call), seconds }, at)
    const answered_at = record.answered_at === null ? call.answered_at : new Date(record.answered_at)
    await updateEnded(tx, call, record, { billed_seconds: paid.seconds, cost: paid.captured, answered_at })
    await noteEnded(deps, tx, attempt, call, { ...record, cost: paid.captured })
    if (record.sip) await insertTrace(tx, owner_id, call.id, record.sip, at)
    if (record.do_not_call) {
      // A caller may hide the number; then there is nothing to list.
      const phone = toE164(call.direction === 'out' ? call.to_phone : call.from_phone)
      if (phone) await insertDoNotCall(tx, owner_id, { phone, source: 'caller', note: null, created_at: at })
    }
    const { event, body } = webhookOf(call, record)
    await emitWebhook(deps, tx, owner_id, event, { ...sourceOf(call), ...body }, traceparent)
    const { created_at } = body
    if (lead) await emitWebhook(deps, tx, owner_id, 'lead.created', { ...lead, created_at }, traceparent)
    return true
  })
  reconcileSoon(deps, room)
  placeFreed(deps, campaignId)
  return done
}

/** Makes a caller a lead when a call reaches its goal; returns the data of the webhook. */
async function noteContact(tx: Tx, call: CallRow, record: CallRecord) {
  const { owner_id, contact_id } = call
  if (!contact_id) return null
  await touchContact(tx, owner_id, contact_id, call.created_at)
  if (record.contact_name) await nameContact(tx, owner_id, contact_id, record.contact_name)
  const phone = record.goal_reached ? await becomeLead(tx, owner_id, contact_id) : null
  return phone ? { lead_id: contact_id, job_id: null, phone, score: null, data: sourceOf(call) } : null
}

const sourceOf = ({ id, campaign_id }: CallRow) => ({ call_id: id, ...(campaign_id ? { campaign_id } : {}) })

/** Completed means answered and ended normally; an interrupted call has failed, even after an answer. */
function webhookOf(call: CallRow, record: CallRecord) {
  const created_at = new Date(record.ended_at).toISOString()
  if (record.status === 'completed') {
    const data = { summary: record.summary ?? '', extracted: record.extracted ?? {} }
    return { event: 'call.completed' as const, body: { created_at, goal_reached: record.goal_reached, data } }
  }
  const data = { status: record.status, ended_reason: record.ended_reason, sip_code: record.sip_code ?? call.sip_code }
  return { event: 'call.failed' as const, body: { created_at, data } }
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

/** Ends a call that no engine ever had. */
export async function finishUnanswered(deps: Deps, callId: string, status: FinalStatus, reason: EndedReason) {
  return finish(deps, callId, bareRecord(deps, status, reason))
}

/** Ends a call whose engine is gone, with the last reported data; the talk time reported so far is billed. */
export async function finishLost(deps: Deps, callId: string): Promise<boolean> {
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
    do_not_call: tool_calls.some(({ name, verdict }) => name === DO_NOT_CALL && verdict === 'ok'),
  })
}
