/** What the API and the pacer both know of a campaign. Rows are as Postgres has them; money is in units. */

export const campaignStatuses = ['draft', 'scheduled', 'running', 'paused', 'completed', 'stopped'] as const
export type CampaignStatus = (typeof campaignStatuses)[number]

/**
 * `pending → dialing → in_progress → completed | no_answer | busy | failed`, and from an end without a conversation back
 * to `pending` while attempts are left. `skipped`: never to be dialled, `skip_reason` says why; `canceled`: the campaign
 * was stopped first.
 */
export const contactStatuses = [
  'pending',
  'dialing',
  'in_progress',
  'completed',
  'no_answer',
  'busy',
  'failed',
  'skipped',
  'canceled',
] as const
export type ContactStatus = (typeof contactStatuses)[number]

/** What a campaign may be dialled again for. */
export const requeuedStatuses = ['no_answer', 'busy', 'failed'] as const satisfies ContactStatus[]

/** `owner`: by the owner's own request, and then only the owner resumes it; the others are what the pacer met. */
export const pauseReasons = [
  'owner',
  'insufficient_balance',
  'subscription_inactive',
  'no_outbound_line',
  'max_spend',
] as const
export type PauseReason = (typeof pauseReasons)[number]

/** Each is a column of `campaigns`; the published `params` are made of them in schema.ts. */
export interface CampaignParams {
  /** IANA name. The window and the days are of this zone. */
  timezone: string
  /** `HH:MM`. From `window_start` to before `window_end`; an end before the start is on the next day, the same is all day. */
  window_start: string
  window_end: string
  /** ISO weekdays, 1 is Monday, sorted; a window that crosses midnight is of the day it starts on. Null: every day. */
  days: number[] | null
  concurrency: number
  /** Attempts after the first. */
  retries: number
  retry_interval_min: number
  /** `HH:MM` of the callee's own zone, where the number tells it; both null: no quiet hours. */
  quiet_start: string | null
  quiet_end: string | null
  scheduled_start_at: Date | null
  /** Units that the campaign may spend in all; null: as much as the balance gives. */
  max_spend: bigint | null
  /** Whether one that ran out of money goes on by itself when there is some again. */
  resume_on_top_up: boolean
}

/** Evidence that the owner has confirmed the consent of the subscribers. */
export interface ConsentEvidence {
  confirmed_at: string
  /** The statement that was confirmed, word for word. */
  text: string
  /** The API key or the dashboard session by which it was confirmed. */
  key_id: string | null
  session_id: string | null
}

export interface CampaignRow extends CampaignParams {
  id: string
  owner_id: string
  project_id: string
  name: string
  task: string | null
  status: CampaignStatus
  /** Only while it is paused. */
  pause_reason: PauseReason | null
  consent: ConsentEvidence | null
  /** Units that its calls have cost. */
  spend: bigint
  created_at: Date
  updated_at: Date
  /** When it last became `running` by start or requeue. */
  started_at: Date | null
  completed_at: Date | null
}

/**
 * One row beside each campaign, of contacts by status: `total` is the sum of the statuses. `goal_reached` are those of
 * `completed` that reached the goal.
 */
export type Counters = Record<'total' | ContactStatus | 'goal_reached', number>

export interface CampaignContactRow {
  id: string
  campaign_id: string
  owner_id: string
  /** Order of upload, 1, 2, 3 … without holes. */
  seq: number
  phone: string
  name: string | null
  vars: Record<string, string>
  /** Of the account's contacts; null until it is dialled. */
  contact_id: string | null
  status: ContactStatus
  /** Made in this round; a requeue begins the next round, where they count from 0 again. */
  attempts: number
  round: number
  /** Of a pending contact: not before. It is the upload's time at first, so that the dialer can read it off an index. */
  next_attempt_at: Date
  last_call_id: string | null
  skip_reason: string | null
  /** Exactly of those that are `completed` (one whose goal was reached is, even if the call broke off then); else null. */
  goal_reached: boolean | null
  created_at: Date
}

/** A call that no engine has taken yet. */
export interface QueuedCall {
  id: string
  /** Of its campaign. */
  status: CampaignStatus
}
