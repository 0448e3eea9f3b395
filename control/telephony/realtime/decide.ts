/** Decides the next step for the room of a session. Pure; times are epoch ms. */
import type { EndedReason } from '../../../media/contract/messages.ts'
import type { ProblemCode } from '../../platform/http/problem.ts'

export interface RoomState {
  now: number
  /** Time at which the caller in the room joined; null when no caller is there. */
  callerSince: number | null
  agentIsThere: boolean
  expiresAt: number
  /** The latest dialogue of the session. */
  dialogue: Dialogue | null
  /** Since when the agent has been missing in consecutive checks; null when it was there in the last one. */
  agentMissingSince: number | null
}

export interface Dialogue {
  answered: boolean
  /** Time by which an engine must have claimed it. */
  deadline: number
  /** Time at which the conversation ended. */
  closedAt: number | null
  /** Time of the latest join in this dialogue, by LiveKit's clock; `closedAt`, by ours, may be earlier. */
  callerSince: number | null
}

export type Step =
  | 'nothing'
  | 'start'
  /** Remove the caller, who has stayed after the end. */
  | 'end'
  /** Remove the caller: the invitation has expired. */
  | 'refuse'
  /** The agent should be there: check again. */
  | 'watch'
  /** The agent has been missing for too long. */
  | 'give_up'

export function stepOf(state: RoomState, engineGoneMs: number): Step {
  const { now, callerSince, agentIsThere, expiresAt, dialogue, agentMissingSince } = state
  if (callerSince === null) return 'nothing'
  // Also while the agent is still leaving: a caller who has joined since must not wait for that to be noticed.
  if (dialogue?.closedAt != null && callerSince <= servedUntil(dialogue, dialogue.closedAt)) return 'end'
  if (agentIsThere) return 'nothing'
  if (!dialogue || dialogue.closedAt !== null) return callerSince > expiresAt ? 'refuse' : 'start'
  if (!dialogue.answered && now <= dialogue.deadline) return 'nothing'
  return agentMissingSince !== null && now - agentMissingSince >= engineGoneMs ? 'give_up' : 'watch'
}

/** Joins until this time belong to the dialogue. An unanswered dialogue was only for the caller it waited for. */
function servedUntil({ answered, callerSince }: Dialogue, closedAt: number): number {
  return answered || callerSince === null ? Math.max(closedAt, callerSince ?? 0) : callerSince
}

/** Participant attributes that tell a client the reason before it is removed. */
export type ClientNotice = { 'parley.problem': ProblemCode | 'session_expired' } | { 'parley.ended': EndedReason }

/** Returns the attributes after the end of a dialogue. A dialogue that no engine claimed never started. */
export function noticeOf(reason: EndedReason): ClientNotice {
  return reason === 'queue_expired' || reason === 'no_capacity'
    ? { 'parley.problem': 'no_capacity' }
    : { 'parley.ended': reason }
}
