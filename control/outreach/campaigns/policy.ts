/** Decides whether a contact may be dialled now. Used by the dialer, which stores the reason, and by `why`. Pure. */
import type { BlockedReason } from '../../platform/phone.ts'
import { sameTime } from './callee-zone.ts'
import type { CampaignContactRow, CampaignRow } from './types.ts'
import { cachedSpan, type DailyHours, type Span } from './zone.ts'

/** Permanent reasons. `no_common_hours`: the calling window and the callee's quiet hours leave no minute. */
export type SkipReason = BlockedReason | 'do_not_call' | 'attempts_exhausted' | 'no_common_hours'

/** Reasons that block the whole campaign and that the owner can change. */
export const blockers = [
  'not_running',
  'no_consent',
  'subscription_inactive',
  'no_outbound_line',
  'max_spend',
  'insufficient_balance',
  'daily_limit_reached',
  'calls_stopped',
] as const
export type Blocker = (typeof blockers)[number]
export type WaitReason = Blocker | 'outside_window' | 'quiet_hours' | 'retry_interval'

type Hours = Pick<CampaignRow, 'timezone' | 'window_start' | 'window_end' | 'days' | 'quiet_start' | 'quiet_end'>

export interface Question {
  contact: Pick<CampaignContactRow, 'attempts' | 'next_attempt_at'>
  campaign: Hours & Pick<CampaignRow, 'retries'>
  nowMs: number
  /** True when the owner must not call this number. */
  doNotCall: boolean
  blocked: BlockedReason | null
  /** Possible time zones of the number, from `calleeZones`. */
  zones: readonly string[]
  blockers: readonly Blocker[]
}

/** `untilMs` of `dial`: the latest start, or null when there is none in sight; of `wait`: the earliest start. */
export type DialDecision =
  | { decision: 'dial'; reasons: readonly []; untilMs: number | null }
  | { decision: 'wait'; reasons: readonly WaitReason[]; untilMs: number }
  | { decision: 'skip'; reasons: readonly SkipReason[] }

/** Returns all reasons; the first one is stored. The contact is pending. */
export function decideDial(question: Question): DialDecision {
  const { contact, campaign, nowMs } = question
  const skips = skipsOf(question)
  const earliest = skips.length > 0 ? null : earliestMs(question, Math.max(nowMs, contact.next_attempt_at.getTime()))
  if (skips.length === 0 && earliest === 'never') skips.push('no_common_hours')
  if (skips.length > 0) return { decision: 'skip', reasons: skips }
  const [window, quiet] = [windowAt(campaign, nowMs), quietAt(question, nowMs)]
  const waits: WaitReason[] = [...question.blockers]
  if (!window.open) waits.push('outside_window')
  if (quiet?.open) waits.push('quiet_hours')
  if (contact.next_attempt_at.getTime() > nowMs) waits.push('retry_interval')
  if (waits.length > 0) return { decision: 'wait', reasons: waits, untilMs: earliest as number }
  return { decision: 'dial', reasons: [], untilMs: soonest(window.untilMs, quiet?.untilMs ?? null) }
}

function skipsOf({ contact, campaign, doNotCall, blocked }: Question): SkipReason[] {
  const skips: SkipReason[] = []
  if (doNotCall) skips.push('do_not_call')
  if (blocked) skips.push(blocked)
  if (contact.attempts > campaign.retries) skips.push('attempts_exhausted')
  return skips
}

const soonest = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : Math.min(a, b))

export const windowOf = ({ timezone, window_start, window_end, days }: Hours): DailyHours => ({
  timezone,
  start: window_start,
  end: window_end,
  days,
})

/** Calling window of the campaign, the same for all contacts. */
export const windowAt = (campaign: Hours, atMs: number): Span => cachedSpan(windowOf(campaign), atMs)

/** Quiet hours of the callee's region; null when there are none, or the local time is unknown. */
function quietAt({ campaign, zones }: Pick<Question, 'campaign' | 'zones'>, atMs: number): Span | null {
  const { quiet_start: start, quiet_end: end } = campaign
  if (start === null || end === null || !sameTime(zones, atMs)) return null
  // Zones that agree now may differ later when one changes to daylight saving time: the earliest start of quiet hours
  // counts.
  let span: Span | null = null
  for (const timezone of zones) {
    const one = cachedSpan({ timezone, start, end, days: null }, atMs)
    if (span === null || (one.untilMs ?? Infinity) < (span.untilMs ?? Infinity)) span = one
  }
  return span
}

/** Limit of planning in milliseconds. A contact whose hours open later is skipped, and its owner sees why. */
const LOOK_AHEAD_MS = 15 * 24 * 3600 * 1000

/** Earliest time at which window and quiet hours allow the call; `never` when none is in sight. */
function earliestMs(question: Question, fromMs: number): number | 'never' {
  let atMs = fromMs
  while (atMs < fromMs + LOOK_AHEAD_MS) {
    const window = windowAt(question.campaign, atMs)
    const quiet = quietAt(question, atMs)
    if (window.open && !quiet?.open) return atMs
    const next = window.open ? quiet!.untilMs : window.untilMs
    if (next === null) return 'never'
    atMs = next
  }
  return 'never'
}

export interface StartConditions {
  campaign: Pick<CampaignRow, 'status' | 'consent' | 'max_spend' | 'spend'>
  subscribed: boolean
  /** Number of phone numbers that the project may call from. */
  lines: number
  /** Units that can be spent. */
  available: bigint
  /** Part of `available` that the daily cap allows. */
  spendable: bigint

  /** Units that the first minute of a call holds. */
  hold: bigint
  /** Units that calls in progress may still cost, out of the campaign's limit. */
  reserved: bigint
  /** Whether the account is stopped for unusual activity. */
  stopped: boolean
}

/** Returns what blocks all calls of a campaign now, in the order of the gates. */
export function blockersOf({
  campaign,
  subscribed,
  lines,
  available,
  spendable,
  hold,
  reserved,
  stopped,
}: StartConditions): Blocker[] {
  const { status, consent, max_spend, spend } = campaign
  const found: Blocker[] = []
  if (status !== 'running') found.push('not_running')
  if (consent === null) found.push('no_consent')
  if (!subscribed) found.push('subscription_inactive')
  if (lines === 0) found.push('no_outbound_line')
  if (max_spend !== null && spend + reserved + hold > max_spend) found.push('max_spend')
  if (available < hold) found.push('insufficient_balance')
  else if (spendable < hold) found.push('daily_limit_reached')
  if (stopped) found.push('calls_stopped')
  return found
}
