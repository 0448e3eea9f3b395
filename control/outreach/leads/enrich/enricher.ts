/** A candidate looked at closely: its site is read, and what it says is weighed. */
import type { Clock } from '../../../../media/shared/clock.ts'
import type { Fetch } from '../../../../media/shared/fetch.ts'
import { createPoliteFetch } from '../../../knowledge/crawl/polite-fetch.ts'
import type { Extractor } from '../../../knowledge/documents/types.ts'
import { Region } from '../../../platform/phone.ts'
import type { Candidate, Enriched, Enricher, LeadQuestion, LeadSource } from '../vocabulary/types.ts'
import { emailsOf } from './emails.ts'
import { closedBy, excludedBy } from './exclude.ts'
import { readHours } from './hours.ts'
import { phonesIn } from './phone-text.ts'
import { type FoundPhone, type Phones, phonesOf, type ReadPage } from './phones.ts'
import { addressLinesOf } from './postal.ts'
import { type Organisation, organisationsOf } from './schema-org.ts'
import { scoreOf } from './score.ts'
import { judgeSignals } from './signals.ts'
import { type Visit, type VisitLimits, visitSite } from './visit.ts'

export interface EnricherParts {
  /** The guarded one. */
  fetch: Fetch
  clock: Clock
  extractor: Pick<Extractor, 'extract'>
  limits?: Partial<VisitLimits>
}

const MOST_PHONES = 20
const MOST_EMAILS = 10
const LONGEST_NAME = 200
const LONGEST_ADDRESS = 300
/** More addresses on one page are a chain's. */
const BRANCHES = 3
/** What the source says too, and the site repeats. */
const AGREED = 3
/** A source's number that its site does not show stands behind those of the site. */
const UNSEEN = 2

export function createEnricher({ fetch, clock, extractor, limits = {} }: EnricherParts): Enricher {
  const polite = createPoliteFetch({ fetch, clock })
  return {
    async enrich(candidate, question, source, signal) {
      signal.throwIfAborted()
      const unwanted = rejection(candidate, question, false)
      const visit: Visit =
        candidate.website !== null && unwanted === null
          ? await visitSite(candidate.website, question.brief.signals, { polite, extractor, clock, limits }, signal)
          : { pages: [], problem: null }
      return weigh(candidate, question, source, visit, new Date(clock.wall()).getUTCFullYear())
    },
  }
}

/** Pure: what the pages that were read make of a candidate. */
export function weigh(
  candidate: Candidate,
  question: LeadQuestion,
  source: Pick<LeadSource, 'id'>,
  { pages, problem }: Visit,
  year: number,
): Enriched {
  const region = regionOfCandidate(candidate, question)
  const organisations = new Map(pages.map(page => [page, organisationsOf(page.page)]))
  const stated = [...organisations.values()].flat()
  const told = candidate.phones.flatMap(text => phonesIn(`тел: ${text}`, '', region).found.map(one => one.phone))
  const onSite = phonesOf(pages, organisations, region, told)
  const phones = merged(onSite, told)
  const emails = [
    ...new Set([...emailsOf(pages, organisations), ...candidate.emails.map(one => one.trim().toLowerCase())]),
  ]
    .filter(Boolean)
    .slice(0, MOST_EMAILS)
  const website = pages[0]?.url ?? candidate.website
  const address = addressOf(candidate, stated, pages)
  const signals = judgeSignals(question.brief.signals, {
    pages,
    organisations: stated,
    facts: candidate.facts,
    sourceId: `${source.id} ${candidate.key}`,
    website: candidate.website,
    phones,
    emails,
  })
  const { score, reasons } = scoreOf({
    phoneOnSite: onSite.offered.some(one => one.phone === phones[0]),
    hasPhone: phones.length > 0,
    hasEmail: emails.length > 0,
    signals,
    hasWebsite: candidate.website !== null,
    siteRead: pages.length > 0,
    hasAddress: address !== null,
    hasHours: hasHours(candidate, stated, pages),
    year: { told: yearOf(pages, year), now: year },
    directory: onSite.directory,
  })
  const hasBranches = pages.some(({ page }) => addressLinesOf(page).length > BRANCHES)
  return {
    company: (candidate.company.trim() || stated[0]?.name || pages[0]?.page.title || '').slice(0, LONGEST_NAME),
    phones,
    emails,
    website,
    address,
    geo: candidate.geo ?? stated.find(one => one.geo)?.geo ?? null,
    signals,
    score,
    reasons,
    rejected: rejection(candidate, question, hasBranches) ?? unreachable(phones, emails),
    site_problem: problem ?? silence(pages),
  }
}

