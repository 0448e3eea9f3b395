/** Arithmetic with time zones. Instants are epoch milliseconds; boundaries of daily hours are local times. Pure. */
import { Temporal } from 'temporal-polyfill'

/** Hours that repeat every day, from `start` to before `end`, both `HH:MM`. */
export interface DailyHours {
  timezone: string
  start: string
  /** An end before or equal to the start is on the next day. */
  end: string
  /** ISO weekdays on which the hours start; null: every day. */
  days: readonly number[] | null
}

/** A period in which the local time is always within the hours, or never. */
export interface Span {
  open: boolean
  /** Start of the period if it is within the last two days; otherwise null. */
  sinceMs: number | null
  /** Null when the period does not end within `HORIZON_DAYS`. */
  untilMs: number | null
}

/** Two weeks and a day: hours of a single weekday may fall into the hour that summer time skips. */
const HORIZON_DAYS = 15
const LOOK_BACK_DAYS = 2

export const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5))

const zoned = (timezone: string, atMs: number) =>
  Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(timezone)

/** The local time decides, also in an hour that occurs twice. */
export function isOpen(hours: DailyHours, atMs: number): boolean {
  const wall = zoned(hours.timezone, atMs)
  const minute = wall.hour * 60 + wall.minute
  const [start, end] = [minutesOf(hours.start), minutesOf(hours.end)]
  const isDay = (day: number) => hours.days === null || hours.days.includes(day)
  const today = isDay(wall.dayOfWeek)
  if (start < end) return today && minute >= start && minute < end
  const yesterday = isDay(((wall.dayOfWeek + 5) % 7) + 1)
  return (today && minute >= start) || (yesterday && minute < end)
}

/** Returns the distinct UTC offsets of these zones at a time, in minutes. */
export function offsetsAt(timezones: readonly string[], atMs: number): Set<number> {
  return new Set(timezones.map(timezone => zoned(timezone, atMs).offsetNanoseconds / 60e9))
}

/**
 * Instants of a day at which the hours may start or end: twice for a local time that occurs twice, and at clock
 * changes.
 */
function boundaries(hours: DailyHours, day: Temporal.PlainDate): number[] {
  const midnight = day.toZonedDateTime(hours.timezone)
  const next = day.add({ days: 1 }).toZonedDateTime(hours.timezone)
  const even = midnight.offsetNanoseconds === next.offsetNanoseconds
  const instants = [0, minutesOf(hours.start), minutesOf(hours.end)].flatMap(minutes => {
    const wall = day.toPlainDateTime({ hour: Math.floor(minutes / 60), minute: minutes % 60 })
    const at = (disambiguation: 'earlier' | 'later') =>
      wall.toZonedDateTime(hours.timezone, { disambiguation }).epochMilliseconds
    return even ? [at('earlier')] : [at('earlier'), at('later')]
  })
  // Queried only on days with a change of the offset: it takes a millisecond.
  const moved = even ? null : midnight.getTimeZoneTransition('next')
  if (moved) instants.push(moved.epochMilliseconds)
  return [...new Set(instants)].sort((a, b) => a - b)
}

/** Returns the period that contains an instant. */
export function spanAt(hours: DailyHours, atMs: number): Span {
  const open = isOpen(hours, atMs)
  const today = zoned(hours.timezone, atMs).toPlainDate()
  const of = (days: number) => boundaries(hours, today.add({ days }))
  // A change is a boundary at which the hours are open and were not just before, or the reverse.
  const isChange = (ms: number) => isOpen(hours, ms) !== isOpen(hours, ms - 1)
  let untilMs: number | null = null
  for (let days = 0; untilMs === null && days <= HORIZON_DAYS; days++) {
    untilMs = of(days).find(ms => ms > atMs && isOpen(hours, ms) !== open) ?? null
  }
  let sinceMs: number | null = null
  for (let days = 0; sinceMs === null && days >= -LOOK_BACK_DAYS; days--) {
    sinceMs = of(days).findLast(ms => ms <= atMs && isOpen(hours, ms) === open && isChange(ms)) ?? null
  }
  return { open, sinceMs, untilMs }
}

const MOST_KEPT = 2000
/** Cache time in milliseconds of a period without an end in sight. */
const KEPT_MS = 24 * 3600 * 1000
const kept = new Map<string, { fromMs: number; span: Span }>()

/** Like `spanAt`, but cached while the period lasts: it is called for every contact. */
export function cachedSpan(hours: DailyHours, atMs: number): Span {
  const key = `${hours.timezone} ${hours.start} ${hours.end} ${hours.days?.join('') ?? ''}`
  const known = kept.get(key)
  if (known && atMs >= known.fromMs && atMs < (known.span.untilMs ?? known.fromMs + KEPT_MS)) return known.span
  const span = spanAt(hours, atMs)
  if (kept.size >= MOST_KEPT) kept.clear()
  kept.set(key, { fromMs: atMs, span })
  return span
}
