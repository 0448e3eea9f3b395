/**
 * Checks the conditions of a call in one place and in the published order: for REST, MCP, campaigns and inbound calls.
 * Most checks take no lock, so that the error names the first reason. Money and the number of calls are decided in
 * `holdSlot`, in the transaction that inserts the call.
 */
import { SOFTPHONE_USERNAME } from '../../../media/contract/softphones.ts'
import { isLive } from '../../access/accounts/service.ts'
import { passModeration } from '../../agents/moderation/moderation.ts'
import { presentProject } from '../../agents/projects/service.ts'
import { type ProjectRow, selectProject, selectSecrets } from '../../agents/projects/sql.ts'
import { toDialingLimits } from '../../billing/limits/service.ts'
import { costOf, openHold, type Tariff } from '../../billing/money.ts'
import { stoppedProblem } from '../../billing/unusual/service.ts'
import type { Tx } from '../../platform/db/connect.ts'
import { type ControlConfig, type Deps, wallDate } from '../../platform/deps.ts'
import { notFound, Problem } from '../../platform/http/problem.ts'
import { type BlockedReason, blockedReason } from '../../platform/phone.ts'
import type { CallRow } from '../call-setup/sql.ts'
import { HOLD_SECONDS, tariffAt } from '../call-setup/tariff.ts'
import { pickLine } from '../numbers/lines.ts'
import { selectSoftphoneId } from '../softphones/sql.ts'
import { llmSecrets, notReady } from './ready.ts'
import {
  type OutboundLine,
  type StandingRow,
  selectOutbound,
  selectStanding,
  selectTrunkCapacity,
  type TrunkCapacity,
} from './sql.ts'

export interface AccountStanding {
  subscribed: boolean
  /** Units that can be spent. */
  available: bigint
  /** Part of `available` that the daily cap allows. */
  spendable: bigint
  destinations: readonly string[]
  /** Whether outgoing calls are stopped for unusual activity. */
  stopped: boolean
  /** Calls in progress. */
  calls: number
  tariff: Tariff
}

function toStanding(deps: Deps, row: StandingRow | undefined, direction: CallRow['direction']): AccountStanding {
  return {
    subscribed: row !== undefined && isLive(deps, row),
    available: row?.available ?? 0n,
    spendable: row?.spendable ?? 0n,
    destinations: row?.destinations ?? [],
    stopped: row?.stopped ?? false,
    calls: row?.open_holds ?? 0,
    tariff: tariffAt(deps.config, direction, row?.minute_price ?? null),
  }
}

export async function standingOf(
  deps: Deps,
  ownerId: string,
  direction: CallRow['direction'],
): Promise<AccountStanding> {
  return toStanding(deps, await selectStanding(deps.sql, ownerId, wallDate(deps)), direction)
}

/** Yields every reason in order: most callers throw the first one; the start of a campaign reports all. */
export function* moneyGates({ subscribed, available, spendable, tariff }: AccountStanding): Generator<Problem> {
  if (!subscribed) yield new Problem('subscription_inactive')
  const first = costOf(tariff, HOLD_SECONDS)
  if (available < first) yield new Problem('insufficient_balance')
  else if (spendable < first) yield new Problem('daily_limit_reached')
}

/** Not for inbound calls: people who call must still be answered. */
export function* stopGate({ stopped }: Pick<AccountStanding, 'stopped'>): Generator<Problem> {
  if (stopped) yield stoppedProblem()
}

function* capacityGates(config: ControlConfig, calls: number, trunk: TrunkCapacity | undefined): Generator<Problem> {
  const most = config.max_calls_per_owner
  if (calls >= most)
    yield new Problem('too_many_calls', { detail: `An account may have at most ${most} concurrent calls.` })
  if (trunk && trunk.live >= trunk.max_calls) {
    yield new Problem('too_many_calls', { detail: `The trunk allows at most ${trunk.max_calls} concurrent calls.` })
  }
}

function pass(problems: Iterable<Problem>): void {
  for (const problem of problems) throw problem
}

const blockedMessages: Record<BlockedReason, string> = {
  emergency: 'Calls to emergency numbers are blocked',
  premium_rate: 'Calls to premium-rate numbers are blocked',
  satellite: 'Calls to satellite networks are blocked',
  blocked_prefix: 'Calls to numbers with this prefix are blocked',
  destination_not_allowed: "The account's limits do not allow calls to numbers with this prefix",
}

function passDestination(config: ControlConfig, destinations: readonly string[], phone: string): void {
  const code = blockedReason(phone, toDialingLimits(config, destinations))
  if (code === null) return
  throw new Problem('destination_blocked', { errors: [{ pointer: '/phone', code, message: blockedMessages[code] }] })
}

