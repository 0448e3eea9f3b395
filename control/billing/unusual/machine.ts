/**
 * Decides when an account is stopped for unusual activity. Pure: time and figures are arguments. A stopped account stays
 * stopped until a person resumes it, whatever happens meanwhile.
 */

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Countries that an account may call for the first time within an hour, and within a day. One more stops it. */
const NEW_COUNTRIES_AN_HOUR = 5
const NEW_COUNTRIES_A_DAY = 10
/** An hour may cost so many times the usual one. */
const TIMES_USUAL = 10n
/** Hours with spending, and days they lie on, before an account has a usual hour. */
const KNOWN_HOURS = 24
const KNOWN_DAYS = 3

export const stopReasons = ['new_countries', 'spending'] as const
export type StopReason = (typeof stopReasons)[number]

export type Stop =
  | { reason: 'new_countries'; countries: readonly string[]; atMs: number }
  /** Units in the last hour, and in the usual hour. */
  | { reason: 'spending'; spent: bigint; usual: bigint; atMs: number }

export interface WatchState {
  /** False: the owner has switched the stop off. */
  enabled: boolean
  stop: Stop | null
  /** Null: never resumed. */
  resumedAtMs: number | null
}

export interface SpentHour {
  /** Start of the hour. */
  atMs: number
  /** Units. */
  spent: bigint
}

export type WatchInput =
  /** A call is about to be placed; `calledSince` has the countries of the account with their first call. */
  | { type: 'call'; calledSince: readonly { country: string; atMs: number }[]; nowMs: number }
  /** `spent`: units of the last hour, with what is held; `least`: units below which an hour never stops an account. */
  | { type: 'hour'; spent: bigint; earlier: readonly SpentHour[]; least: bigint; nowMs: number }
  | { type: 'resume'; nowMs: number }
  | { type: 'switch'; on: boolean }

/** Returns the same state when nothing changes. */
export function step(state: WatchState, input: WatchInput): WatchState {
  switch (input.type) {
    case 'call':
      return stopped(state, newCountries(state, input))
    case 'hour':
      return stopped(state, spending(input))
    case 'resume':
      return state.stop === null ? state : { ...state, stop: null, resumedAtMs: input.nowMs }
    case 'switch':
      // Switching off does not resume: that is an act of its own.
      return state.enabled === input.on ? state : { ...state, enabled: input.on }
  }
}

function stopped(state: WatchState, stop: Stop | null): WatchState {
  if (!state.enabled || state.stop !== null || stop === null) return state
  return { ...state, stop }
}

function newCountries(
  { resumedAtMs }: WatchState,
  { calledSince, nowMs }: Extract<WatchInput, { type: 'call' }>,
): Stop | null {
  const since = (ms: number) =>
    calledSince.filter(({ atMs }) => atMs > nowMs - ms && (resumedAtMs === null || atMs > resumedAtMs))
  const [hour, day] = [since(HOUR_MS), since(DAY_MS)]
  if (hour.length <= NEW_COUNTRIES_AN_HOUR && day.length <= NEW_COUNTRIES_A_DAY) return null
  const seen = hour.length > NEW_COUNTRIES_AN_HOUR ? hour : day
  return { reason: 'new_countries', countries: seen.map(({ country }) => country).sort(), atMs: nowMs }
}

function spending({ spent, earlier, least, nowMs }: Extract<WatchInput, { type: 'hour' }>): Stop | null {
  const usual = usualHour(earlier)
  if (usual === null || spent <= least || spent <= usual * TIMES_USUAL) return null
  return { reason: 'spending', spent, usual, atMs: nowMs }
}

/** Mean of the hours in which something was spent; null while there are too few of them. */
export function usualHour(earlier: readonly SpentHour[]): bigint | null {
  const active = earlier.filter(({ spent }) => spent > 0n)
  const days = new Set(active.map(({ atMs }) => Math.floor(atMs / DAY_MS)))
  if (active.length < KNOWN_HOURS || days.size < KNOWN_DAYS) return null
  return active.reduce((sum, { spent }) => sum + spent, 0n) / BigInt(active.length)
}
