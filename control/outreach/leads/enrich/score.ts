/** How good a lead is, from 0 to 100, and why. Pure. */
import type { FoundSignal, Reason } from '../vocabulary/types.ts'

export interface Judged {
  /** The first number stands on the company's own site. */
  phoneOnSite: boolean
  /** Of the source alone. */
  hasPhone: boolean
  hasEmail: boolean
  signals: readonly FoundSignal[]
  hasWebsite: boolean
  siteRead: boolean
  hasAddress: boolean
  hasHours: boolean
  /** The latest year that the site names as its own, and this year. */
  year: { told: number | null; now: number }
  /** Numbers of many others were left out. */
  directory: boolean
}

const PHONE_ON_SITE = 35
const PHONE = 22
const EMAIL = 10
const SIGNALS = 35
const SITE = 6
const ADDRESS = 5
const HOURS = 4
const FRESH = 5
const STALE = -5
const DIRECTORY = -10
/** Years without a sign of life. */
const STALE_AFTER = 4

export function scoreOf(judged: Judged): { score: number; reasons: Reason[] } {
  const reasons = [
    ...phoneReasons(judged),
    ...when(judged.hasEmail, EMAIL, 'It has an e-mail address.'),
    ...signalReasons(judged.signals),
    ...when(judged.siteRead, SITE, 'Its site could be read.'),
    ...when(judged.hasWebsite && !judged.siteRead, 0, 'It names a site that could not be read.'),
    ...when(judged.hasAddress, ADDRESS, 'Its address is known.'),
    ...when(judged.hasHours, HOURS, 'Its opening hours are known.'),
    ...freshness(judged.year),
    ...when(judged.directory, DIRECTORY, 'Its site lists the numbers of many others.'),
  ]
  const sum = reasons.reduce((total, { points }) => total + points, 0)
  return { score: Math.min(100, Math.max(0, sum)), reasons }
}

const when = (holds: boolean, points: number, text: string): Reason[] => (holds ? [{ points, text }] : [])

function phoneReasons({ hasPhone, phoneOnSite }: Judged): Reason[] {
  if (!hasPhone) return [{ points: 0, text: 'No telephone number was found.' }]
  return phoneOnSite
    ? [{ points: PHONE_ON_SITE, text: 'Its telephone number stands on its own site.' }]
    : [{ points: PHONE, text: 'Its telephone number comes from the source alone.' }]
}

/** Where nothing is asked for, nothing is missing. */
function signalReasons(signals: readonly FoundSignal[]): Reason[] {
  if (signals.length === 0) return [{ points: SIGNALS, text: 'No signals were asked for.' }]
  const found = signals.filter(one => one.present).length
  const points = Math.round((SIGNALS * found) / signals.length)
  return [{ points, text: `${found} of ${signals.length} signals were found.` }]
}

function freshness({ told, now }: Judged['year']): Reason[] {
  if (told === null) return []
  if (now - told <= 1) return [{ points: FRESH, text: `Its site was touched in ${told}.` }]
  return when(now - told >= STALE_AFTER, STALE, `Its site names no later year than ${told}.`)
}
