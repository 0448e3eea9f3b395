/** Sends the webhooks of a call that has ended. */
import type { CallRecord } from '../../media/contract/messages.ts'
import type { CallEndedHandler } from '../telephony/call-setup/ended.ts'
import type { CallRow } from '../telephony/call-setup/sql.ts'
import { emitWebhook } from './emit.ts'

export const sendEndedWebhooks: CallEndedHandler = async (deps, tx, { owner_id }) => ({
  async settled({ call, record, newLead, traceparent }) {
    const { event, body } = webhookOf(call, record)
    const source = { call_id: call.id, ...(call.campaign_id ? { campaign_id: call.campaign_id } : {}) }
    await emitWebhook(deps, tx, owner_id, event, { ...source, ...body }, traceparent)
    if (!newLead) return
    const { contact_id: lead_id, phone } = newLead
    const { created_at } = body
    const lead = { lead_id, job_id: null, phone, score: null, data: source, created_at }
    await emitWebhook(deps, tx, owner_id, 'lead.created', lead, traceparent)
  },
})

/** `call.completed` needs an answer and a regular end; a call that was interrupted after the answer has failed. */
function webhookOf(call: CallRow, record: CallRecord) {
  const created_at = new Date(record.ended_at).toISOString()
  if (record.status === 'completed') {
    const data = { summary: record.summary ?? '', extracted: record.extracted ?? {} }
    return { event: 'call.completed' as const, body: { created_at, goal_reached: record.goal_reached, data } }
  }
  const data = { status: record.status, ended_reason: record.ended_reason, sip_code: record.sip_code ?? call.sip_code }
  return { event: 'call.failed' as const, body: { created_at, data } }
}
