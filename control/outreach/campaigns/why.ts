/** What the dialer would say of a contact now: the rules of `policy.ts`, with the facts of this moment. */

import { within } from '../../billing/limits/service.ts'
import { costOf } from '../../billing/money.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { notFound } from '../../platform/http/problem.ts'
import { time } from '../../platform/http/shapes.ts'
import { blockedReason } from '../../platform/phone.ts'
import { HOLD_SECONDS } from '../../telephony/call-setup/tariff.ts'
import { isDoNotCall } from '../../telephony/do-not-call/sql.ts'
import { standingOf } from '../../telephony/gates/service.ts'
import { calleeZones } from './callee-zone.ts'
import { rejectedOf } from './moderate.ts'
import { selectReserved } from './pacer-sql.ts'
import { blockersOf, type Judgement, judge, type SkipReason, type WaitReason } from './policy.ts'
import { findCampaign } from './service.ts'
import { type CountedCampaign, selectContact, selectLines } from './sql.ts'
import type { CampaignContactRow, CampaignStatus, ContactStatus } from './types.ts'

const messages: Record<WaitReason | SkipReason | 'moderation_rejected' | 'erased', string> = {
  not_running: 'The campaign is not running',
  no_consent: "Nobody has confirmed the subscribers' consent",
  subscription_inactive: 'The subscription of the account is not active',
  no_outbound_line: 'No outbound line is bound to the project',
  max_spend: 'Another call could cost more than the campaign may spend',
  insufficient_balance: 'The balance does not cover the first minute of a call',
  daily_limit_reached: 'The account has spent what a day may cost',
  outside_window: 'The window of the campaign is closed',
  quiet_hours: 'It is a quiet hour where the number is',
  retry_interval: 'The time between two attempts is not over',
  do_not_call: 'The number is on the do-not-call list',
  emergency: 'Emergency numbers are never dialled',
  premium_rate: 'Premium-rate numbers are not dialled',
  satellite: 'Satellite networks are not dialled',
  blocked_prefix: 'Numbers that begin like this are not dialled',
  destination_not_allowed: 'The account does not call numbers that begin like this',
  attempts_exhausted: 'There is no attempt left',
  moderation_rejected: 'With its vars the task says what an agent must not be told',
  erased: 'The person was erased',
  no_common_hours: 'The window and the quiet hours where the number is leave no minute',
}

const settled: Record<Exclude<ContactStatus, 'pending'>, string> = {
  dialing: 'It is being dialled',
  in_progress: 'It is in a conversation',
  completed: 'It has had its conversation',
  no_answer: 'Nobody answered in any attempt',
  busy: 'It was busy in the last attempt',
  failed: 'The last attempt failed',
  skipped: 'It is never to be dialled',
  canceled: 'The campaign was stopped before its turn',
}

const tell = (code: string, message: string) => ({ code, message })

export interface WhyAnswer {
  would_dial: boolean
  verdict: 'dial' | 'wait' | 'skip' | 'none'
  reasons: { code: string; message: string }[]
  until: string | null
  status: ContactStatus
  campaign_status: CampaignStatus
  attempts: number
  attempts_left: number
}

export async function whyNot(deps: Deps, ownerId: string, campaignId: string, id: string): Promise<WhyAnswer> {
  const campaign = await findCampaign(deps, ownerId, campaignId)
  const contact = await selectContact(deps.sql, ownerId, campaignId, id)
  if (!contact) throw notFound()
  const { status, attempts } = contact
  const known = {
    ...{ status, campaign_status: campaign.status, attempts },
    attempts_left: Math.max(0, campaign.retries + 1 - attempts),
  }
  if (status !== 'pending') {
    const reasons = [tell(status, settled[status])]
    if (contact.skip_reason) reasons.push(tell(contact.skip_reason, messageOf(contact.skip_reason)))
    return { would_dial: false, verdict: 'none', reasons, until: null, ...known }
  }
  if ((await rejectedOf(campaign, [contact])).size > 0) {
    const reasons = [tell('moderation_rejected', messages.moderation_rejected)]
    return { would_dial: false, verdict: 'skip', reasons, until: null, ...known }
  }
  const { verdict, reasons, ...when } = await judgeNow(deps, campaign, contact)
  return {
    would_dial: verdict === 'dial',
    verdict,
    reasons: reasons.map(code => tell(code, messageOf(code))),
    until: verdict === 'wait' && 'untilMs' in when ? time(when.untilMs === null ? null : new Date(when.untilMs)) : null,
    ...known,
  }
}

const messageOf = (code: string) => messages[code as keyof typeof messages] ?? code

async function judgeNow(deps: Deps, campaign: CountedCampaign, contact: CampaignContactRow): Promise<Judgement> {
  const { owner_id, id, project_id } = campaign
  const [standing, { lines, caller_id }, doNotCall, reserved] = await Promise.all([
    standingOf(deps, owner_id, 'out'),
    selectLines(deps.sql, owner_id, project_id),
    isDoNotCall(deps.sql, owner_id, contact.phone),
    selectReserved(deps.sql, [campaign]),
  ])
  const usable = caller_id === null ? lines : lines.filter(line => line.number === caller_id)
  const { subscribed, available, spendable, destinations, tariff } = standing
  const hold = costOf(tariff, HOLD_SECONDS)
  return judge({
    contact,
    campaign,
    nowMs: wallDate(deps).getTime(),
    doNotCall,
    blocked: blockedReason(contact.phone, within(deps.config, destinations)),
    zones: calleeZones(contact.phone),
    blockers: blockersOf({
      campaign,
      subscribed,
      lines: usable.length,
      available,
      spendable,
      hold,
      reserved: reserved.get(id) ?? 0n,
    }),
  })
}
