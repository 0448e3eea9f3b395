/** What the end of a call makes of the contact that it was an attempt of. Pure. */
import type { CallRecord, EndedReason } from '../../../media/contract/messages.ts'
import type { CampaignContactRow, CampaignRow, ContactStatus } from './types.ts'

/** Nothing left us: the callee's telephone cannot have rung, and the attempt does not count. */
const NEVER_SENT = new Set<EndedReason>(['queue_expired', 'no_capacity'])
/** What kept us from sending is rarely over at once. */
const UNSENT_WAIT_MS = 60_000

/** Dialling again would come to the same, or is not wanted. */
const LASTING = new Set<EndedReason>(['number_unknown', 'number_invalid', 'forbidden_by_carrier', 'do_not_call'])

export type Ended = Pick<CallRecord, 'status' | 'ended_reason' | 'goal_reached' | 'do_not_call'>

export interface Attempted {
  contact: Pick<CampaignContactRow, 'attempts'>
  campaign: Pick<CampaignRow, 'status' | 'retries' | 'retry_interval_min'>
}

/** `nextAttemptAtMs` exactly of `pending`, `skip_reason` of `skipped`, `goal_reached` of `completed`. */
export interface Outcome {
  status: ContactStatus
  attempts: number
  nextAttemptAtMs: number | null
  skip_reason: string | null
  goal_reached: boolean | null
}

/**
 * Tried again is who was not reached, was busy, or whom a failure of ours or the carrier's kept from us, also in the middle
 * of a conversation. A voicemail counts as the conversation that the project's `voicemail` makes of it.
 */
export function afterAttempt({ contact, campaign }: Attempted, ended: Ended, endedAtMs: number): Outcome {
  const { attempts } = contact
  const final = (status: ContactStatus, more: Partial<Outcome> = {}): Outcome => ({
    ...{ status, attempts, nextAttemptAtMs: null, skip_reason: null, goal_reached: null },
    ...more,
  })
  const again = (made: number, waitMs: number): Outcome =>
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