export interface OutboundWish {
  project_id: string
  phone: string
  /** Texts for moderation, by JSON Pointer into the body. */
  texts: Record<string, string>
}

export interface OutboundPass extends AccountStanding {
  line: Omit<OutboundLine, 'trunk_id'> & { trunk_id: string | null }
}

/** Line of a call to the owner's softphone, which needs no trunk. It displays `agent`, and dialling that calls back. */
const NO_LINE = { number: 'agent', trunk_id: null, max_calls: null, live: 0 }

/** Throws the first reason that blocks this call. */
export async function passOutbound(deps: Deps, ownerId: string, wish: OutboundWish): Promise<OutboundPass> {
  const { phone, texts } = wish
  const found = await selectOutbound(deps.sql, ownerId, { ...wish, at: wallDate(deps) })
  if (!found?.project_id) throw notFound()
  const isOwnPhone = SOFTPHONE_USERNAME.test(phone)
  if (isOwnPhone && (await selectSoftphoneId(deps.sql, ownerId, phone)) === null) throw notFound()
  const standing = toStanding(deps, found, 'out')
  pass(stopGate(standing))
  pass(moneyGates(standing))
  const line = isOwnPhone ? NO_LINE : pickLine(found.lines, found.caller_id, phone)
  if (found.unwanted) throw new Problem('do_not_call')
  if (!isOwnPhone) passDestination(deps.config, standing.destinations, phone)
  pass(capacityGates(deps.config, standing.calls, limited(line)))
  await passModeration(deps, texts)
  return { ...standing, line }
}

const limited = ({ max_calls, live }: Pick<OutboundLine, 'max_calls' | 'live'>): TrunkCapacity | undefined =>
  max_calls === null ? undefined : { max_calls, live }

/** Applies the conditions of an inbound call; `trunkId` is null for a call from a softphone. */
export async function passInbound(deps: Deps, ownerId: string, trunkId: string | null): Promise<AccountStanding> {
  const [standing, trunk] = await Promise.all([
    standingOf(deps, ownerId, 'in'),
    trunkId === null ? undefined : selectTrunkCapacity(deps.sql, ownerId, trunkId),
  ])
  pass(moneyGates(standing))
  pass(capacityGates(deps.config, standing.calls, trunk))
  return standing
}

export interface WebWish {
  project_id: string
  /** Texts for moderation, by JSON Pointer into the body; none at the join, because they were moderated before. */
  texts: Record<string, string>
}

export interface WebPass extends AccountStanding {
  project: ProjectRow
}

/** For a dialogue in a room: checked at its creation, and again when a client joins. */
export async function passWeb(deps: Deps, ownerId: string, { project_id, texts }: WebWish): Promise<WebPass> {
  const project = await selectProject(deps.sql, ownerId, project_id)
  if (!project) throw notFound()
  const settings = presentProject(project)
  const [secrets, standing] = await Promise.all([
    selectSecrets(deps.sql, ownerId, llmSecrets(settings)),
    standingOf(deps, ownerId, 'web'),
  ])
  const missing = notReady(settings, new Set(secrets.map(secret => secret.name)))
  if (missing) throw missing
  pass(stopGate(standing))
  pass(moneyGates(standing))
  pass(capacityGates(deps.config, standing.calls, undefined))
  await passModeration(deps, texts)
  return { ...standing, project }
}

/**
 * Holds the first minute of a call and checks the limits again: the hold has locked the owner's balance, which counts
 * the owner's calls, so a concurrent call of this owner counts after this one.
 */
export async function holdSlot(
  tx: Tx,
  config: ControlConfig,
  call: Pick<CallRow, 'id' | 'owner_id' | 'trunk_id' | 'created_at'>,
  tariff: Tariff,
  /** True when the trunk may have a limit. */
  trunkLimited: boolean,
): Promise<void> {
  const { id, owner_id, trunk_id, created_at } = call
  const open = await openHold(tx, owner_id, { id, tariff, seconds: HOLD_SECONDS }, created_at)
  if (open === null) throw await shortage(tx, call, tariff)
  const trunk = trunk_id === null || !trunkLimited ? undefined : await selectTrunkCapacity(tx, owner_id, trunk_id)
  pass(capacityGates(config, open - 1, trunk))
}

/** Returns the reason why the hold failed. */
async function shortage(
  tx: Tx,
  { owner_id, created_at }: Pick<CallRow, 'owner_id' | 'created_at'>,
  tariff: Tariff,
): Promise<Problem> {
  const row = await selectStanding(tx, owner_id, created_at)
  const covered = row !== undefined && row.available >= costOf(tariff, HOLD_SECONDS)
  return new Problem(covered ? 'daily_limit_reached' : 'insufficient_balance')
}
