/**
 * Dials the contacts of running campaigns. One process leads; it runs a round whenever a call has ended, and four times
 * a second. The leader only makes pacing even and saves work: the rows that a claim locks prevent two processes from
 * doing the same.
 */

import { rateTokenMs } from '../../../media/bus/dial-rate.ts'
import { isLive } from '../../access/accounts/service.ts'
import { costOf, toUnits } from '../../billing/money.ts'
import { wallDate } from '../../platform/deps.ts'
import { enqueue, withJobs } from '../../platform/jobs/jobs.ts'
import { errorFields } from '../../platform/log.ts'
import { tokensAhead } from '../../telephony/call-setup/dial-rate.ts'
import type { CallDeps } from '../../telephony/call-setup/ended.ts'
import { HOLD_SECONDS, tariffAt } from '../../telephony/call-setup/tariff.ts'
import { allocate, type Capacity, type Demand, dueTokens, freeSlots, type Served } from './allocate.ts'
import { finishStops } from './batches.ts'
import { cancelQueued } from './cancel.ts'
import { claim, usableLines } from './claim.ts'
import { createLeadership } from './leadership.ts'
import {
  completeIfDone,
  countQueued,
  pauseRunning,
  resumeToppedUp,
  selectHaltedCalls,
  selectUnclaimed,
  selectWork,
  startScheduled,
  type WorkRow,
} from './pacer-sql.ts'
import { type Blocker, blockersOf, windowAt } from './policy.ts'
import type { PauseReason } from './types.ts'
import { onWake } from './wake.ts'

const TICK_MS = 250
/** Milliseconds in which ends of calls are gathered into one round. */
const GATHER_MS = 10
const FOLLOW_MS = 500
const SWEEP_MS = 1000
/** Longest time in milliseconds before a campaign without work is checked again, because work may have been added. */
const SLEEP_MS = 1000
/** Calls started in one round: a round stays short, and the owners alternate. */
const MOST_A_ROUND = 250
/** Upper limit of one allocation, which takes time too. */
const MOST_PLANNED = 2000
const OFFER_BATCH = 100
const TURNS_KEPT = 1000
/** Concurrent claims, of different owners. */
const SIDE_BY_SIDE = 4
/** Campaigns leave one in ten of the engines' call slots to inbound calls. */
const OUR_SHARE = 0.9
/** Milliseconds after which the connection that holds the lead counts as lost. */
const LEAD_TIMEOUT_MS = 1000

/** State of a leader; a new leader starts with an empty one. */
export interface PacerState {
  served: Served
  /** Campaigns that have nothing to do before this time (epoch ms). */
  asleep: Map<string, number>
  sweptAtMs: number
  /** Last round in which a campaign made calls. */
  turns: Map<string, number>
  round: number
}

export const newPacerState = (): PacerState => ({
  served: new Map(),
  asleep: new Map(),
  sweptAtMs: -Infinity,
  turns: new Map(),
  round: 0,
})

/** Runs one round: starts the calls that may start now. Returns true when there is more work at once. */
export async function paceOnce(deps: CallDeps, state: PacerState): Promise<boolean> {
  const nowMs = deps.clock.wall()
  if (Math.abs(nowMs - state.sweptAtMs) >= SWEEP_MS) {
    state.sweptAtMs = nowMs
    await sweep(deps)
  }
  for (const [id, wakeAtMs] of state.asleep)
    if (wakeAtMs <= nowMs || wakeAtMs > nowMs + SLEEP_MS) state.asleep.delete(id)
  const rows = await selectWork(deps.sql, [...state.asleep.keys()], new Date(nowMs))
  const ready: WorkRow[] = []
  for (const row of rows) if (await isReady(deps, state, row, nowMs)) ready.push(row)
  if (ready.length === 0) return false
  const capacity = await capacityOf(deps, ready)
  const claims = nextClaims(state, ready, capacity, nowMs)
  let more = claims.length < ready.length
  const owners = [...Map.groupBy(claims, one => one.work.owner_id).values()]
  const lane = async () => {
    for (let own = owners.shift(); own; own = owners.shift()) {
      for (const one of own) {
        const { calls, passedOver } = await claim(deps, { ...one, trunks: capacity.trunks })
        more ||= passedOver > 0 && calls < one.most
      }
    }
  }
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, lane))
  return more && claims.length > 0
}

