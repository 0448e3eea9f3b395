/**
 * Claims contacts of one campaign for dialling: checks them, holds money, inserts calls, counts and enqueues them, in
 * one transaction.
 */

import { toDialingLimits } from '../../billing/limits/service.ts'
import { costOf, openHolds, type Tariff } from '../../billing/money.ts'
import { noteCountries, unlessUnusual } from '../../billing/unusual/service.ts'
import type { Tx } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { Problem } from '../../platform/http/problem.ts'
import { uuidv7 } from '../../platform/ids.ts'
import { enqueue, withJobs } from '../../platform/jobs/jobs.ts'
import { blockedReason } from '../../platform/phone.ts'
import { HOLD_SECONDS, tariffAt } from '../../telephony/call-setup/tariff.ts'
import { selectTrunkCapacity } from '../../telephony/gates/sql.ts'
import { pickLine } from '../../telephony/numbers/lines.ts'
import { calleeZones } from './callee-zone.ts'
import { rejectedOf } from './moderate.ts'
import {
  bumpCampaign,
  type ClaimCapacity,
  type DueRow,
  deferContacts,
  insertAttempts,
  lockCapacity,
  lockDue,
  lockRunning,
  type NewAttempt,
  type PacedLine,
  selectTerms,
  skipContacts,
  type Terms,
  upsertContacts,
  type WorkRow,
} from './pacer-sql.ts'
import { decideDial } from './policy.ts'
import type { CampaignRow } from './types.ts'

export interface Claim {
  work: Pick<WorkRow, 'owner_id' | 'id'>
  /** Calls that may start in total. */
  most: number
  /** Calls that may start on each trunk; a trunk that is not listed has no limit. */
  trunks: ReadonlyMap<string, number>
}

export interface Claimed {
  calls: number
  /** Contacts that were deferred or skipped; others may be due behind them. */
  passedOver: number
}

/**
 * Contacts read at once, and number of reads in one transaction: deferred contacts must not block others, and the
 * transaction must stay short.
 */
const PAGE = 200
const MOST_PAGES = 5

interface Chosen {
  contact: DueRow
  line: PacedLine
  untilMs: number | null
}

interface Plan {
  campaign: CampaignRow
  terms: Terms
  wish: Claim
  at: Date
}

interface Sorted {
  dial: Chosen[]
  defer: { id: string; at: Date }[]
  skip: { id: string; reason: string }[]
}

/** The lines of a project that its calls may use. */
export const usableLines = ({ lines, caller_id }: Pick<Terms, 'lines' | 'caller_id'>): PacedLine[] =>
  caller_id === null ? lines : lines.filter(line => line.number === caller_id)

/** Does nothing when the campaign is not running, its lines are gone, or another process was faster. */
export async function claim(deps: Deps, wish: Claim): Promise<Claimed> {
  const { owner_id, id } = wish.work
  const work = async (tx: Tx): Promise<Claimed> => {
    const campaign = await lockRunning(tx, owner_id, id)
    if (!campaign) return { calls: 0, passedOver: 0 }
    const terms = await selectTerms(tx, owner_id, id)
    if (usableLines(terms).length === 0 || terms.stopped) return { calls: 0, passedOver: 0 }
    const at = wallDate(deps)
    const plan: Plan = { campaign, terms, wish, at }
    const { dial, defer, skip } = await passTexts(campaign, await choose(deps, tx, plan))
    await deferContacts(tx, owner_id, defer)
    await skipContacts(tx, owner_id, skip)
    const calls = dial.length > 0 ? await begin(deps, tx, plan, dial) : 0
    if (calls + skip.length > 0) {
      await bumpCampaign(tx, id, { pending: -calls - skip.length, dialing: calls, skipped: skip.length })
    }
    return { calls, passedOver: defer.length + skip.length }
  }
  return unlessUnusual(deps, owner_id, () => withJobs(deps, work)).catch(error => {
    if (error instanceof Problem && error.code === 'calls_stopped') return { calls: 0, passedOver: 0 }
    throw error
  })
}

async function passTexts(campaign: CampaignRow, sorted: Sorted): Promise<Sorted> {
  const rejected = await rejectedOf(
    campaign,
    sorted.dial.map(one => one.contact),
  )
  if (rejected.size === 0) return sorted
  const skip = [...rejected].map(id => ({ id, reason: 'moderation_rejected' }))
  const dial = sorted.dial.filter(one => !rejected.has(one.contact.id))
  return { ...sorted, dial, skip: [...sorted.skip, ...skip] }
}

async function choose(deps: Deps, tx: Tx, plan: Plan): Promise<Sorted> {
  const { campaign, wish, at } = plan
  const sorted: Sorted = { dial: [], defer: [], skip: [] }
  const left = new Map(wish.trunks)
  let after: DueRow | null = null
  for (let page = 0; page < MOST_PAGES; page++) {
    // Reads twice as many as needed, because some may have to wait.
    const limit = Math.min(PAGE, page === 0 ? 2 * wish.most : PAGE)
    const rows: DueRow[] = await lockDue(tx, campaign.owner_id, campaign.id, { at, limit, after })
    for (const contact of rows) {
      if (sorted.dial.length >= wish.most) return sorted
      sort(deps, plan, { contact, left }, sorted)
    }
    if (rows.length < limit) break
    after = rows.at(-1)!
  }
  return sorted
}

