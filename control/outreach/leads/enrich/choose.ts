/** Chooses the pages of a company's site that are worth reading for contacts and for the signals of the brief. Pure. */

import { pageKey, pageOfSite } from '../../../knowledge/crawl/address.ts'
import type { SitePage } from '../../../knowledge/documents/site-page.ts'
import { stemsOf } from '../vocabulary/words.ts'
import { decoded, type ReadPage } from './phones.ts'
import { isSameWord } from './phrases.ts'

export interface Choice {
  url: URL
  role: ReadPage['role']
  worth: number
}

const FRAME = 30
const ASKED = 4
/** Limit of links to check; each takes about 50 µs. */
const MOST_JUDGED = 1000

const PROMISES: readonly [number, ReadPage['role'], RegExp][] = [
  [
    20,
    'contact',
    /contact|kontakt|контакт|impressum|imprint|как (?:нас|к нам|добраться|проехать)|find us|where we are|адрес|реквизит/i,
  ],
  [10, 'other', /about|o-?nas\b|o-?kompan|о (?:нас|компании|клинике|центре|студии)|who we are|über uns|ueber/i],
  [6, 'other', /book|appointment|запис|zapis|бронир|reserv|termin/i],
  [5, 'other', /service|uslug|услуг|price|tarif|fees|цен[ыа]|ceny|прайс|leistung/i],
  [
    4,
    'other',
    /deliver|shipping|dostavk|доставк|oplat|оплат|payment|vakans|ваканс|career|jobs|faq|вопрос|график|режим|hours|филиал|filial|location|branch|отзыв|review/i,
  ],
]
/** Long lists that say little about the company itself. */
const DULL =
  /\/(?:blog|news|novosti|articles?|stat[iy]|catalog|product|shop|category|tag|login|cart|basket|privacy|policy|terms|wp-content)(?:[/?.-]|$)/i

/** Returns pages best first, without duplicates; `asked`: the signals of the brief. */
export function choosePages(page: SitePage, at: URL, asked: readonly string[]): Choice[] {
  const stems = asked.flatMap(signal => stemsOf(signal)).filter(stem => stem.length > 3)
  const chosen = new Map<string, Choice>()
  const consider = (href: string, text: string, bonus: number) => {
    const url = pageOfSite(at, href)
    if (typeof url === 'string') return
    const choice = judge(url, text, stems, bonus)
    const key = pageKey(url)
    if (choice.worth > (chosen.get(key)?.worth ?? 0)) chosen.set(key, choice)
  }
  for (const frame of page.frames) consider(frame, '', FRAME)
  for (const { href, text } of page.links.slice(0, MOST_JUDGED)) if (/^https?:/i.test(href)) consider(href, text, 0)
  return [...chosen.values()].sort((a, b) => b.worth - a.worth)
}

function judge(url: URL, text: string, stems: readonly string[], bonus: number): Choice {
  const path = decoded(url.pathname + url.search)
  const named = `${path} ${text}`
  const promise = PROMISES.find(([, , pattern]) => pattern.test(named))
  const there = stemsOf(named)
  const isAsked = stems.some(stem => there.some(word => isSameWord(stem, word)))
  const worth = (promise?.[0] ?? 0) + bonus + (isAsked ? ASKED : 0)
  return {
    url,
    role: promise?.[1] ?? 'other',
    worth: DULL.test(path) && promise?.[1] !== 'contact' ? worth - 10 : worth,
  }
}
