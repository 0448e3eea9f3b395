/**
 * How calls are spread over engines, by what each says of itself in its heartbeats. Pure.
 *
 * Dials are pulled, and nobody can be told to take one: who is fuller than the freest engine leaves a call to it for a
 * moment, and takes it when it is still there. Calls that come in are given out in turn by the SIP server, which knows
 * nothing of places: who has less room than another engine there takes itself out of the turn.
 */
import type { Heartbeat } from '../contract/messages.ts'

/** Calls now, and at once; a capacity of 0 takes none. */
export type Places = Pick<Heartbeat, 'calls' | 'capacity'>

/** So long at most a call waits for an engine that has died a moment ago, and whose heartbeat still lives. */
export const MOST_HESITATION_MS = 200
/** Who is fuller than the freest by so much of its places hesitates so long. */
const MUCH_FULLER = 1 / 2
/** Of its free places, in one reading: what one engine has read the others cannot have. */
const READ_SHARE = 1 / 16

export const hasRoom = ({ calls, capacity }: Places): boolean => calls < capacity
const loadOf = ({ calls, capacity }: Places): number => calls / capacity

/** For how long this engine leaves a call that is to be placed to freer ones, ms. */
export function hesitation(own: Places, others: readonly Places[]): number {
  if (!hasRoom(own)) return MOST_HESITATION_MS
  const freest = Math.min(...others.filter(hasRoom).map(loadOf))
  const fuller = Math.max(0, loadOf(own) - freest)
  return Math.round(MOST_HESITATION_MS * Math.min(1, fuller / MUCH_FULLER))
}

/** How many calls it reads at once: all that it can take where it is alone. */
export function mostAtOnce(own: Places, others: readonly Places[]): number {
  const free = Math.max(0, own.capacity - own.calls)
  return others.some(hasRoom) ? Math.min(free, Math.max(1, Math.floor(free * READ_SHARE))) : free
}

/** Of an engine's places: for calls that the SIP server has sent before it knew better. Never all of them. */
const MARGIN_SHARE = 1 / 20
const marginOf = (capacity: number): number => Math.min(Math.ceil(capacity * MARGIN_SHARE), Math.max(0, capacity - 1))

/** What the others go by. */
export function roomOf({ calls, capacity }: Places): 'none' | 'margin' | 'plenty' {
  const free = capacity - calls
  if (free <= 0) return 'none'
  return free <= marginOf(capacity) ? 'margin' : 'plenty'
}
const RANK = { none: 0, margin: 1, plenty: 2 } as const

/** `signalling`: which SIP server it is at, undefined while that is away; `open`: its door is, and it means to leave it so. */
export type AtServer = Places & Partial<Pick<Heartbeat, 'signalling' | 'open'>>

/**
 * Whether calls that come in shall come here: unless an open engine at the same SIP server has more room. Who is open says
 * that he is about to shut before he asks about the others, and stays when nobody of them is better: so of those who
 * would shut at the same time one at least knows of the rest, and callers are answered in any case.
 */
export function isInTurn(own: AtServer, others: readonly AtServer[]): boolean {
  return own.signalling === undefined || openWith(own, others).every(other => RANK[roomOf(other)] <= RANK[roomOf(own)])
}

/** No engine that is open has a place for a call that comes in now. */
const isMissed = (own: AtServer, others: readonly AtServer[]): boolean =>
  hasRoom(own) && !openWith(own, others).some(hasRoom)

const openWith = (own: AtServer, others: readonly AtServer[]): readonly AtServer[] =>
  others.filter(({ signalling, open }) => open === true && signalling === own.signalling)

/** Whether the SIP server sends calls here; `sinceMs` by any clock that never goes back. */
export interface Door {
  readonly open: boolean
  readonly sinceMs: number
}

/**
 * Not opened sooner by who has few places: having the last one taken and given back all the time it would tell the server
 * each time. Who has more than twice the margin opens at once, and who has any place while the others are full.
 */
export const SHUT_AT_LEAST_MS = 1000
/** What the server has sent by then may still arrive. */
export const ON_THE_WAY_MS = 250

export const DOOR_AT_FIRST: Door = { open: false, sinceMs: Number.NEGATIVE_INFINITY }

/** The same door when nothing is to be done now. */
export function moveDoor(door: Door, open: boolean, nowMs: number, own: AtServer, others: readonly AtServer[]): Door {
  if (open === door.open) return door
  const hasFew = own.capacity - own.calls <= 2 * marginOf(own.capacity)
  const waits = open && hasFew && nowMs - door.sinceMs < SHUT_AT_LEAST_MS && !isMissed(own, others)
  return waits ? door : { open, sinceMs: nowMs }
}

export const isJustShut = ({ open, sinceMs }: Door, nowMs: number): boolean => !open && nowMs - sinceMs < ON_THE_WAY_MS
