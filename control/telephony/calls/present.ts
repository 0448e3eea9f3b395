import type { CallRecord, ToolCall, Turn } from '../../../media/contract/messages.ts'
import { presentMoney } from '../../billing/money-schema.ts'
import type { ControlConfig } from '../../platform/deps.ts'
import { PREFIX } from '../../platform/http/operation.ts'
import { time } from '../../platform/http/shapes.ts'
import type { CallRow, EventRow, ListedCall } from '../call-setup/sql.ts'

const NO_LATENCY: CallRecord['latency'] = { p50_ms: null, p95_ms: null, turns: [] }

export function presentCall(config: ControlConfig, row: ListedCall) {
  return {
    id: row.id,
    project_id: row.project_id,
    direction: row.direction,
    status: row.status,
    from: row.from_phone,
    to: row.to_phone,
    contact_id: row.contact_id,
    campaign_id: row.campaign_id,
    created_at: row.created_at.toISOString(),
    answered_at: time(row.answered_at),
    ended_at: time(row.ended_at),
    duration_seconds: row.talked_ms === null ? null : Math.round(row.talked_ms / 1000),
    billed_seconds: row.billed_seconds,
    cost: row.cost === null ? null : presentMoney(row.cost, config.currency),
    goal_reached: row.goal_reached,
    ended_reason: row.ended_reason,
    answered_by: row.answered_by,
    sip_code: row.sip_code,
  }
}

/** For a live call, shows what has been reported so far. */
export function presentDetail(config: ControlConfig, row: CallRow, events: EventRow[], traced: boolean) {
  return {
    ...presentCall(config, row),
    summary: row.summary,
    extracted: row.extracted,
    extraction_problem: row.extraction_problem,
    goal_evidence: row.goal_evidence,
    missing_vars: row.missing_vars,
    transcript: row.transcript ?? turnsOf(events),
    tool_calls: row.tool_calls ?? toolsOf(events),
    latency: row.latency ?? NO_LATENCY,
    recording_url: row.recording ? `${config.base_url}${PREFIX}/calls/${row.id}/recording` : null,
    sip_trace_url: traced ? `${config.base_url}${PREFIX}/calls/${row.id}/trace` : null,
  }
}

export function turnsOf(events: EventRow[]): Turn[] {
  return events.filter(event => event.type === 'turn.finished').map(event => event.data['turn'] as Turn)
}

export function toolsOf(events: EventRow[]): ToolCall[] {
  return events.filter(event => event.type === 'tool.finished').map(event => event.data['tool'] as ToolCall)
}
