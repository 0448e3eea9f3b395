/** Enriches a candidate: reads its site and evaluates what it says. */
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
  /** The guarded Fetch. */
  fetch: Fetch
  clock: Clock
  extractor: Pick<Extractor, 'extract'>
  limits?: Partial<VisitLimits>
}

const MOST_PHONES = 20
const MOST_EMAILS = 10
const LONGEST_NAME = 200
const LONGEST_ADDRESS = 300
/** A page with more addresses belongs to a chain. */
const BRANCHES = 3
/** Bonus of a number that the source and the site agree on. */
const AGREED = 3
/** Rank of a number of the source that the site does not show, below those of the site. */
const UNSEEN = 2

export function createEnricher({ fetch, clock, extractor, limits = {} }: EnricherParts): Enricher {
  const polite = createPoliteFetch({ fetch, clock })
  return {
    async enrich(candidate, question, source, signal) {
      signal.throwIfAborted()
      const mine: Pick<Extractor, 'extract'> = {
        extract: (input, ending) => extractor.extract(input, ending, { owner: question.ownerId }),
      }
      const unwanted = rejection(candidate, question, false)
      const visit: Visit =
        candidate.website !== null && unwanted === null
          ? await visitSite(
              candidate.website,
              question.brief.signals,
              { polite, extractor: mine, clock, limits },
              signal,
            )
          : { pages: [], problem: null }
      return weigh(candidate, question, source, visit, new Date(clock.wall()).getUTCFullYear())
    },
  }
}

/** Evaluates a candidate by its pages. Pure. */
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
  const given = candidate.phones.flatMap(text => phonesIn(`тел: ${text}`, '', region).found.map(one => one.phone))
  const onSite = phonesOf(pages, organisations, region, given)
  const phones = merged(onSite, given)
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
    year: { newest: yearOf(pages, year), now: year },
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
    : { code: 'no_contact', text: 'No phone number and no e-mail address was found.' }

/** Region of the place, or of the site's domain, or of the account. */
function regionOfCandidate({ country, website }: Candidate, question: LeadQuestion): string | null {
  const top = /\.([a-z]{2}|xn--p1ai)(?::\d+)?(?:[/?#]|$)/i.exec(
    website?.replace(/^https?:\/\/([^/?#]*).*$/i, '$1') ?? '',
  )?.[1]
  const named = top === undefined ? null : (OF_DOMAIN[top.toLowerCase()] ?? top.toUpperCase())
  const given = [country, named].find(one => one !== null && Region.safeParse(one).success)
  return given ?? regionOfPlace(question)
}

/** Countries that use the Cyrillic alphabet, in which a Cyrillic place name is plausible. */
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

/** Region of the account, unless the searched place cannot be there: `8 (843)` of Kazan is not a number of New York. */
const regionOfPlace = ({ brief, region }: LeadQuestion): string | null =>
  /\p{Script=Cyrillic}/u.test(brief.geo) && (region === null || !CYRILLIC.has(region)) ? 'RU' : region

/** Top-level domains that differ from the country code, or that are open to everybody (empty: no country). */
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

function merged(onSite: Phones, given: readonly string[]): string[] {
  const ranked: FoundPhone[] = onSite.offered.map(one => ({
    ...one,
    rank: one.rank + (given.includes(one.phone) ? AGREED : 0),
  }))
  const own = new Set(ranked.map(one => one.phone))
  for (const phone of given)
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

/** Returns the latest year beside a copyright mark. */
function yearOf(pages: readonly ReadPage[], now: number): number | null {
  const years = pages
    .flatMap(({ page }) => page.lines)
    .filter(({ text }) => /©|\(c\)|copyright/i.test(text))
    .flatMap(({ text }) => [...text.slice(0, 300).matchAll(/(?<!\d)20\d\d(?!\d)/g)].map(found => Number(found[0])))
    .filter(year => year <= now)
  return years.length > 0 ? Math.max(...years) : null
}

/** Detects pages that are empty without scripts. */
function silence(pages: readonly ReadPage[]): string | null {
  const letters = pages.flatMap(({ page }) => page.lines).reduce((sum, { text }) => sum + text.length, 0)
  const start = pages[0]?.page
  if (!start || letters > 40) return null
  return start.embeds.length > 0 || letters === 0 ? 'The site is empty without JavaScript.' : null
}