/** `left`: calls that may start on each trunk. */
function sort(
  deps: Deps,
  { campaign, terms, at }: Plan,
  { contact, left }: { contact: DueRow; left: Map<string, number> },
  sorted: Sorted,
): void {
  const decided = decideDial({
    contact,
    campaign,
    nowMs: at.getTime(),
    blockers: [],
    doNotCall: contact.unwanted,
    blocked: blockedReason(contact.phone, toDialingLimits(deps.config, terms.destinations)),
    zones: calleeZones(contact.phone),
  })
  if (decided.decision === 'skip') {
    sorted.skip.push({ id: contact.id, reason: decided.reasons[0]! })
  } else if (decided.decision === 'wait') {
    sorted.defer.push({ id: contact.id, at: new Date(decided.untilMs) })
  } else {
    const line = pickLine(terms.lines, terms.caller_id, contact.phone)
    const capacity = left.get(line.trunk_id) ?? Infinity
    if (capacity <= 0) return // waits for its trunk
    left.set(line.trunk_id, capacity - 1)
    sorted.dial.push({ contact, line, untilMs: decided.untilMs })
  }
}

/** Returns the number of calls. */
async function begin(deps: Deps, tx: Tx, { campaign, terms, at }: Plan, dial: readonly Chosen[]): Promise<number> {
  const { owner_id, project_id } = campaign
  const tariff = tariffAt(deps.config, 'out', terms.minute_price)
  const people = dial.map(({ contact: { phone, name } }) => ({ id: uuidv7(at.getTime()), phone, name }))
  const contacts = await upsertContacts(tx, owner_id, project_id, people, at)
  const capacity = await lockCapacity(tx, campaign, at)
  const { count, maxCost } = capacityFor(deps, campaign, capacity, tariff, dial.length)
  const taken = await withinTrunks(tx, owner_id, dial.slice(0, count))
  if (taken.length === 0) return 0
  const phones = taken.map(({ contact: { phone } }) => phone)
  await noteCountries(tx, owner_id, phones, at)
  const attempts = taken.map(
    ({ contact, line, untilMs }): NewAttempt => ({
      id: uuidv7(at.getTime()),
      contact,
      from_phone: line.number,
      trunk_id: line.trunk_id,
      max_cost: maxCost,
      contact_id: contacts.get(contact.phone)!,
      deadline_at: new Date(Math.min(at.getTime() + deps.config.queue_expiry_ms, untilMs ?? Infinity)),
    }),
  )
  const ids = attempts.map(one => one.id)
  if (!(await openHolds(tx, owner_id, { ids, tariff, seconds: HOLD_SECONDS }, at))) {
    throw new Error('balance changed under its lock')
  }
  await insertAttempts(tx, campaign, { price: tariff.price, at, attempts })
  await enqueue(deps, tx, 'campaign.place', { call_ids: ids })
  return attempts.length
}

/**
 * Returns how many calls the free slots and the money allow, and the maximum cost of each. In a campaign with a
 * spending limit, each call gets an equal share of the rest, at least its first minute, and all shares are reserved:
 * together they cannot exceed the limit.
 */
export function capacityFor(
  { config }: Pick<Deps, 'config'>,
  { concurrency, max_spend }: Pick<CampaignRow, 'concurrency' | 'max_spend'>,
  { available, open_holds, live, spend, reserved }: ClaimCapacity,
  tariff: Tariff,
  wanted: number,
): { count: number; maxCost: string | null } {
  const hold = costOf(tariff, HOLD_SECONDS)
  const places = Math.min(wanted, concurrency - live, config.max_calls_per_owner - open_holds)
  const paid = (money: bigint, each: bigint) => (each === 0n ? places : Math.min(places, Number(money / each)))
  if (max_spend === null) return { count: Math.max(0, paid(available, hold)), maxCost: null }
  const rest = max_spend - spend - reserved
  const part = rest / BigInt(Math.max(1, concurrency - live))
  const most = part > hold ? part : hold
  return { count: Math.max(0, Math.min(paid(available, hold), paid(rest, most))), maxCost: String(most) }
}

/** Counted again under the lock of the owner of the trunks. */
async function withinTrunks(tx: Tx, ownerId: string, dial: readonly Chosen[]): Promise<Chosen[]> {
  const limited = new Set(dial.filter(one => one.line.max_calls !== null).map(one => one.line.trunk_id))
  const left = new Map<string, number>()
  for (const trunkId of limited) {
    const capacity = await selectTrunkCapacity(tx, ownerId, trunkId)
    left.set(trunkId, capacity ? capacity.max_calls - capacity.live : Infinity)
  }
  return dial.filter(({ line }) => {
    const capacity = left.get(line.trunk_id) ?? Infinity
    left.set(line.trunk_id, capacity - 1)
    return capacity > 0
  })
}
