/** Derives the result for a contact from the end of its call. Pure. */
import type { CallRecord, EndedReason } from '../../../media/contract/messages.ts'
import type { CampaignContactRow, CampaignRow, ContactStatus } from './types.ts'

/** The call was never sent: the callee's phone cannot have rung, so the attempt does not count. */
const NEVER_SENT = new Set<EndedReason>(['queue_expired', 'no_capacity'])
/** Milliseconds to wait: the cause of an unsent call rarely passes at once. */
const UNSENT_WAIT_MS = 60_000

/** Reasons for which a retry would give the same result, or is unwanted. */
const LASTING = new Set<EndedReason>(['number_unknown', 'number_invalid', 'forbidden_by_carrier', 'do_not_call'])

export type Ended = Pick<CallRecord, 'status' | 'ended_reason' | 'goal_reached' | 'do_not_call'>

export interface Attempted {
  contact: Pick<CampaignContactRow, 'attempts'>
  campaign: Pick<CampaignRow, 'status' | 'retries' | 'retry_interval_min'>
}

/**
 * `nextAttemptAtMs` is set only for `pending`, `skip_reason` only for `skipped`, `goal_reached` only for `completed`.
 */
export interface AttemptResult {
  status: ContactStatus
  attempts: number
  nextAttemptAtMs: number | null
  skip_reason: string | null
  goal_reached: boolean | null
}

/**
 * Retries a contact who was not reached or was busy, or whose call failed on our side or the carrier's, even during the
 * conversation. Voicemail counts as the project's `voicemail` setting treats it.
 */
export function afterAttempt({ contact, campaign }: Attempted, ended: Ended, endedAtMs: number): AttemptResult {
  const { attempts } = contact
  const final = (status: ContactStatus, more: Partial<AttemptResult> = {}): AttemptResult => ({
    status,
    attempts,
    nextAttemptAtMs: null,
    skip_reason: null,
    goal_reached: null,
    ...more,
  })
  const again = (made: number, waitMs: number): AttemptResult =>
    final('pending', { attempts: made, nextAttemptAtMs: endedAtMs + waitMs })
  const { status, ended_reason } = ended
  if (status === 'completed' || ended.goal_reached) return final('completed', { goal_reached: ended.goal_reached })
  const goesOn = campaign.status !== 'stopped'
  if (NEVER_SENT.has(ended_reason)) {
    return goesOn
      ? again(Math.max(0, attempts - 1), UNSENT_WAIT_MS)
      : final('canceled', { attempts: Math.max(0, attempts - 1) })
  }
  if (status === 'canceled') {
    return ended_reason === 'do_not_call' ? final('skipped', { skip_reason: 'do_not_call' }) : final('canceled')
  }
  const isOver = !goesOn || ended.do_not_call || LASTING.has(ended_reason) || attempts > campaign.retries
  return isOver ? final(status) : again(attempts, campaign.retry_interval_min * 60_000)
}
