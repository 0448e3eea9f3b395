/**
 * Parses opening hours as people write them (Russian, English, German), and the common part of the formats of
 * OpenStreetMap and schema.org. Pure; one pass over a line.
 */

/** Minutes from midnight; an end above 1440 is on the next day. */
export type Range = readonly [from: number, to: number]
/** Seven days from Monday; null: unknown; empty: closed. */
export type Week = (Range[] | null)[]

export const ALL_DAY: Range = [0, 1440]
const DAY_MINUTES = 1440
const LONGEST_LINE = 600

const WEEKDAYS = [0, 1, 2, 3, 4]
const WEEKEND = [5, 6]
const ALL = [...WEEKDAYS, ...WEEKEND]

/** Weekdays by their first letters; two Latin letters only as in OpenStreetMap and German. */
const DAY_NAMES: readonly RegExp[] = [
  /^(?:пн|пон|mo|montag)/i,
  /^(?:вт|tu|di)/i,
  /^(?:ср|we|mi)/i,
  /^(?:чт|чет|th|do)/i,
  /^(?:пт|пят|fr)/i,
  /^(?:сб|суб|sa)/i,
  /^(?:вс|вос|su|so)/i,
]
const DAY =
  '(?:пн|вт|ср|чт|пт|сб|вс|понедельник|вторник|сред|четверг|пятниц|суббот|воскресен)(?:[аеиоуыьюя]\\p{L}{0,3})?\\.?|(?:mon|tue|wed|thu|fri|sat|sun)(?:s|rs|r|nes|ur)?(?:day)?s?\\.?|(?:Mo|Tu|We|Th|Fr|Sa|Su|Di|Mi|Do|So|MO|TU|WE|TH|FR|SA|SU)'
const HOUR = '(\\d{1,2})(?:[:.](\\d{2}))?\\s?([ap]\\.?m\\b\\.?)?'
const TOKEN = new RegExp(
  [
    `(?<round>круглосуточно|24\\s?/\\s?7|24[- ]?(?:часа|час\\.?|ч\\.?|hours?|hrs|h)(?!\\p{L})|round the clock|around the clock|rund um die uhr)`,
    `(?<daily>ежедневно|каждый день|без выходных|daily|every ?day|(?:7|seven) days a week|täglich)`,
    `(?<except>кроме|except|außer)`,
    `(?<weekdays>будн\\p{L}{1,3}|рабочи\\p{L}{1,2} дн\\p{L}{1,3}|weekdays?)`,
    `(?<closed>выходной|не работаем|закрыт[оы]?|closed|geschlossen|ruhetag|(?<![\\p{L}])off)`,
    `(?<weekend>выходны\\p{L}{1,2}(?: дн\\p{L}{1,3})?|weekends?)`,
    `(?<!\\p{L})(?<day>${DAY})(?:\\s?[-–—]\\s?(?<to>${DAY}))?(?!\\p{L})`,
    `(?<!\\p{L})(?<by>${DAY})\\s(?:по|to|through)\\s(?<until>${DAY})(?!\\p{L})`,
    `(?<![\\d+(-])(?<time>${HOUR}\\s?(?:[-–—]|до|to|till|until|bis)\\s?${HOUR})(?![\\d-])`,
  ].join('|'),
  'giu',
)

/** Null when the line has no opening hours. */
export function readHours(text: string): Week | null {
  const week: Week = ALL.map(() => null)
  const reading = new Reading(week)
  for (const { groups, ...match } of text.slice(0, LONGEST_LINE).matchAll(TOKEN)) {
    const said = groups!
    if (said['round'] !== undefined) reading.hours(ALL_DAY)
    else if (said['daily'] !== undefined) reading.days(ALL)
    else if (said['except'] !== undefined) reading.except()
    else if (said['weekdays'] !== undefined) reading.days(WEEKDAYS)
    else if (said['closed'] !== undefined) reading.closed()
    else if (said['weekend'] !== undefined) reading.weekend(isFollowedByTime(text, match.index + match[0].length))
    else if (said['time'] !== undefined) {
      const range = rangeOf(match[0])
      if (range) reading.hours(range)
    } else reading.days(daysOf(said['day'] ?? said['by']!, said['to'] ?? said['until']))
  }
  reading.end(/работа|открыт|жд[её]м|при[её]м|open\b/iu.test(text))
  return week.some(day => day !== null) ? week : null
}

