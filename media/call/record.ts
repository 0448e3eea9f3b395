/** Builds the record of a finished call. Pure. */
import type { AgentSession } from '../agent/agent-session.ts'
import type { CheckedWrapUp } from '../agent/wrap-up.ts'
import type { CallRecord, MediaStats, RecordingInfo } from '../contract/messages.ts'
import type { SipTrace } from '../contract/sip-trace.ts'
import type { CallOutcome } from './machine.ts'

export interface FinishedCall {
  outcome: CallOutcome
  /** Null when the call was never answered. */
  conversation: AgentSession | null
  wrapUp: CheckedWrapUp | null
  /** Epoch milliseconds; null when the call was never answered. */
  answeredAt: number | null
  endedAt: number
  talkedMs: number
  media: MediaStats | null
  sip: SipTrace | null
  recording: RecordingInfo | null
}

export function recordOf(past: FinishedCall): CallRecord {
  const { outcome, conversation, wrapUp, answeredAt, media, sip, recording } = past
  const transcript = conversation?.transcript
  return {
    status: outcome.status,
    ended_reason: outcome.reason,
    answered_by: answeredAt === null ? null : (conversation?.answeredBy ?? 'unknown'),
    sip_code: outcome.sipCode,
    answered_at: answeredAt,
    ended_at: past.endedAt,
    talked_ms: past.talkedMs,
    transcript: transcript?.turns ?? [],
    tool_calls: transcript?.toolCalls ?? [],
    latency: transcript?.latency() ?? { p50_ms: null, p95_ms: null, turns: [] },
    summary: wrapUp?.summary ?? null,
    extracted: wrapUp?.extracted ?? null,
    extraction_problem: wrapUp?.extractionProblem ?? null,
    goal_reached: wrapUp?.goalReached ?? false,
    goal_evidence: wrapUp?.goalEvidence ?? null,
    contact_name: wrapUp?.contactName ?? null,
    do_not_call: conversation?.doNotCall ?? false,
    media,
    sip,
    recording,
  }
}
