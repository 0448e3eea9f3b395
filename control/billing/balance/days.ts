/** Calendar days of a time zone. Dates are `YYYY-MM-DD`. Pure functions. */
import { Temporal } from 'temporal-polyfill'

export interface Days {
  /** Both ends included. */
  dates: string[]
  /** The start of each date and the end of the last one: one more than `dates`. */
  bounds: Date[]
}

const { PlainDate } = Temporal

export const today = (timezone: string, atMs: number): string =>
  Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(timezone).toPlainDate().toString()

/** Returns the first of `count` days that end with `date`. */
export const daysUpTo = (date: string, count: number): string =>
  PlainDate.from(date)
    .subtract({ days: count - 1 })
    .toString()

/** Returns the last of `count` days that start with `date`. */
export const daysFrom = (date: string, count: number): string =>
  PlainDate.from(date)
    .add({ days: count - 1 })
    .toString()

/** Counts both ends: 1 when they are equal, 0 or less when `to` comes first. */
export const countDays = (from: string, to: string): number => PlainDate.from(from).until(PlainDate.from(to)).days + 1

/** A day may have 23 or 25 hours, and may begin at 01:00. */
export function daysBetween(from: string, to: string, timezone: string): Days {
  const first = PlainDate.from(from)
  const days = Array.from({ length: countDays(from, to) + 1 }, (_, index) => first.add({ days: index }))
  const bounds = days.map(day => new Date(day.toZonedDateTime(timezone).epochMilliseconds))
  return { dates: days.slice(0, -1).map(String), bounds }
}
