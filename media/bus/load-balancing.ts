/**
 * Spreads calls over engines by the load in their heartbeats. Pure.
 *
 * Outbound calls are pulled, and no engine can be told to take one: an engine with more load than the least loaded one
 * waits a moment before it claims a call. Inbound calls are distributed round-robin by the SIP server, which knows
 * nothing of capacity: an engine with less free capacity than another one at that server drains itself.
 */
import type { Heartbeat } from '../contract/messages.ts'

/** Current calls and the maximum of concurrent calls; a capacity of 0 accepts none. */
export type EngineLoad = Pick<Heartbeat, 'calls' | 'capacity'>

/** Longest wait in ms, as after the death of an engine whose heartbeat has not expired yet. */
export const MOST_HESITATION_MS = 200
/** Difference in load, as a share of capacity, at which an engine waits the longest time. */
const MUCH_FULLER = 1 / 2
/** Share of its free capacity that an engine claims in one read: other engines cannot have what it has read. */
const READ_SHARE = 1 / 16

export const hasCapacity = ({ calls, capacity }: EngineLoad): boolean => calls < capacity
const loadOf = ({ calls, capacity }: EngineLoad): number => calls / capacity

/** Milliseconds for which this engine leaves an outbound call to engines with lower load. */
export function hesitation(own: EngineLoad, others: readonly EngineLoad[]): number {
  if (!hasCapacity(own)) return MOST_HESITATION_MS
  const freest = Math.min(...others.filter(hasCapacity).map(loadOf))
  const fuller = Math.max(0, loadOf(own) - freest)
  return Math.round(MOST_HESITATION_MS * Math.min(1, fuller / MUCH_FULLER))
}

/** Number of calls to read at once: the whole free capacity when no other engine has any. */
export function mostAtOnce(own: EngineLoad, others: readonly EngineLoad[]): number {
  const free = Math.max(0, own.capacity - own.calls)
  return others.some(hasCapacity) ? Math.min(free, Math.max(1, Math.floor(free * READ_SHARE))) : free
}

/** Share of capacity reserved for calls that the SIP server sent before it learnt of the draining. Never all of it. */
const MARGIN_SHARE = 1 / 20
const marginOf = (capacity: number): number => Math.min(Math.ceil(capacity * MARGIN_SHARE), Math.max(0, capacity - 1))

/** Level of free capacity, which the other engines compare. */
export function loadLevel({ calls, capacity }: EngineLoad): 'none' | 'margin' | 'plenty' {
  const free = capacity - calls
  if (free <= 0) return 'none'
  return free <= marginOf(capacity) ? 'margin' : 'plenty'
}
const RANK = { none: 0, margin: 1, plenty: 2 } as const

/**
 * `signalling`: the engine's SIP server, undefined while unreachable; `accepting`: it accepts inbound calls and will
 * continue to.
 */
export type ServerLoad = EngineLoad & Partial<Pick<Heartbeat, 'signalling' | 'accepting'>>

/**
 * Returns true when this engine should accept inbound calls: unless an accepting engine at the same SIP server has more capacity.
 * An accepting engine announces that it will drain before it reads the others' state, and continues when none of them
 * is better. So of engines that would drain at the same time at least one knows of the rest, and callers are always
 * answered.
 */
export function shouldAccept(own: ServerLoad, others: readonly ServerLoad[]): boolean {
  return (
    own.signalling === undefined ||
    acceptingWith(own, others).every(other => RANK[loadLevel(other)] <= RANK[loadLevel(own)])
  )
}

/** True when this engine has capacity and no other accepting engine does. */
const isMissed = (own: ServerLoad, others: readonly ServerLoad[]): boolean =>
  hasCapacity(own) && !acceptingWith(own, others).some(hasCapacity)

const acceptingWith = (own: ServerLoad, others: readonly ServerLoad[]): readonly ServerLoad[] =>
  others.filter(({ signalling, accepting }) => accepting === true && signalling === own.signalling)

/** `accepting`: the SIP server sends calls to this engine; `sinceMs` is a time of any monotonic clock. */
export interface AcceptingState {
  accepting: boolean
  sinceMs: number
}

/**
 * Minimum time in ms for which an engine with little free capacity drains: one whose last slot is taken and released
 * all the time would otherwise notify the server each time. An engine with more than twice the margin accepts again at
 * once, and so does one with any capacity while the others are full.
 */
export const MIN_DRAINING_MS = 1000
/** Milliseconds after draining starts in which calls that the server sent before may still arrive. */
export const IN_TRANSIT_MS = 250

export const INITIALLY_DRAINING: AcceptingState = { accepting: false, sinceMs: Number.NEGATIVE_INFINITY }

/** Returns the same object when nothing changes. */
export function nextAcceptingState(
  current: AcceptingState,
  accepting: boolean,
  nowMs: number,
  own: ServerLoad,
  others: readonly ServerLoad[],
): AcceptingState {
  if (accepting === current.accepting) return current
  const hasFew = own.capacity - own.calls <= 2 * marginOf(own.capacity)
  const waits = accepting && hasFew && nowMs - current.sinceMs < MIN_DRAINING_MS && !isMissed(own, others)
  return waits ? current : { accepting, sinceMs: nowMs }
}

export const isJustDraining = ({ accepting, sinceMs }: AcceptingState, nowMs: number): boolean =>
  !accepting && nowMs - sinceMs < IN_TRANSIT_MS
