/**
 * Decides which signals of the brief a company shows, and quotes the evidence. Pure; the work is bounded by the size of
 * the pages.
 */
import type { SitePage } from '../../../knowledge/documents/site-page.ts'
import { splitSentences } from '../../../knowledge/index/sentences.ts'
import { cleanLine } from '../sources/clean.ts'
import { type AskedSignal, type KnownSignal, LANGUAGES, type Language, readSignal } from '../vocabulary/signals.ts'
import type { FoundSignal } from '../vocabulary/types.ts'
import { isOpenAfter, isOpenOn, isRoundTheClock, readHours, type Week } from './hours.ts'
import { MARKS } from './known-signals.ts'
import type { ReadPage } from './phones.ts'
import { isDenied, placesOf, type WordAt, wordsAt } from './phrases.ts'
import { addressLinesOf } from './postal.ts'
import type { Organisation } from './schema-org.ts'

/** Everything that is known about a company when its signals are evaluated. */
export interface Known {
  pages: readonly ReadPage[]
  organisations: readonly Organisation[]
  facts: Readonly<Record<string, string>>
  /** Source and key, used as the location of evidence from the source's facts. */
  sourceId: string
  website: string | null
  phones: readonly string[]
  emails: readonly string[]
}

interface Shown {
  evidence: string
  where: string
}

interface Sentence extends Shown {
  as: SitePage['lines'][number]['as']
}

const LONGEST_EVIDENCE = 300
/** Limit for one page. */
const MOST_SENTENCES = 8000
/** Limit for all pages, divided among them: what a company offers comes before that. */
const MOST_CHARACTERS = 300_000
/** Denied sentences after which a signal counts as absent. */
const MOST_DENIED = 50
/** Limit of structured opening hours; a company with more has branches. */
const MOST_HOURS = 50
/** Characters of one sentence; a longer one is not prose. */
const LONGEST_SENTENCE = 600

export function judgeSignals(signals: readonly string[], known: Known): FoundSignal[] {
  const evidence = new Evidence(known)
  return signals.map(signal => judge(readSignal(signal), evidence))
}

function judge(asked: AskedSignal, evidence: Evidence): FoundSignal {
  const shown = evidence.find(asked)
  if (!asked.inverted) {
    const quote = shown && cleanLine(shown.evidence, LONGEST_EVIDENCE)
    return { signal: asked.signal, present: shown !== null, evidence: quote, where: shown?.where ?? null }
  }
  // If the site could not be read, missing evidence proves nothing.
  const absent = shown === null ? evidence.absence(asked) : null
  return {
    signal: asked.signal,
    present: absent !== null,
    evidence: absent?.evidence ?? null,
    where: absent?.where ?? null,
  }
}

class Evidence {
  readonly #known: Known
  #sentences: Sentence[] | null = null
  #words: WordAt[][] | null = null
  #week: { week: Week; shown: (Shown | null)[] } | null = null

  constructor(known: Known) {
    this.#known = known
  }

  find({ matter }: AskedSignal): Shown | null {
    switch (matter.type) {
      case 'known':
        return this.#knownSignal(matter.known)
      case 'days': {
        const { week, shown } = this.#hours()
        const open = matter.days.filter(day => isOpenOn(week, day))
        return open.length >= (matter.all ? matter.days.length : 1) ? shown[open[0]!]! : null
      }
      case 'round_the_clock': {
        const { week, shown } = this.#hours()
        if (isRoundTheClock(week)) return shown[0]!
        return this.#said(/круглосуточн|24\s?\/\s?7|24[- ]?(?:часа в сутки|hours?)|round the clock|rund um die uhr/iu)
      }
      case 'open_after': {
        const { week, shown } = this.#hours()
        return isOpenAfter(week, matter.minute) ? (shown.find(one => one !== null) ?? null) : null
      }
      case 'branches':
        return this.#branches(matter.over)
      case 'languages':
        return this.#languages(matter.languages)
      case 'words':
        return this.#meant(matter.stems, matter.least)
    }
  }

  absence({ matter }: AskedSignal): Shown | null {
    const { pages, website, sourceId } = this.#known
    const isOfContact = matter.type === 'known' && ['website', 'phone', 'email'].includes(matter.known)
    if (isOfContact && website === null) return { evidence: 'The source has none.', where: sourceId }
    const read = pages[0]
    return read ? { evidence: `Not found on the ${pages.length} pages that were read.`, where: read.url } : null
  }

