/**
 * What stands between an owner and a call, in one place and in the published order: for REST, MCP, campaigns and calls
 * that come in. Most of it is a glance, so that the answer names the first reason; money and the number of calls count
 * in `holdPlace`, in the transaction that makes the call.
 */
import { SOFTPHONE_USERNAME } from '../../../media/contract/softphones.ts'
import { isLive } from '../../access/accounts/service.ts'
import { passModeration } from '../../agents/moderation/moderation.ts'
import { presentProject } from '../../agents/projects/service.ts'
import { type ProjectRow, selectProject, selectSecrets } from '../../agents/projects/sql.ts'
import { within } from '../../billing/limits/service.ts'
import { costOf, openHold, type Tariff } from '../../billing/money.ts'
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
  selectTrunkRoom,
  type TrunkRoom,
} from './sql.ts'

export interface Standing {
  subscribed: boolean
  /** Units that can be spent. */
  available: bigint
  /** Of them what the cap of the day leaves. */
  spendable: bigint
  destinations: readonly string[]
  /** Calls under way. */
  calls: number
  tariff: Tariff
}

function toStanding(deps: Deps, row: StandingRow | undefined, direction: CallRow['direction']): Standing {
  return {
    subscribed: row !== undefined && isLive(deps, row),
    available: row?.available ?? 0n,
    spendable: row?.spendable ?? 0n,
    destinations: row?.destinations ?? [],
    calls: row?.open_holds ?? 0,
    tariff: tariffAt(deps.config, direction, row?.minute_price ?? null),
  }
}

export async function standingOf(deps: Deps, ownerId: string, direction: CallRow['direction']): Promise<Standing> {
  return toStanding(deps, await selectStanding(deps.sql, ownerId, wallDate(deps)), direction)
}

/** Every reason, in order: who needs one takes the first, who tells of all (the start of a campaign) lists them. */
export function* moneyGates({ subscribed, available, spendable, tariff }: Standing): Generator<Problem> {
  if (!subscribed) yield new Problem('subscription_inactive')
  const first = costOf(tariff, HOLD_SECONDS)
  if (available < first) yield new Problem('insufficient_balance')
  else if (spendable < first) yield new Problem('daily_limit_reached')
}

function* roomGates(config: ControlConfig, calls: number, trunk: TrunkRoom | undefined): Generator<Problem> {
  const most = config.max_calls_per_owner
  if (calls >= most) yield new Problem('too_many_calls', { detail: `An account may have ${most} calls at once.` })
  if (trunk && trunk.live >= trunk.max_calls) {
    yield new Problem('too_many_calls', { detail: `The trunk takes ${trunk.max_calls} calls at once.` })
  }
}

function pass(problems: Iterable<Problem>): void {
  for (const problem of problems) throw problem
}

const blockedMessages: Record<BlockedReason, string> = {
  emergency: 'Emergency numbers are never dialled',
  premium_rate: 'Premium-rate numbers are not dialled',
  satellite: 'Satellite networks are not dialled',
  blocked_prefix: 'Numbers that begin like this are not dialled',
  destination_not_allowed: 'The account does not call numbers that begin like this',
}

function passDestination(config: ControlConfig, destinations: readonly string[], phone: string): void {
  const code = blockedReason(phone, within(config, destinations))
  if (code === null) return
  throw new Problem('destination_blocked', { errors: [{ pointer: '/phone', code, message: blockedMessages[code] }] })
}

export interface OutboundWish {
  project_id: string
  phone: string
  /** What moderation reads, by JSON Pointer into the body. */
  texts: Record<string, string>
}

export interface OutboundPass extends Standing {
  line: Omit<OutboundLine, 'trunk_id'> & { trunk_id: string | null }
}

/** A softphone of the owner's needs no line. It shows who calls, and that calls back. */
const NO_LINE = { number: 'agent', trunk_id: null, max_calls: null, live: 0 }

/** Throws the first reason why this call is not made. */
export async function passOutbound(deps: Deps, ownerId: string, wish: OutboundWish): Promise<OutboundPass> {
  const { phone, texts } = wish
  const found = await selectOutbound(deps.sql, ownerId, { ...wish, at: wallDate(deps) })
  if (!found?.project_id) throw notFound()
  const isOwnPhone = SOFTPHONE_USERNAME.test(phone)
  if (isOwnPhone && (await selectSoftphoneId(deps.sql, ownerId, phone)) === null) throw notFound()
  const standing = toStanding(deps, found, 'out')
  pass(moneyGates(standing))
  const line = isOwnPhone ? NO_LINE : pickLine(found.lines, found.caller_id, phone)
  if (found.unwanted) throw new Problem('do_not_call')
  if (!isOwnPhone) passDestination(deps.config, standing.destinations, phone)
  pass(roomGates(deps.config, standing.calls, limited(line)))
  await passModeration(deps, texts)
  return { ...standing, line }
}

const limited = ({ max_calls, live }: Pick<OutboundLine, 'max_calls' | 'live'>): TrunkRoom | undefined =>
  max_calls === null ? undefined : { max_calls, live }

/** Of the same gates those that a call coming in has to pass; `trunkId` is null where it comes from a softphone. */
export async function passInbound(deps: Deps, ownerId: string, trunkId: string | null): Promise<Standing> {
  const [standing, trunk] = await Promise.all([
    standingOf(deps, ownerId, 'in'),
    trunkId === null ? undefined : selectTrunkRoom(deps.sql, ownerId, trunkId),
  ])
  pass(moneyGates(standing))
  pass(roomGates(deps.config, standing.calls, trunk))
  return standing
}

export interface WebWish {
  project_id: string
  /** What moderation reads, by JSON Pointer into the body; none at the join, when all was read before. */
  texts: Record<string, string>
}

export interface WebPass extends Standing {
  project: ProjectRow
}

/** For a dialogue in a room: when it is asked for, and again when somebody joins. */
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
  pass(moneyGates(standing))
  pass(roomGates(deps.config, standing.calls, undefined))
  await passModeration(deps, texts)
  return { ...standing, project }
}

/**
 * Holds the first minute of a call, and looks once more whether there is room for it: the hold has locked the owner's
 * balance, where its calls are counted, so whoever makes a call of this owner at the same time counts after us.
 */
export async function holdPlace(
  tx: Tx,
  config: ControlConfig,
  call: Pick<CallRow, 'id' | 'owner_id' | 'trunk_id' | 'created_at'>,
  tariff: Tariff,
  /** Whether the trunk may have a limit. */
  trunkLimited: boolean,
): Promise<void> {
  const { id, owner_id, trunk_id, created_at } = call
  const open = await openHold(tx, owner_id, { id, tariff, seconds: HOLD_SECONDS }, created_at)
  if (open === null) throw await shortage(tx, call, tariff)
  const trunk = trunk_id === null || !trunkLimited ? undefined : await selectTrunkRoom(tx, owner_id, trunk_id)
  pass(roomGates(config, open - 1, trunk))
}

/** Why there was no hold. */
async function shortage(
  tx: Tx,
  { owner_id, created_at }: Pick<CallRow, 'owner_id' | 'created_at'>,
  tariff: Tariff,
): Promise<Problem> {
  const row = await selectStanding(tx, owner_id, created_at)
  const covered = row !== undefined && row.available >= costOf(tariff, HOLD_SECONDS)
  return new Problem(covered ? 'daily_limit_reached' : 'insufficient_balance')
}
