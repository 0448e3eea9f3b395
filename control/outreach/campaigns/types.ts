/** Types of campaigns that the API and the pacer share. Rows have the form of the database; money is in units. */

export const campaignStatuses = ['draft', 'scheduled', 'running', 'paused', 'completed', 'stopped'] as const
export type CampaignStatus = (typeof campaignStatuses)[number]

/**
 * `pending → dialing → in_progress → completed | no_answer | busy | failed`. After an end without a conversation, back
 * to `pending` while attempts are left. `skipped`: never dialled, `skip_reason` says why; `canceled`: the campaign was
 * stopped first.
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

/** Statuses that a requeue dials again. */
export const requeuedStatuses = ['no_answer', 'busy', 'failed'] as const satisfies ContactStatus[]

/** `owner`: paused on request, and only the owner resumes it; the others are set by the pacer. */
export const pauseReasons = [
  'owner',
  'insufficient_balance',
  'subscription_inactive',
  'no_outbound_line',
  'max_spend',
] as const
export type PauseReason = (typeof pauseReasons)[number]

/** Each field is a column of `campaigns`; schema.ts builds the published `params` from them. */
export interface CampaignParams {
  /** IANA name of the time zone of the window and the days. */
  timezone: string
  /**
   * `HH:MM`, from `window_start` to before `window_end`. An end before the start is on the next day; an equal end means
   * all day.
   */
  window_start: string
  window_end: string
  /** Sorted ISO weekdays; 1 is Monday. A window across midnight belongs to the day it starts on. Null: every day. */
  days: number[] | null
  concurrency: number
  /** Attempts after the first. */
  retries: number
  retry_interval_min: number
  /** `HH:MM` in the callee's local time, if the number reveals it; both null: no quiet hours. */
  quiet_start: string | null
  quiet_end: string | null
  scheduled_start_at: Date | null
  /** Units that the campaign may spend in total; null: no limit. */
  max_spend: bigint | null
  /** True: a campaign that ran out of money resumes after a top-up. */
  resume_on_top_up: boolean
}

/** Evidence that the owner has confirmed the consent of the subscribers. */
export interface ConsentEvidence {
  confirmed_at: string
  /** The exact statement that was confirmed. */
  text: string
  /** The API key or dashboard session that confirmed it. */
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
  /** Set only while the campaign is paused. */
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
 * A row for each campaign with the number of contacts by status; `total` is their sum. `goal_reached` counts
 * `completed` contacts that reached the goal.
 */
export type Counters = Record<'total' | ContactStatus | 'goal_reached', number>

export interface CampaignContactRow {
  id: string
  campaign_id: string
  owner_id: string
  /** Order of upload, 1, 2, 3 … without gaps. */
  seq: number
  phone: string
  name: string | null
  vars: Record<string, string>
  /** Id of the account's contact; null until it is dialled. */
  contact_id: string | null
  status: ContactStatus
  /** Attempts in this round. A requeue starts the next round, where they count from 0 again. */
  attempts: number
  round: number
  /**
   * Earliest time of the next attempt of a pending contact. First set to the time of upload, so that the dialer can use
   * an index.
   */
  next_attempt_at: Date
  last_call_id: string | null
  skip_reason: string | null
  /**
   * Set only for `completed`, which includes a contact that reached the goal before the call broke off; otherwise null.
   */
  goal_reached: boolean | null
  created_at: Date
}

/** A call that no engine has accepted yet. */
export interface QueuedCall {
  id: string
  /** Status of its campaign. */
  status: CampaignStatus
}