function rejection(candidate: Candidate, { brief }: LeadQuestion, hasBranches: boolean): Enriched['rejected'] {
  const closed = closedBy(candidate.facts)
  if (closed) return { code: 'closed', text: closed }
  const excluded = excludedBy(candidate, brief.exclusions, hasBranches)
  return excluded ? { code: 'excluded', text: excluded } : null
}

const unreachable = (phones: readonly string[], emails: readonly string[]): Enriched['rejected'] =>
  phones.length + emails.length > 0
    ? null
    : { code: 'no_contact', text: 'Neither a telephone number nor an e-mail address was found.' }

/** Of the place; or of the site's name; or of the account. */
function regionOfCandidate({ country, website }: Candidate, question: LeadQuestion): string | null {
  const top = /\.([a-z]{2}|xn--p1ai)(?::\d+)?(?:[/?#]|$)/i.exec(
    website?.replace(/^https?:\/\/([^/?#]*).*$/i, '$1') ?? '',
  )?.[1]
  const named = top === undefined ? null : (OF_DOMAIN[top.toLowerCase()] ?? top.toUpperCase())
  const told = [country, named].find(one => one !== null && Region.safeParse(one).success)
  return told ?? regionOfPlace(question)
}

/** Where the Cyrillic alphabet is written: a place in it says nothing against these. */
const CYRILLIC = new Set([
  'RU',
  'BY',
  'KZ',
  'KG',
  'UA',
  'BG',
  'RS',
  'MK',
  'ME',
  'BA',
  'MN',
  'TJ',
  'UZ',
  'AM',
  'GE',
  'AZ',
  'MD',
])

/** Of the account's country, unless the place that is searched cannot be there: `8 (843)` of Kazan is no number of New York. */
const regionOfPlace = ({ brief, region }: LeadQuestion): string | null =>
  /\p{Script=Cyrillic}/u.test(brief.geo) && (region === null || !CYRILLIC.has(region)) ? 'RU' : region

/** Where a country's domain is not its code, or is sold to everybody (null: it tells nothing). */
const OF_DOMAIN: Record<string, string | null> = {
  uk: 'GB',
  'xn--p1ai': 'RU',
  su: 'RU',
  io: '',
  me: '',
  tv: '',
  cc: '',
  co: '',
  ai: '',
}

function merged(onSite: Phones, told: readonly string[]): string[] {
  const ranked: FoundPhone[] = onSite.offered.map(one => ({
    ...one,
    rank: one.rank + (told.includes(one.phone) ? AGREED : 0),
  }))
  const own = new Set(ranked.map(one => one.phone))
  for (const phone of told)
    if (!own.has(phone) && !onSite.faxes.includes(phone)) ranked.push({ phone, rank: UNSEEN, where: '' })
  return [...new Set(ranked.sort((a, b) => b.rank - a.rank).map(one => one.phone))].slice(0, MOST_PHONES)
}

function addressOf(candidate: Candidate, stated: readonly Organisation[], pages: readonly ReadPage[]): string | null {
  const contact = pages.toSorted((a, b) => Number(b.role === 'contact') - Number(a.role === 'contact'))
  const found =
    candidate.address ?? stated.find(one => one.address)?.address ?? contact.flatMap(one => addressLinesOf(one.page))[0]
  return found?.slice(0, LONGEST_ADDRESS).toWellFormed() ?? null
}

const hasHours = (candidate: Candidate, stated: readonly Organisation[], pages: readonly ReadPage[]): boolean =>
  candidate.facts['opening_hours'] !== undefined ||
  stated.some(one => one.hours.length > 0) ||
  pages.some(({ page }) => page.lines.some(line => readHours(line.text) !== null))

/** The latest that stands beside a copyright. */
function yearOf(pages: readonly ReadPage[], now: number): number | null {
  const years = pages
    .flatMap(({ page }) => page.lines)
    .filter(({ text }) => /©|\(c\)|copyright/i.test(text))
    .flatMap(({ text }) => [...text.slice(0, 300).matchAll(/(?<!\d)20\d\d(?!\d)/g)].map(found => Number(found[0])))
    .filter(year => year <= now)
  return years.length > 0 ? Math.max(...years) : null
}

/** Pages that only a browser's scripts would fill. */
function silence(pages: readonly ReadPage[]): string | null {
  const letters = pages.flatMap(({ page }) => page.lines).reduce((sum, { text }) => sum + text.length, 0)
  const start = pages[0]?.page
  if (!start || letters > 40) return null
  return start.embeds.length > 0 || letters === 0 ? 'The site shows nothing without scripts.' : null
}
