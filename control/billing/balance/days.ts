/** Days as the calendar on the wall has them. Dates are `YYYY-MM-DD`. Pure. */
import { Temporal } from 'temporal-polyfill'

export interface Days {
  /** Both ends included. */
  dates: string[]
  /** Where each of them begins, and where the last one ends: one more than there are dates. */
  bounds: Date[]
}

const { PlainDate } = Temporal

export const today = (timezone: string, atMs: number): string =>
  Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(timezone).toPlainDate().toString()

/** The first of so many days of which this is the last. */
export const daysUpTo = (date: string, count: number): string =>
  PlainDate.from(date)
    .subtract({ days: count - 1 })
    .toString()

/** The last of so many days of which this is the first. */
export const daysFrom = (date: string, count: number): string =>
  PlainDate.from(date)
    .add({ days: count - 1 })
    .toString()

/** One where both are the same; none or less where `to` comes first. */
export const countDays = (from: string, to: string): number => PlainDate.from(from).until(PlainDate.from(to)).days + 1

/** A day may have 23 or 25 hours, and may begin at one o'clock. */
export function daysBetween(from: string, to: string, timezone: string): Days {
  const first = PlainDate.from(from)
  const days = Array.from({ length: countDays(from, to) + 1 }, (_, index) => first.add({ days: index }))
  const bounds = days.map(day => new Date(day.toZonedDateTime(timezone).epochMilliseconds))
  return { dates: days.slice(0, -1).map(String), bounds }
}
