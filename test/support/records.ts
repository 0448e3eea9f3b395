import type { CallRecord } from '../../media/contract/messages.ts'

/** The record of an answered call, with changes by the test. */
export function record(part: Partial<CallRecord> = {}): CallRecord {
  return {
    status: 'completed',
    ended_reason: 'caller_hangup',
    answered_by: 'human',
    sip_code: 200,
    answered_at: Date.now() - 1000,
    ended_at: Date.now(),
    talked_ms: 1000,
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
    ...part,
  }
}

export const unanswered = (part: Partial<CallRecord> = {}) =>
  record({
    status: 'no_answer',
    ended_reason: 'no_answer',
    answered_by: null,
    sip_code: 480,
    answered_at: null,
    talked_ms: 0,
    ...part,
  })
