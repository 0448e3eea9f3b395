/** Parses days and times of day in spoken English and Russian. Pure; "today" is an argument. */
import { findNumbers, type NumberSpan, numberAt } from './numbers.ts'

export interface Found<T> {
  value: T
  start: number
  end: number
}

const WEEKDAYS: readonly RegExp[] = [
  /^(?:sunday|воскресень[ея])$/,
  /^(?:monday|понедельник)$/,
  /^(?:tuesday|вторник)$/,
  /^(?:wednesday|сред[ау])$/,
  /^(?:thursday|четверг)$/,
  /^(?:friday|пятниц[ау])$/,
  /^(?:saturday|суббот[ау])$/,
]
const MONTHS: readonly RegExp[] = [
  /^(?:january|января)$/,
  /^(?:february|февраля)$/,
  /^(?:march|марта)$/,
  /^(?:april|апреля)$/,
  /^(?:may|мая)$/,
  /^(?:june|июня)$/,
  /^(?:july|июля)$/,
  /^(?:august|августа)$/,
  /^(?:september|сентября)$/,
  /^(?:october|октября)$/,
  /^(?:november|ноября)$/,
  /^(?:december|декабря)$/,
]
const DAY_MS = 24 * 3600 * 1000
const MORNING = /^(?:am|morning|утра|ночи)$/
const EVENING = /^(?:pm|evening|afternoon|tonight|night|вечера|дня)$/