/**
 * Selects the campaigns of this round and their number of calls. A claim costs nearly the same for one call as for
 * fifty: if there is more work than fits, some campaigns get their full number, and the others come first in the next
 * round.
 */
function nextClaims(state: PacerState, ready: readonly WorkRow[], capacity: Capacity, nowMs: number) {
  const demands = ready.map(row => demandOf(row, nowMs))
  const { grants, served } = allocate(demands, capacity, state.served)
  const granted = ready.filter(row => grants.has(row.id))
  granted.sort((a, b) => (state.turns.get(a.id) ?? 0) - (state.turns.get(b.id) ?? 0))
  const after = new Map(served)
  const claims: { work: WorkRow; most: number }[] = []
  state.round++
  let calls = 0
  for (const work of granted) {
    const most = grants.get(work.id)!
    if (calls < MOST_A_ROUND) {
      claims.push({ work, most })
      state.turns.set(work.id, state.round)
      calls += most
    } else {
      for (const id of [work.id, work.owner_id]) after.set(id, after.get(id)! - most)
    }
  }
  for (const id of state.turns.keys()) if (state.turns.get(id)! < state.round - TURNS_KEPT) state.turns.delete(id)
  state.served = after
  return claims
}

/** Handles changes that no event of a call announces: schedules, top-ups and stops. */
async function sweep(deps: CallDeps): Promise<void> {
  const at = wallDate(deps)
  await startScheduled(deps.sql, at)
  await resumeToppedUp(deps.sql, toUnits(deps.config.minute_price), at)
  await cancelQueued(deps, await selectHaltedCalls(deps.sql))
  await finishStops(deps)
}

/** Returns true when a campaign can dial now; otherwise completes it, pauses it or lets it sleep. */
async function isReady(deps: CallDeps, state: PacerState, row: WorkRow, nowMs: number): Promise<boolean> {
  const { id, live } = row
  if (row.pending === 0) {
    if (live === 0) await deps.sql.begin(tx => completeIfDone(tx, id, new Date(nowMs)))
    return false
  }
  const reason = pauseFor(blockersFor(deps, row), live)
  if (reason) await pauseRunning(deps.sql, id, reason, new Date(nowMs))
  if (reason || blockersFor(deps, row).length > 0) return false
  const dueMs = row.next_at?.getTime() ?? Infinity
  const window = windowAt(row, nowMs)
  if (window.open && dueMs <= nowMs) return true
  const opensMs = window.open ? nowMs : (window.untilMs ?? Infinity)
  state.asleep.set(id, Math.min(nowMs + SLEEP_MS, Math.max(opensMs, dueMs)))
  return false
}

function blockersFor(deps: CallDeps, row: WorkRow): Blocker[] {
  const { available, spendable, reserved } = row
  return blockersOf({
    campaign: { ...row, status: 'running' },
    subscribed: isLive(deps, row),
    lines: usableLines(row).length,
    available,
    spendable,
    reserved,
    stopped: row.stopped,
    hold: costOf(tariffAt(deps.config, 'out', row.minute_price), HOLD_SECONDS),
  })
}

/**
 * Money on hold for calls in progress may be released, so a lack of money pauses a campaign only after they have ended.
 */
function pauseFor(found: readonly Blocker[], live: number): PauseReason | null {
  for (const blocker of found) {
    if (blocker === 'subscription_inactive' || blocker === 'no_outbound_line') return blocker
    if (live === 0 && (blocker === 'max_spend' || blocker === 'insufficient_balance')) return blocker
  }
  return null
}

function demandOf(row: WorkRow, nowMs: number): Demand {
  const { id, owner_id: ownerId, due, concurrency, live } = row
  // Time since which it could dial: its window opened, or it was started or resumed.
  const sinceMs = Math.max(windowAt(row, nowMs).sinceMs ?? -Infinity, row.updated_at.getTime())
  return {
    id,
    ownerId,
    wanted: due,
    slots: freeSlots(concurrency, live, nowMs - sinceMs),
    trunks: [...new Set(usableLines(row).map(line => line.trunk_id))],
  }
}