const isFollowedByTime = (text: string, from: number) =>
  /^[^\p{L}\d]{0,4}(?:с |from )?\d/iu.test(text.slice(from, from + 12))

function daysOf(first: string, last: string | undefined): number[] {
  const from = dayOf(first)
  if (from < 0) return []
  const to = last === undefined ? from : dayOf(last)
  if (to < 0) return [from]
  return ALL.slice(0, ((to - from + 7) % 7) + 1).map(step => (from + step) % 7)
}

const dayOf = (name: string): number => DAY_NAMES.findIndex(pattern => pattern.test(name))

function rangeOf(text: string): Range | null {
  const parts = new RegExp(`^${HOUR}\\D*?${HOUR}$`, 'iu').exec(text.replace(/\s?(?:до|to|till|until|bis)\s?/iu, '-'))
  if (!parts) return null
  const [, fromHour, fromMinute, fromHalf, toHour, toMinute, toHalf] = parts
  // `8–6` means from morning to evening.
  const bare =
    !fromMinute && !toMinute && !fromHalf && !toHalf && Number(toHour) <= Number(fromHour) && Number(toHour) <= 12
  const to = minutesOf(toHour!, toMinute, bare ? 'pm' : toHalf)
  const from = minutesOf(
    fromHour!,
    fromMinute,
    fromHalf ?? (toHalf && Number(fromHour) > Number(toHour) ? 'am' : undefined),
  )
  if (from > DAY_MINUTES || to > 2 * DAY_MINUTES || from === to) return null
  return to > from ? [from, to] : [from, to + DAY_MINUTES]
}

function minutesOf(hour: string, minute: string | undefined, half: string | undefined): number {
  const isAfternoon = half?.toLowerCase().startsWith('p') === true
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (isAfternoon ? 12 : 0)
  return hours > 24 ? Number.POSITIVE_INFINITY : hours * 60 + Number(minute ?? 0)
}

/**
 * Collects days until their hours follow; a status that comes first applies to the days after it (`closed Fri & Sun`).
 */
class Reading {
  readonly #week: Week
  #days: number[] = []
  #isTold = false
  #closing = false
  #excepting = false
  #round = false

  constructor(week: Week) {
    this.#week = week
  }

  days(days: readonly number[]): void {
    if (this.#excepting || this.#closing) {
      for (const day of days) this.#week[day] = []
      this.#days = this.#days.filter(day => !days.includes(day))
      return
    }
    if (this.#isTold) this.#days = []
    this.#isTold = false
    this.#days.push(...days)
  }

  weekend(isWithTime: boolean): void {
    const isClosed = !isWithTime && this.#days.length > 0 && !this.#isTold
    if (isClosed) this.closed()
    else this.days(WEEKEND)
  }

  hours(range: Range): void {
    this.#excepting = false
    this.#closing = false
    if (this.#days.length === 0) {
      this.#round ||= range === ALL_DAY
      return
    }
    for (const day of this.#days) this.#week[day] = this.#isTold ? [...(this.#week[day] ?? []), range] : [range]
    this.#isTold = true
  }

  closed(): void {
    if (this.#days.length === 0 || this.#isTold) {
      this.#closing = true
      return
    }
    for (const day of this.#days) this.#week[day] = []
    this.#isTold = true
  }

  except(): void {
    this.#excepting = true
  }

  /** `isOpen`: days without hours count as open. */
  end(isOpen: boolean): void {
    const days =
      this.#round && this.#days.length === 0 ? ALL : this.#isTold || !(isOpen || this.#round) ? [] : this.#days
    for (const day of days) this.#week[day] ??= this.#round ? [ALL_DAY] : []
    if (!this.#round) for (const day of days) this.#week[day] = [[0, 0]]
  }
}

export const isRoundTheClock = (week: Week): boolean =>
  week.every(day => day?.some(([from, to]) => to - from >= DAY_MINUTES) === true)

/** Null when unknown. */
export const isOpenOn = (week: Week, day: number): boolean | null => (week[day] ? week[day].length > 0 : null)

/** True when open at that minute on any day. */
export const isOpenAfter = (week: Week, minute: number): boolean =>
  week.some(day => day?.some(([from, to]) => to > minute && from < minute) === true)
