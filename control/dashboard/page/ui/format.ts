/** Formats amounts, times and durations in the language of the page. */
import type { Schemas } from '../api/types.ts'
import { spoken } from '../words/words.ts'

/** Shows up to four decimal places, because one second of a call costs less than a kopeck. */
export function money({ amount, currency }: Schemas['Money']): string {
  const options = { style: 'currency', currency, minimumFractionDigits: 2, maximumFractionDigits: 4 } as const
  // Pass the string itself: a number would lose digits beyond the 15th.
  return new Intl.NumberFormat(spoken(), options).format(amount as `${number}`)
}

export function dateTime(iso: string): string {
  return new Intl.DateTimeFormat(spoken(), { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(iso))
}

/** Includes seconds, for logs. */
export function exactTime(iso: string): string {
  return new Intl.DateTimeFormat(spoken(), { dateStyle: 'short', timeStyle: 'medium' }).format(new Date(iso))
}

export const number = (value: number) => new Intl.NumberFormat(spoken()).format(value)

/** Formats seconds as `1:05` or `1:02:05`. */
export function duration(seconds: number): string {
  const whole = Math.floor(seconds)
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
  const two = (part: number) => String(part).padStart(2, '0')
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`
}

/** Formats milliseconds as `340 ms` or `1.2 s`. */
export function milliseconds(ms: number): string {
  const [value, unit] = ms < 1000 ? [Math.round(ms), 'millisecond'] : [ms / 1000, 'second']
  return new Intl.NumberFormat(spoken(), { style: 'unit', unit, maximumFractionDigits: 1 }).format(value)
}
