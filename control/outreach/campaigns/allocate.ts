/** Decides how many contacts of each campaign are dialled now: shares what is left of every limit fairly. Pure. */

export interface Demand {
  id: string
  ownerId: string
  /** Contacts that could be dialled, as far as is known. */
  wanted: number
  /** Free call slots of the campaign, from `freeSlots`. */
  slots: number
  /** Trunks that the campaign may use; each call takes one of them. */
  trunks: readonly string[]
}

/** Number of calls that may start now. A trunk that is not listed has no limit. */
export interface Capacity {
  /** Limit of the whole installation. */
  calls: number
  owners: ReadonlyMap<string, number>
  trunks: ReadonlyMap<string, number>
}

/**
 * Virtual times of start-time fair queueing (Goyal, Vin, Cheng 1996): how much an owner, and each of its campaigns, has
 * had. The one with the least is next. One that was absent starts where the others are, so that nobody saves up a
 * burst.
 */
export type Served = ReadonlyMap<string, number>

export interface Allocation {
  grants: Map<string, number>
  served: Served
}

interface Queue {
  id: string
  time: number
}

/** Starts unknown and absent queues at the least time of those that were present. */
function enter(ids: Iterable<string>, served: Served): Map<string, Queue> {
  const all = [...new Set(ids)]
  const known = all.map(id => served.get(id)).filter(time => time !== undefined)
  const floor = known.length > 0 ? Math.min(...known) : 0
  return new Map(all.map(id => [id, { id, time: Math.max(served.get(id) ?? floor, floor) }]))
}

export function allocate(demands: readonly Demand[], capacity: Capacity, served: Served): Allocation {
  const owners = enter(
    demands.map(one => one.ownerId),
    served,
  )
  const campaigns = enter(
    demands.map(one => one.id),
    served,
  )
  const grants = new Map<string, number>()
  const left = { calls: capacity.calls, owners: new Map(capacity.owners), trunks: new Map(capacity.trunks) }
  const byOwner = Map.groupBy(demands, one => one.ownerId)

  const trunkFor = ({ trunks }: Demand) => {
    const rooms = trunks.map(id => [id, left.trunks.get(id) ?? Infinity] as const).filter(([, calls]) => calls > 0)
    return rooms.reduce<(typeof rooms)[number] | null>((most, one) => (most && most[1] >= one[1] ? most : one), null)
  }
  const canTake = (one: Demand) => (grants.get(one.id) ?? 0) < Math.min(one.wanted, one.slots) && trunkFor(one) !== null
  const next = (queues: Iterable<Queue>) => {
    let first: Queue | null = null
    for (const one of queues) if (first === null || one.time < first.time) first = one
    return first
  }

  const waiting = new Map([...owners].filter(([id]) => (left.owners.get(id) ?? Infinity) > 0))
  while (left.calls > 0) {
    const owner = next(waiting.values())
    if (owner === null) break
    const able = byOwner.get(owner.id)!.filter(canTake)
    const campaign = next(able.map(one => campaigns.get(one.id)!))
    const ownerLeft = left.owners.get(owner.id) ?? Infinity
    if (campaign === null || ownerLeft <= 0) {
      waiting.delete(owner.id)
      continue
    }
    const trunk = trunkFor(able.find(one => one.id === campaign.id)!)!
    left.trunks.set(trunk[0], trunk[1] - 1)
    left.owners.set(owner.id, ownerLeft - 1)
    left.calls--
    owner.time++
    campaign.time++
    grants.set(campaign.id, (grants.get(campaign.id) ?? 0) + 1)
  }
  return { grants, served: leave(owners, campaigns) }
}

/** Only differences count, so the numbers are kept small. Ids of owners and campaigns are distinct. */
function leave(...groups: Map<string, Queue>[]): Served {
  const served = new Map<string, number>()
  for (const queues of groups) {
    const least = Math.min(...[...queues.values()].map(one => one.time))
    for (const { id, time } of queues.values()) served.set(id, time - least)
  }
  return served
}

/** Milliseconds over which the slots of a campaign open evenly, so that its calls do not all start at once. */
export const RAMP_MS = 5000

/** Slots that a campaign may fill `openMs` after it was allowed to dial. The first opens at once. */
export function freeSlots(concurrency: number, live: number, openMs: number): number {
  const opened = Math.min(concurrency, Math.ceil((concurrency * (openMs + 1)) / RAMP_MS))
  return Math.max(0, opened - live)
}

/** Milliseconds ahead for which a trunk's rate tokens are given out; a round may be late by as much. */
const AHEAD_MS = 1000
/**
 * Rate tokens for less than this many milliseconds wait for a later round: a claim costs nearly the same for one call
 * as for ten.
 */
const WORTH_MS = 250

/**
 * Number of calls that may be queued on a trunk now. Its next rate token is available in `aheadMs`, and tokens are
 * `rateTokenMs` apart.
 */
export function dueTokens(aheadMs: number, rateTokenMs: number): number {
  const ms = AHEAD_MS - Math.max(0, aheadMs)
  return ms < WORTH_MS ? 0 : Math.max(1, Math.floor(ms / rateTokenMs))
}