const iso = (date: Date) => date.toISOString().slice(0, 10)
const plusDays = (today: Date, days: number) => iso(new Date(today.getTime() + days * DAY_MS))
const indexOf = (table: readonly RegExp[], token: string | undefined) =>
  token === undefined ? -1 : table.findIndex(pattern => pattern.test(token.replace(/'s$/, '')))

/** Returns the first day that is named, as `YYYY-MM-DD`. */
export function findDate(tokens: readonly string[], today: Date): Found<string> | null {
  for (let i = 0; i < tokens.length; i++) {
    const found = relativeDay(tokens, i, today) ?? weekday(tokens, i, today) ?? calendarDay(tokens, i, today)
    if (found) return found
  }
  return null
}

function relativeDay(tokens: readonly string[], i: number, today: Date): Found<string> | null {
  const phrase = tokens.slice(i, i + 4).join(' ')
  if (/^(?:the )?day after to-?morrow/.test(phrase)) {
    return { value: plusDays(today, 2), start: i, end: i + (phrase.startsWith('the') ? 4 : 3) }
  }
  const days: Record<string, number> = {
    today: 0,
    tonight: 0,
    tomorrow: 1,
    'to-morrow': 1,
    сегодня: 0,
    завтра: 1,
    послезавтра: 2,
  }
  const offset = days[tokens[i]!]
  return offset === undefined ? null : { value: plusDays(today, offset), start: i, end: i + 1 }
}

function weekday(tokens: readonly string[], i: number, today: Date): Found<string> | null {
  const day = indexOf(WEEKDAYS, tokens[i])
  if (day < 0) return null
  // The next such day, never today: somebody who means today says "today".
  return { value: plusDays(today, (day - today.getUTCDay() + 7) % 7 || 7), start: i, end: i + 1 }
}

function calendarDay(tokens: readonly string[], i: number, today: Date): Found<string> | null {
  const exact = /^(\d{4})-(\d{2})-(\d{2})$/.exec(tokens[i]!)
  if (exact) return { value: exact[0], start: i, end: i + 1 }
  const monthFirst = indexOf(MONTHS, tokens[i])
  if (monthFirst >= 0) {
    const day = numberAt(tokens, tokens[i + 1] === 'the' ? i + 2 : i + 1)
    return day ? onCalendar(day.value, monthFirst, today, i, day.end) : null
  }
  const day = numberAt(tokens, i)
  if (!day) return null
  const month = indexOf(MONTHS, tokens[day.end] === 'of' ? tokens[day.end + 1] : tokens[day.end])
  return month < 0 ? null : onCalendar(day.value, month, today, i, day.end + (tokens[day.end] === 'of' ? 2 : 1))
}

function onCalendar(day: number, month: number, today: Date, start: number, end: number): Found<string> | null {
  const thisYear = new Date(Date.UTC(today.getUTCFullYear(), month, day))
  if (thisYear.getUTCMonth() !== month || !Number.isInteger(day)) return null
  const passed = iso(thisYear) < iso(today)
  return { value: iso(passed ? new Date(Date.UTC(today.getUTCFullYear() + 1, month, day)) : thisYear), start, end }
}

/**
 * Returns the first time of day that is named, as `HH:MM`. `bare`: a lone number counts, too, because a time was asked
 * for.
 */
export function findTime(tokens: readonly string[], bare: boolean): Found<string> | null {
  for (let i = 0; i < tokens.length; i++) {
    const found = named(tokens, i) ?? clock(tokens, i) ?? past(tokens, i)
    if (found) return found
  }
  for (const number of findNumbers(tokens)) {
    const found = spoken(tokens, number, bare)
    if (found) return found
  }
  return null
}

function named(tokens: readonly string[], i: number): Found<string> | null {
  const value = /^(?:noon|midday|полдень)$/.test(tokens[i]!)
    ? '12:00'
    : /^(?:midnight|полночь)$/.test(tokens[i]!)
      ? '00:00'
      : null
  return value && { value, start: i, end: i + 1 }
}

function clock(tokens: readonly string[], i: number): Found<string> | null {
  const match = /^(\d{1,2})[:.](\d{2})$/.exec(tokens[i]!)
  return match ? at(Number(match[1]), Number(match[2]), tokens, i, i + 1) : null
}

/** Parses "half past seven" and "quarter to eight". */
function past(tokens: readonly string[], i: number): Found<string> | null {
  const minutes: Record<string, number> = { half: 30, quarter: 15 }
  const part = minutes[tokens[i]!] ?? numberAt(tokens, i)?.value
  const joint = numberAt(tokens, i) && !(tokens[i]! in minutes) ? numberAt(tokens, i)!.end : i + 1
  const direction = tokens[joint]
  if (part === undefined || (direction !== 'past' && direction !== 'to')) return null
  const hour = numberAt(tokens, joint + 1)
  if (!hour || hour.value > 12 || part > 59) return null
  return direction === 'past'
    ? at(hour.value, part, tokens, i, hour.end)
    : at((hour.value + 11) % 12 || 12, 60 - part, tokens, i, hour.end)
}

const PREPOSITIONS = new Set(['at', 'by', 'around', 'about', 'в', 'к', 'на'])
const NOT_A_TIME = /^(?:people|person|persons|guests?|of|days?|nights?|человек|гост|штук)/

function spoken(tokens: readonly string[], number: NumberSpan, bare: boolean): Found<string> | null {
  const { value: hour, start, end } = number
  if (!Number.isInteger(hour) || hour > 24) return null
  const oClock = /^(?:o'clock|o’clock|oclock|час(?:ов|а)?)$/.test(tokens[end] ?? '')
  const after = oClock ? end + 1 : end
  const half = halfOf(tokens, after)
  const told = oClock || half !== 0 || PREPOSITIONS.has(tokens[start - 1] ?? '')
  if ((!told && !bare) || NOT_A_TIME.test(tokens[end] ?? '')) return null
  const minutes = half === 0 && !oClock ? numberAt(tokens, end) : null
  if (minutes && minutes.value < 60) return at(hour, minutes.value, tokens, start, minutes.end)
  return at(hour, 0, tokens, start, after)
}

/** Returns 1 for before noon, 2 for after, 0 if not stated: "in the evening", "pm". */
function halfOf(tokens: readonly string[], i: number): 0 | 1 | 2 {
  const rest = tokens.slice(i, i + 3).filter(token => token !== 'in' && token !== 'the' && token !== 'at')
  if (MORNING.test(rest[0] ?? '')) return 1
  return EVENING.test(rest[0] ?? '') ? 2 : 0
}

function at(hour: number, minute: number, tokens: readonly string[], start: number, end: number): Found<string> | null {
  if (hour > 24 || minute > 59) return null
  let last = end
  const half = halfOf(tokens, end)
  if (half !== 0) while (last < tokens.length && !MORNING.test(tokens[last]!) && !EVENING.test(tokens[last]!)) last++
  if (half !== 0) last++
  const evening = half === 2 || (half === 0 && tokens.some(token => EVENING.test(token)))
  let h = hour % 24
  if (evening && h < 12) h += 12
  if (half === 1 && h === 12) h = 0
  return { value: `${String(h).padStart(2, '0')}:${String(minute).padStart(2, '0')}`, start, end: last }
}
