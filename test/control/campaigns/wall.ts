/** Local time in a time zone by ICU, which shares no code with the product's own arithmetic. */
import type { DailyHours } from '../../../control/outreach/campaigns/zone.ts'

const formats = new Map<string, Intl.DateTimeFormat>()
const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']

export function wallOf(timezone: string, atMs: number): { minute: number; day: number } {
  let format = formats.get(timezone)
  if (!format) {
    const options = {
      timeZone: timezone,
      hourCycle: 'h23',
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
    } as const
    format = new Intl.DateTimeFormat('en-US', options)
    formats.set(timezone, format)
  }
  const parts = Object.fromEntries(format.formatToParts(atMs).map(({ type, value }) => [type, value]))
  return { minute: Number(parts['hour']) * 60 + Number(parts['minute']), day: WEEKDAYS.indexOf(parts['weekday']!) + 1 }
}

/** Minute by minute: the window as it is promised. */
export function wallOpen({ timezone, start, end, days }: DailyHours, atMs: number): boolean {
  const { minute, day } = wallOf(timezone, atMs)
  const of = (text: string) => Number(text.split(':')[0]) * 60 + Number(text.split(':')[1])
  const on = (weekday: number) => days === null || days.includes(weekday)
  if (of(start) < of(end)) return on(day) && minute >= of(start) && minute < of(end)
  return minute >= of(start) ? on(day) : minute < of(end) && on(day === 1 ? 7 : day - 1)
}

export const ZONES = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Tehran', 'UTC']
/** Clocks are moved near these days, in one zone or another; Tehran did so until 2022. */
export const MOVES = [
  '2021-03-21',
  '2021-09-21',
  '2026-03-08',
  '2026-03-29',
  '2026-04-04',
  '2026-10-03',
  '2026-10-25',
  '2026-11-01',
].map(day => Date.parse(`${day}T00:00:00Z`))
