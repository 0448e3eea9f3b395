/** Stops an account that suddenly calls new countries or spends many times its usual hour, and resumes it. */
import type { Tx } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { Problem } from '../../platform/http/problem.ts'
import { enqueue, withJobs } from '../../platform/jobs/jobs.ts'
import { callingPrefix, regionOf } from '../../platform/phone.ts'
import { fromUnits, toUnits } from '../money.ts'
import { type Stop, step, type WatchState } from './machine.ts'
import {
  insertCountries,
  type SpenderRow,
  type StopDetail,
  selectCountriesSince,
  selectKnownCountries,
  selectSpenders,
  selectSpentHours,
  selectSpentSince,
  selectWatch,
  updateResumed,
  updateStopped,
  type WatchRow,
} from './sql.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Days whose hours make the usual one. */
const USUAL_DAYS = 28
/** Price of this many minutes is never unusual. */
const LEAST_MINUTES = 60n

/** Thrown in the transaction of a call, which is rolled back. `unlessUnusual` stops the account afterwards. */
export class Unusual extends Error {
  readonly stop: Stop

  constructor(stop: Stop) {
    super('unusual activity')
    this.stop = stop
  }
}

const stateOf = (row: WatchRow): WatchState => ({
  enabled: row.stop_unusual_activity,
  stop:
    row.stopped_at === null || row.stop_reason === null
      ? null
      : { reason: 'new_countries', countries: [], atMs: row.stopped_at.getTime() },
  resumedAtMs: row.resumed_at?.getTime() ?? null,
})

/** A number without a country counts by its first digits. */
const countryOf = (phone: string): { country: string; prefix: string } => {
  const country = regionOf(phone)
  const prefix = callingPrefix(phone)
  return { country: country ?? prefix, prefix }
}

/**
 * Notes the countries of calls that are about to be placed. Call it under the lock of the owner's balance, so that calls
 * side by side are counted one after the other. Throws `Unusual`.
 */
export async function noteCountries(tx: Tx, ownerId: string, phones: readonly string[], at: Date): Promise<void> {
  const called = new Map(phones.map(countryOf).map(one => [one.country, one]))
  const known = new Set(await selectKnownCountries(tx, ownerId, [...called.keys()]))
  const fresh = [...called.values()].filter(({ country }) => !known.has(country))
  if (fresh.length === 0) return
  await insertCountries(tx, ownerId, fresh, at)
  const since = await selectCountriesSince(tx, ownerId, new Date(at.getTime() - DAY_MS))
  const calledSince = since.map(({ country, first_at }) => ({ country, atMs: first_at.getTime() }))
  const { stop } = step(stateOf(await selectWatch(tx, ownerId)), { type: 'call', calledSince, nowMs: at.getTime() })
  if (stop !== null) throw new Unusual(stop)
}

/** Runs the work that places calls. When it is unusual, nothing of it stays, and the account is stopped. */
export async function unlessUnusual<T>(deps: Pick<Deps, 'sql' | 'boss'>, ownerId: string, work: () => Promise<T>) {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Unusual)) throw error
    await stopAccount(deps, ownerId, error.stop)
    throw stoppedProblem()
  }
}

export const stoppedProblem = () => new Problem('calls_stopped')

const detailOf = (stop: Stop): StopDetail =>
  stop.reason === 'new_countries'
    ? { countries: [...stop.countries], spent: null, usual: null }
    : { countries: null, spent: fromUnits(stop.spent), usual: fromUnits(stop.usual) }

/** Once: of several reasons at the same time, the first one counts and is told. */
export async function stopAccount(deps: Pick<Deps, 'sql' | 'boss'>, ownerId: string, stop: Stop): Promise<void> {
  const { reason, atMs } = stop
  const detail = detailOf(stop)
  await withJobs(deps, async tx => {
    if (!(await updateStopped(tx, ownerId, { at: new Date(atMs), reason, detail }))) return
    await enqueue(deps, tx, 'account.stopped', {
      owner_id: ownerId,
      at: new Date(atMs).toISOString(),
      reason,
      ...detail,
    })
  })
}

/** From then on, earlier activity is no reason to stop again. */
export const resumeAccount = (deps: Pick<Deps, 'sql' | 'clock'>, ownerId: string): Promise<void> =>
  updateResumed(deps.sql, ownerId, wallDate(deps))

/** Compares what owners spend now with their usual hour. */
export async function watchSpending(deps: Pick<Deps, 'sql' | 'boss' | 'clock' | 'config'>): Promise<void> {
  for (const row of await selectSpenders(deps.sql)) await watchSpender(deps, row)
}

async function watchSpender(
  deps: Pick<Deps, 'sql' | 'boss' | 'clock' | 'config'>,
  { owner_id, held, minute_price, resumed_at }: SpenderRow,
): Promise<void> {
  const { sql, config } = deps
  const nowMs = deps.clock.wall()
  const hourAgo = new Date(nowMs - HOUR_MS)
  const least = LEAST_MINUTES * (minute_price ?? toUnits(config.minute_price))
  const spent = held + (await selectSpentSince(sql, owner_id, later(hourAgo, resumed_at)))
  // The usual hour is read only for those who spend much.
  if (spent <= least) return
  const earlier = await selectSpentHours(sql, owner_id, new Date(nowMs - USUAL_DAYS * DAY_MS), hourAgo)
  const { stop } = step(stateOf(await selectWatch(sql, owner_id)), { type: 'hour', spent, earlier, least, nowMs })
  if (stop !== null) await stopAccount(deps, owner_id, stop)
}

const later = (one: Date, other: Date | null) => (other !== null && other > one ? other : one)