  get #all(): readonly Sentence[] {
    const { pages } = this.#known
    this.#sentences ??= pages.flatMap(page => sentencesOf(page, MOST_CHARACTERS / pages.length))
    return this.#sentences
  }

  #said(pattern: RegExp): Shown | null {
    for (const sentence of this.#all) {
      const found = pattern.exec(sentence.evidence)
      if (found && !isDenied(sentence.evidence, [found.index, found.index + found[0].length - 1])) return sentence
    }
    return null
  }

  #fact(names: readonly string[], pattern: RegExp = /./): Shown | null {
    const { facts, sourceId, organisations, pages } = this.#known
    const factShown = (all: Readonly<Record<string, string>>, where: string): Shown | null => {
      const name = names.find(one => all[one] && !/^(?:no|none|false|0)$/i.test(all[one]) && pattern.test(all[one]))
      return name ? { evidence: `${name}: ${all[name]}`, where } : null
    }
    const site = pages[0]?.url
    return (
      factShown(facts, sourceId) ??
      (site ? organisations.map(one => factShown(one.facts, site)).find(one => one !== null) : null) ??
      null
    )
  }

  #linked(pattern: RegExp): Shown | null {
    for (const { url, page } of this.#known.pages) {
      const href = [...page.links.map(link => link.href), ...page.embeds].find(one => pattern.test(one))
      if (href) return { evidence: href, where: url }
    }
    return null
  }

  #knownSignal(known: KnownSignal): Shown | null {
    const { website, phones, emails, pages, sourceId } = this.#known
    const where = pages[0]?.url ?? sourceId
    if (known === 'website') return website ? { evidence: website, where } : null
    if (known === 'phone') return phones[0] ? { evidence: phones[0], where } : null
    if (known === 'email') return emails[0] ? { evidence: emails[0], where } : null
    if (known === 'mobile_site') {
      const page = pages.find(one => one.page.viewport)
      return page ? { evidence: '<meta name="viewport">', where: page.url } : null
    }
    const marks = MARKS[known]
    if (!marks) return null
    return (
      (marks.facts ? this.#fact(marks.facts, marks.fact) : null) ??
      (marks.text ? this.#said(marks.text) : null) ??
      (marks.link ? this.#linked(marks.link) : null)
    )
  }

  /** The first source that states a day's hours applies: the source, then schema.org, then the pages in order. */
  #hours(): { week: Week; shown: (Shown | null)[] } {
    if (this.#week) return this.#week
    const { facts, sourceId, organisations, pages } = this.#known
    const week: Week = Array.from({ length: 7 }, () => null)
    const shown: (Shown | null)[] = week.map(() => null)
    const take = (text: string, from: Shown) => {
      for (const [day, ranges] of readHours(text)?.entries() ?? []) {
        if (ranges === null || week[day] !== null) continue
        week[day] = ranges
        shown[day] = from
      }
    }
    const stated = facts['opening_hours']
    if (stated) take(withDays(stated), { evidence: `opening_hours: ${stated}`, where: sourceId })
    const site = pages[0]?.url ?? sourceId
    for (const text of organisations.flatMap(({ hours }) => hours).slice(0, MOST_HOURS))
      take(withDays(text), { evidence: text, where: site })
    for (const { url, page } of pages)
      for (const line of page.lines) take(line.text, { evidence: line.text, where: url })
    this.#week = { week, shown }
    return this.#week
  }

  #branches(over: number): Shown | null {
    for (const sentence of this.#all) {
      const count = COUNT.exec(sentence.evidence)
      if (count && Number(count[1]) > over && !isDenied(sentence.evidence, [count.index])) return sentence
    }
    for (const { url, page } of this.#known.pages) {
      const addresses = addressLinesOf(page)
      if (addresses.length > over) return { evidence: addresses.slice(0, over + 1).join('; '), where: url }
    }
    const addresses = new Set(this.#known.organisations.flatMap(one => one.address ?? []))
    const site = this.#known.pages[0]?.url
    return site && addresses.size > over ? { evidence: [...addresses].join('; '), where: site } : null
  }

  #languages(languages: readonly Language[]): Shown | null {
    const fact = this.#fact(languages.map(language => `language:${language}`))
    if (fact && languages.length === 1) return fact
    const shown = languages.map(
      language =>
        this.#all.find(({ evidence }) => {
          const named = LANGUAGES[language].exec(evidence)
          return named !== null && SPOKEN.test(evidence) && !isDenied(evidence, [named.index])
        }) ?? null,
    )
    return shown.every(one => one !== null) ? shown[0]! : null
  }

  #meant(stems: readonly string[], least: number | null): Shown | null {
    if (stems.length === 0) return null
    // Words are stemmed once for all signals.
    this.#words ??= this.#all.map(({ evidence }) => wordsAt(evidence))
    let denied = 0
    for (const [n, words] of this.#words.entries()) {
      const places = placesOf(words, stems, least)
      if (!places) continue
      const sentence = this.#all[n]!
      if (!isDenied(sentence.evidence, places)) return sentence
      if (++denied >= MOST_DENIED) return null
    }
    return null
  }
}

function sentencesOf({ url: where, page }: ReadPage, longest: number): Sentence[] {
  const sentences: Sentence[] = page.title ? [{ evidence: page.title, where, as: 'heading' }] : []
  let characters = 0
  for (const { text, as } of page.lines) {
    characters += text.length
    if (characters > longest || sentences.length >= MOST_SENTENCES) break
    sentences.push(...splitSentences(text).map(one => ({ evidence: one.slice(0, LONGEST_SENTENCE), where, as })))
  }
  return sentences
}

/** OpenStreetMap omits the days when the hours apply to all of them. */
const withDays = (text: string): string =>
  /^\s*\d/.test(text) && !/^\s*24\s?\/\s?7/.test(text) ? `Mo-Su ${text}` : text

const COUNT =
  /(?<!\d)(\d{1,4})\s(?:\p{L}+\s)?(?:филиал|салон|магазин|точ(?:ек|к)|клиник|аптек|отделени|офис|ресторан|студи|branch|location|stores?\b|shops?\b|outlets?\b|offices?\b)/iu
const SPOKEN = /speak|spoken|говор|языках|обслужива|hablamos|habla\b|sprechen|parliamo|по-/iu
