/** All arithmetic with time zones. Instants are epoch milliseconds; a boundary of daily hours is a time on the wall. Pure. */
import { Temporal } from 'temporal-polyfill'

/** Hours of a day that come again each day; from `start` to before `end`, both `HH:MM`. */
export interface DailyHours {
  timezone: string
  start: string
  /** Before the start, or the same: of the next day. */
  end: string
  /** ISO weekdays that they begin on; null: every day. */
  days: readonly number[] | null
}

/** A stretch in which a clock on the wall is within the hours all the time, or never. */
export interface Span {
  open: boolean
  /** Where it begins, if that is within the last two days; else null. */
  sinceMs: number | null
  /** Null: it does not end within `HORIZON_DAYS`. */
  untilMs: number | null
}

/** Two weeks, and a day: hours of one weekday alone may fall into the hour that summer time leaves out. */
const HORIZON_DAYS = 15
const LOOK_BACK_DAYS = 2

export const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5))

const zoned = (timezone: string, atMs: number) =>
  Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(timezone)

/** What the clock on the wall says decides, also in an hour that comes twice. */
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

/** Offsets of these zones from UTC at a time, in minutes, each once. */
export function offsetsAt(timezones: readonly string[], atMs: number): Set<number> {
  return new Set(timezones.map(timezone => zoned(timezone, atMs).offsetNanoseconds / 60e9))
}

/** Instants of a day at which the hours may begin or end: twice for a time that comes twice, and where the clock is moved. */
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
  // Asked for only where there is one: it takes a millisecond to find.
  const moved = even ? null : midnight.getTimeZoneTransition('next')
  if (moved) instants.push(moved.epochMilliseconds)
  return [...new Set(instants)].sort((a, b) => a - b)
}

/** The stretch that an instant is in. */
export function spanAt(hours: DailyHours, atMs: number): Span {
  const open = isOpen(hours, atMs)
  const today = zoned(hours.timezone, atMs).toPlainDate()
  const of = (days: number) => boundaries(hours, today.add({ days }))
  // A change is where the hours are open at one boundary and were not just before it.
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
/** Of a stretch without an end in sight. */
const KEPT_MS = 24 * 3600 * 1000
const kept = new Map<string, { fromMs: number; span: Span }>()

/** The same, remembered as long as it holds: it is asked for every contact. */
export function cachedSpan(hours: DailyHours, atMs: number): Span {
  const key = `${hours.timezone} ${hours.start} ${hours.end} ${hours.days?.join('') ?? ''}`
  const known = kept.get(key)
  if (known && atMs >= known.fromMs && atMs < (known.span.untilMs ?? known.fromMs + KEPT_MS)) return known.span
  const span = spanAt(hours, atMs)
  if (kept.size >= MOST_KEPT) kept.clear()
  kept.set(key, { fromMs: atMs, span })
  return span
}
