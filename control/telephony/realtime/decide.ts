/** What is due in the room of a session. Pure: times are epoch ms. */
import type { EndedReason } from '../../../media/contract/messages.ts'
import type { ProblemCode } from '../../platform/http/problem.ts'

export interface Look {
  now: number
  /** When the caller who is in the room came; null: no caller is. */
  callerSince: number | null
  agentIsThere: boolean
  expiresAt: number
  /** The session's latest dialogue. */
  dialogue: Dialogue | null
  /** Since when the agent has been missing at every look; null: it was there at the last one. */
  agentMissingSince: number | null
}

export interface Dialogue {
  answered: boolean
  /** An engine must have it by then. */
  deadline: number
  /** Nobody talks since then. */
  closedAt: number | null
  /** Of the latest join that it was for. By LiveKit's clock, as all joins; that of `closedAt` may be before it. */
  callerSince: number | null
}

export type Step =
  | 'nothing'
  | 'start'
  /** The caller stayed after the end. */
  | 'end'
  /** The invitation has run out. */
  | 'refuse'
  /** The agent should be there: look again. */
  | 'watch'
  /** It has been missing for too long. */
  | 'give_up'

export function stepOf(look: Look, engineGoneMs: number): Step {
  const { now, callerSince, agentIsThere, expiresAt, dialogue, agentMissingSince } = look
  if (callerSince === null) return 'nothing'
  // Also while its agent is still leaving: who has come since must not wait for that to be noticed twice.
  if (dialogue?.closedAt != null && callerSince <= servedUntil(dialogue, dialogue.closedAt)) return 'end'
  if (agentIsThere) return 'nothing'
  if (!dialogue || dialogue.closedAt !== null) return callerSince > expiresAt ? 'refuse' : 'start'
  if (!dialogue.answered && now <= dialogue.deadline) return 'nothing'
  return agentMissingSince !== null && now - agentMissingSince >= engineGoneMs ? 'give_up' : 'watch'
}

/** Who came until then has had this dialogue. One that nobody answered was for those alone who were waited for. */
function servedUntil({ answered, callerSince }: Dialogue, closedAt: number): number {
  return answered || callerSince === null ? Math.max(closedAt, callerSince ?? 0) : callerSince
}

/** What a client is told before it is shown out, as participant attributes. */
export type Told = { 'parley.problem': ProblemCode | 'session_expired' } | { 'parley.ended': EndedReason }

/** Of a dialogue that is over. One that no engine took never began. */
export function toldOf(reason: EndedReason): Told {
  return reason === 'queue_expired' || reason === 'no_capacity'
    ? { 'parley.problem': 'no_capacity' }
    : { 'parley.ended': reason }
}