/** Returns the remaining capacity of every limit that campaigns share. */
async function capacityOf(deps: CallDeps, rows: readonly WorkRow[]): Promise<Capacity> {
  const lines = new Map(rows.flatMap(row => row.lines.map(line => [line.trunk_id, line] as const)))
  const paced = [...lines.values()].flatMap(({ trunk_id, max_cps }) => (max_cps === null ? [] : [trunk_id]))
  const [engines, queued, ahead] = await Promise.all([
    deps.bus.engines(),
    countQueued(deps.sql),
    tokensAhead(deps, paced),
  ])
  const free = engines.reduce((sum, one) => sum + Math.ceil(one.capacity * OUR_SHARE) - one.calls, 0)
  const trunks = new Map<string, number>()
  for (const { trunk_id, max_calls, max_cps, live } of lines.values()) {
    const unused = max_calls === null ? Infinity : max_calls - live
    const turns = max_cps === null ? Infinity : dueTokens(ahead.get(trunk_id) ?? 0, rateTokenMs(max_cps))
    const capacity = Math.min(unused, turns)
    if (capacity < Infinity) trunks.set(trunk_id, Math.max(0, capacity))
  }
  return {
    calls: Math.max(0, Math.min(MOST_PLANNED, free - queued)),
    owners: new Map(rows.map(row => [row.owner_id, ownerCapacity(deps, row)])),
    trunks,
  }
}

function ownerCapacity(deps: CallDeps, row: WorkRow): number {
  const hold = costOf(tariffAt(deps.config, 'out', row.minute_price), HOLD_SECONDS)
  const paid = hold === 0n ? Infinity : Number(row.available / hold)
  return Math.max(0, Math.min(deps.config.max_calls_per_owner - row.open_holds, paid))
}

/**
 * The previous leader may have died in the middle of an offer, and the job queue hands its job to another process only
 * after half a minute. A call that is offered twice is claimed once.
 */
async function offerAgain(deps: CallDeps): Promise<void> {
  const ids = await selectUnclaimed(deps.sql, wallDate(deps))
  if (ids.length === 0) return
  await withJobs(deps, async tx => {
    for (let from = 0; from < ids.length; from += OFFER_BATCH) {
      await enqueue(deps, tx, 'campaign.place', { call_ids: ids.slice(from, from + OFFER_BATCH) })
    }
  })
}

/** Leads, or waits for the lead. `stop` waits for the current round. */
export function startPacer(deps: CallDeps): { stop(): Promise<void> } {
  let stopped = false
  let wake = () => {}
  let woken = false
  const leadership = createLeadership(deps.sql)
  const wakeups = onWake(deps, () => {
    woken = true
    wake()
  })
  /**
   * Ends when time is up or a wake-up has arrived; with `uninterrupted`, a wake-up does not end it, only the stop does.
   */
  const rest = (ms: number, uninterrupted = false) =>
    new Promise<void>(resolve => {
      if (stopped || (woken && !uninterrupted)) return resolve()
      const cancel = deps.clock.after(ms, resolve)
      wake = () => {
        if (uninterrupted && !stopped) return
        cancel()
        resolve()
      }
    })

  async function lead(): Promise<void> {
    const state = newPacerState()
    await offerAgain(deps)
    while (!stopped && (await inTime(deps, leadership.isHeld()))) {
      woken = false
      const more = await paceOnce(deps, state)
      await rest(GATHER_MS, true)
      if (!more) await rest(TICK_MS)
    }
  }

  async function run(): Promise<void> {
    while (!stopped) {
      try {
        if (await inTime(deps, leadership.take())) await lead()
      } catch (error) {
        deps.log.error({ error: errorFields(error) }, 'campaign pacing failed')
      }
      await rest(FOLLOW_MS, true)
    }
  }

  const done = run()
  return {
    async stop() {
      stopped = true
      wake()
      wakeups.stop()
      await done
      await leadership.close()
    },
  }
}

/** Resolves to false when the answer takes longer than `LEAD_TIMEOUT_MS`. */
function inTime(deps: CallDeps, answer: Promise<boolean>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const cancel = deps.clock.after(LEAD_TIMEOUT_MS, () => resolve(false))
    answer.then(resolve, reject).finally(cancel)
  })
}
