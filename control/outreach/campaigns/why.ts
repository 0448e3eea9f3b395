/** Explains what the dialer would decide about a contact now: the rules of `policy.ts` with the current facts. */

import { toDialingLimits } from '../../billing/limits/service.ts'
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
import { blockersOf, type DialDecision, decideDial, type SkipReason, type WaitReason } from './policy.ts'
import { findCampaign } from './service.ts'
import { type CountedCampaign, selectContact, selectLines } from './sql.ts'
import type { CampaignContactRow, CampaignStatus, ContactStatus } from './types.ts'

const messages: Record<WaitReason | SkipReason | 'moderation_rejected' | 'erased', string> = {
  not_running: 'The campaign is not running',
  no_consent: "The subscribers' consent has not been confirmed",
  subscription_inactive: 'The subscription of the account is not active',
  no_outbound_line: 'No outbound line is bound to the project',
  max_spend: 'Another call could exceed the spending limit of the campaign',
  insufficient_balance: 'The balance does not cover the first minute of a call',
  daily_limit_reached: 'The account has reached its daily spending limit',
  calls_stopped: 'Outgoing calls of the account are stopped for unusual activity',
  outside_window: 'The time is outside the calling window of the campaign',
  quiet_hours: 'The time is within quiet hours in the region of the number',
  retry_interval: 'The time between two attempts has not passed',
  do_not_call: 'The number is on the do-not-call list',
  emergency: 'Calls to emergency numbers are blocked',
  premium_rate: 'Calls to premium-rate numbers are blocked',
  satellite: 'Calls to satellite networks are blocked',
  blocked_prefix: 'Calls to numbers with this prefix are blocked',
  destination_not_allowed: "The account's limits do not allow calls to numbers with this prefix",
  attempts_exhausted: 'No attempts are left',
  moderation_rejected: 'Moderation rejected the task with the vars of this contact',
  erased: 'The personal data was erased',
  no_common_hours: "The calling window lies entirely within the callee's quiet hours",
}

const settled: Record<Exclude<ContactStatus, 'pending'>, string> = {
  dialing: 'The contact is being dialled',
  in_progress: 'The contact is in a conversation',
  completed: 'The conversation has taken place',
  no_answer: 'No attempt was answered',
  busy: 'The number was busy in the last attempt',
  failed: 'The last attempt failed',
  skipped: 'The contact is never dialled',
  canceled: 'The campaign was stopped before the contact was dialled',
}

const reasonOf = (code: string, message: string) => ({ code, message })

export interface WhyAnswer {
  would_dial: boolean
  decision: 'dial' | 'wait' | 'skip' | 'none'
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
    status,
    campaign_status: campaign.status,
    attempts,
    attempts_left: Math.max(0, campaign.retries + 1 - attempts),
  }
  if (status !== 'pending') {
    const reasons = [reasonOf(status, settled[status])]
    if (contact.skip_reason) reasons.push(reasonOf(contact.skip_reason, messageOf(contact.skip_reason)))
    return { would_dial: false, decision: 'none', reasons, until: null, ...known }
  }
  if ((await rejectedOf(campaign, [contact])).size > 0) {
    const reasons = [reasonOf('moderation_rejected', messages.moderation_rejected)]
    return { would_dial: false, decision: 'skip', reasons, until: null, ...known }
  }
  const { decision, reasons, ...when } = await decideNow(deps, campaign, contact)
  return {
    would_dial: decision === 'dial',
    decision,
    reasons: reasons.map(code => reasonOf(code, messageOf(code))),
    until:
      decision === 'wait' && 'untilMs' in when ? time(when.untilMs === null ? null : new Date(when.untilMs)) : null,
    ...known,
  }
}

const messageOf = (code: string) => messages[code as keyof typeof messages] ?? code

async function decideNow(deps: Deps, campaign: CountedCampaign, contact: CampaignContactRow): Promise<DialDecision> {
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
  return decideDial({
    contact,
    campaign,
    nowMs: wallDate(deps).getTime(),
    doNotCall,
    blocked: blockedReason(contact.phone, toDialingLimits(deps.config, destinations)),
    zones: calleeZones(contact.phone),
    blockers: blockersOf({
      campaign,
      subscribed,
      lines: usable.length,
      available,
      spendable,
      hold,
      reserved: reserved.get(id) ?? 0n,
      stopped: standing.stopped,
    }),
  })
}
