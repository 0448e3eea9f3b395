/** Scores a lead from 0 to 100, with reasons. Pure. */
import type { FoundSignal, Reason } from '../vocabulary/types.ts'

export interface Judged {
  /** True when the first number is on the company's own site. */
  phoneOnSite: boolean
  /** True when there is any number, including one from the source only. */
  hasPhone: boolean
  hasEmail: boolean
  signals: readonly FoundSignal[]
  hasWebsite: boolean
  siteRead: boolean
  hasAddress: boolean
  hasHours: boolean
  /** The latest year that the site mentions as its own, and the current year. */
  year: { newest: number | null; now: number }
  /** True when numbers of many other companies were left out. */
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
/** Years after which a site counts as stale. */
const STALE_AFTER = 4

export function scoreOf(judged: Judged): { score: number; reasons: Reason[] } {
  const reasons = [
    ...phoneReasons(judged),
    ...when(judged.hasEmail, EMAIL, 'An e-mail address was found.'),
    ...signalReasons(judged.signals),
    ...when(judged.siteRead, SITE, 'The site was read.'),
    ...when(judged.hasWebsite && !judged.siteRead, 0, 'The site could not be read.'),
    ...when(judged.hasAddress, ADDRESS, 'The address is known.'),
    ...when(judged.hasHours, HOURS, 'The opening hours are known.'),
    ...freshness(judged.year),
    ...when(judged.directory, DIRECTORY, 'The site lists numbers of many other companies.'),
  ]
  const sum = reasons.reduce((total, { points }) => total + points, 0)
  return { score: Math.min(100, Math.max(0, sum)), reasons }
}

const when = (holds: boolean, points: number, text: string): Reason[] => (holds ? [{ points, text }] : [])

function phoneReasons({ hasPhone, phoneOnSite }: Judged): Reason[] {
  if (!hasPhone) return [{ points: 0, text: 'No phone number was found.' }]
  return phoneOnSite
    ? [{ points: PHONE_ON_SITE, text: "The phone number is on the company's own site." }]
    : [{ points: PHONE, text: 'Only the source has the phone number.' }]
}

/** Without requested signals, nothing is missing. */
function signalReasons(signals: readonly FoundSignal[]): Reason[] {
  if (signals.length === 0) return [{ points: SIGNALS, text: 'No signals were requested.' }]
  const found = signals.filter(one => one.present).length
  const points = Math.round((SIGNALS * found) / signals.length)
  return [{ points, text: `${found} of ${signals.length} signals were found.` }]
}

function freshness({ newest, now }: Judged['year']): Reason[] {
  if (newest === null) return []
  if (now - newest <= 1) return [{ points: FRESH, text: `The site was updated in ${newest}.` }]
  return when(now - newest >= STALE_AFTER, STALE, `The site mentions no year after ${newest}.`)
}
