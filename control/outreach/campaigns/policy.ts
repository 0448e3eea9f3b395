/** Whether a contact may be dialled now: one place for the dialer, which stores the reason, and for `why`. Pure. */
import type { BlockedReason } from '../../platform/phone.ts'
import { sameTime } from './callee-zone.ts'
import type { CampaignContactRow, CampaignRow } from './types.ts'
import { cachedSpan, type DailyHours, type Span } from './zone.ts'

/** For ever. `no_common_hours`: the window and the quiet hours of the callee leave no minute. */
export type SkipReason = BlockedReason | 'do_not_call' | 'attempts_exhausted' | 'no_common_hours'

/** Of a whole campaign, which are the owner's to change. */
export const blockers = [
  'not_running',
  'no_consent',
  'subscription_inactive',
  'no_outbound_line',
  'max_spend',
  'insufficient_balance',
  'daily_limit_reached',
] as const
export type Blocker = (typeof blockers)[number]
export type WaitReason = Blocker | 'outside_window' | 'quiet_hours' | 'retry_interval'

type Hours = Pick<CampaignRow, 'timezone' | 'window_start' | 'window_end' | 'days' | 'quiet_start' | 'quiet_end'>

export interface Question {
  contact: Pick<CampaignContactRow, 'attempts' | 'next_attempt_at'>
  campaign: Hours & Pick<CampaignRow, 'retries'>
  nowMs: number
  /** Whether the owner must not call this number. */
  doNotCall: boolean
  blocked: BlockedReason | null
  /** In which the number may be: `calleeZones`. */
  zones: readonly string[]
  blockers: readonly Blocker[]
}

/** `untilMs` of `dial`: it may no longer begin then, null where no such time is in sight; of `wait`: not before. */
export type Judgement =
  | { verdict: 'dial'; reasons: readonly []; untilMs: number | null }
  | { verdict: 'wait'; reasons: readonly WaitReason[]; untilMs: number }
  | { verdict: 'skip'; reasons: readonly SkipReason[] }

/** Every reason, the first of them being what is stored. The contact is pending. */
export function judge(question: Question): Judgement {
  const { contact, campaign, nowMs } = question
  const skips = skipsOf(question)
  const earliest = skips.length > 0 ? null : earliestMs(question, Math.max(nowMs, contact.next_attempt_at.getTime()))
  if (skips.length === 0 && earliest === 'never') skips.push('no_common_hours')
  if (skips.length > 0) return { verdict: 'skip', reasons: skips }
  const [window, quiet] = [windowAt(campaign, nowMs), quietAt(question, nowMs)]
  const waits: WaitReason[] = [...question.blockers]
  if (!window.open) waits.push('outside_window')
  if (quiet?.open) waits.push('quiet_hours')
  if (contact.next_attempt_at.getTime() > nowMs) waits.push('retry_interval')
  if (waits.length > 0) return { verdict: 'wait', reasons: waits, untilMs: earliest as number }
  return { verdict: 'dial', reasons: [], untilMs: soonest(window.untilMs, quiet?.untilMs ?? null) }
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
  ...{ timezone, start: window_start, end: window_end, days },
})

/** Of the whole campaign: when nobody is dialled, whoever it is. */
export const windowAt = (campaign: Hours, atMs: number): Span => cachedSpan(windowOf(campaign), atMs)

/** The quiet hours of the callee's region; null: there are none, or nobody knows what the clock says there. */
function quietAt({ campaign, zones }: Pick<Question, 'campaign' | 'zones'>, atMs: number): Span | null {
  const { quiet_start: start, quiet_end: end } = campaign
  if (start === null || end === null || !sameTime(zones, atMs)) return null
  // Zones that agree now may part when one of them moves its clocks: the first that becomes quiet counts.
  let span: Span | null = null
  for (const timezone of zones) {
    const one = cachedSpan({ timezone, start, end, days: null }, atMs)
    if (span === null || (one.untilMs ?? Infinity) < (span.untilMs ?? Infinity)) span = one
  }
  return span
}

/** What opens later is no plan for a call: the contact is left out, and its owner sees why. */
const LOOK_AHEAD_MS = 15 * 24 * 3600 * 1000

/** From when on nothing of the hours stands against it; `never`: there is no such time in sight. */
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

export interface Standing {
  campaign: Pick<CampaignRow, 'status' | 'consent' | 'max_spend' | 'spend'>
  subscribed: boolean
  /** Numbers that the project may call from. */
  lines: number
  /** Units that can be spent, and those that the first minute of a call takes. */
  available: bigint
  /** Of the former what the cap of the day leaves. */
  spendable: bigint
  hold: bigint
  /** Units that calls under way may still cost, of those that the campaign may spend. */
  reserved: bigint
}

/** What stands against all calls of a campaign now, in the order of the gates. */
export function blockersOf({ campaign, subscribed, lines, available, spendable, hold, reserved }: Standing): Blocker[] {
  const { status, consent, max_spend, spend } = campaign
  const found: Blocker[] = []
  if (status !== 'running') found.push('not_running')
  if (consent === null) found.push('no_consent')
  if (!subscribed) found.push('subscription_inactive')
  if (lines === 0) found.push('no_outbound_line')
  if (max_spend !== null && spend + reserved + hold > max_spend) found.push('max_spend')
  if (available < hold) found.push('insufficient_balance')
  else if (spendable < hold) found.push('daily_limit_reached')
  return found
}
