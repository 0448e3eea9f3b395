import { fromUnits, toUnits } from '../../billing/money.ts'
import { presentMoney } from '../../billing/money-schema.ts'
import type { ControlConfig } from '../../platform/deps.ts'
import { time } from '../../platform/http/shapes.ts'
import type { ParamsInput } from './schema.ts'
import type { CountedCampaign } from './sql.ts'
import type { CampaignContactRow, CampaignParams } from './types.ts'

export const defaultParams: Omit<CampaignParams, 'timezone'> = {
  window_start: '09:00',
  window_end: '20:00',
  days: null,
  concurrency: 5,
  retries: 2,
  retry_interval_min: 30,
  quiet_start: '21:00',
  quiet_end: '08:00',
  scheduled_start_at: null,
  max_spend: null,
  resume_on_top_up: false,
}

/**
 * Postgres has no year 0, and does not read years after 9999 as JavaScript writes them: such a time counts as long
 * past, or as never.
 */
const [OVER, NEVER] = [Date.UTC(2000), Date.UTC(9999, 11, 31)]
const startOf = (text: string) => new Date(Math.min(Math.max(Date.parse(text), OVER), NEVER))

/** Omitted fields stay. */
export function mergeParams(before: CampaignParams, input: ParamsInput): CampaignParams {
  const { quiet_hours: quiet, scheduled_start_at: start, max_spend: spend, days, ...rest } = input
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined))
  return {
    ...before,
    ...given,
    ...(days === undefined ? {} : { days: days && [...days].sort((a, b) => a - b) }),
    ...(quiet === undefined ? {} : { quiet_start: quiet?.start ?? null, quiet_end: quiet?.end ?? null }),
    ...(start === undefined ? {} : { scheduled_start_at: start === null ? null : startOf(start) }),
    ...(spend === undefined ? {} : { max_spend: spend === null ? null : toUnits(spend) }),
  }
}

function presentParams(row: CampaignParams) {
  const { timezone, window_start, window_end, days, concurrency, retries, retry_interval_min } = row
  const { quiet_start, quiet_end, scheduled_start_at, max_spend, resume_on_top_up } = row
  return {
    timezone,
    window_start,
    window_end,
    days,
    concurrency,
    retries,
    retry_interval_min,
    quiet_hours: quiet_start === null || quiet_end === null ? null : { start: quiet_start, end: quiet_end },
    scheduled_start_at: time(scheduled_start_at),
    max_spend: max_spend === null ? null : fromUnits(max_spend),
    resume_on_top_up,
  }
}

/** Fields that change while a campaign runs; the event stream sends the same. */
export function presentProgress(config: ControlConfig, row: CountedCampaign) {
  const { status, pause_reason, spend } = row
  const { total, pending, dialing, in_progress, completed, no_answer, busy, failed, skipped, canceled } = row
  const counters = {
    total,
    pending,
    dialing,
    in_progress,
    completed,
    no_answer,
    busy,
    failed,
    skipped,
    canceled,
    goal_reached: row.goal_reached,
  }
  return { status, pause_reason, counters, spend: presentMoney(spend, config.currency) }
}

/** `price`: units per minute of this account's calls. */
export function presentCampaign(config: ControlConfig, row: CountedCampaign, price: bigint) {
  const { id, project_id, name, task, consent } = row
  return {
    id,
    project_id,
    name,
    task,
    params: presentParams(row),
    ...presentProgress(config, row),
    minute_price: presentMoney(price, config.currency),
    consent,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    started_at: time(row.started_at),
    completed_at: time(row.completed_at),
  }
}

export function presentContact(row: CampaignContactRow, now: Date) {
  const { id, phone, name, vars, contact_id, status, attempts, last_call_id, skip_reason, goal_reached } = row
  const planned = status === 'pending' && row.next_attempt_at > now ? row.next_attempt_at : null
  return {
    id,
    phone,
    name,
    vars,
    contact_id,
    status,
    attempts,
    last_call_id,
    skip_reason,
    goal_reached,
    next_attempt_at: time(planned),
    created_at: row.created_at.toISOString(),
  }
}
