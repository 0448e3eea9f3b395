/** Finds street addresses in the text of pages. Pure. */
import type { SitePage } from '../../../knowledge/documents/site-page.ts'

/** A street with a number, in Russian, English or German order; the first part may be a town. */
const STREETS: readonly RegExp[] = [
  /(?:(?:\d{6},?\s)?(?:г\.|город|пос\.|с\.)?\s?[А-ЯЁ][а-яё-]{2,30}(?:\s[А-ЯЁ][а-яё-]+)?,\s{0,2})?(?:ул\.?|улица|пр\.|пр-?т\.?|просп\.?|проспект|пер\.?|переулок|бул\.?|бульвар|б-р|наб\.?|набережная|пл\.?|площадь|ш\.|шоссе|проезд|тракт)\s{0,2}[А-ЯЁ0-9][\p{L}\d. -]{1,40},?\s{0,2}(?:д\.?\s?|дом\s)?\d{1,4}\s?[А-Яа-яA-Za-z]?(?:[/к-]\d{1,4})?(?!\p{L})/u,
  /[А-ЯЁ][\p{L} -]{2,40}\s(?:ул\.|улица|пр\.|проспект|пер\.|бульвар|шоссе|тракт|проезд|набережная),?\s{0,2}(?:д\.?\s?|дом\s)?\d{1,4}\s?[А-Яа-я]?(?!\p{L})/u,
  /(?<![\d-])\d{1,5}[A-Za-z]?\s(?:[A-Z][\w'.-]{0,20}\s){1,4}(?:Street|St\.?|Road|Rd\.?|Avenue|Ave\.?|Lane|Ln\.?|Drive|Dr\.?|Square|Sq\.?|Place|Boulevard|Blvd\.?|Way|Court|Terrace|Crescent|Quay)(?:,?\s[A-Z][\w .,'-]{0,60})?(?![a-z])/,
  /[A-ZÄÖÜ][\p{L}-]{2,30}(?:straße|strasse|str\.|platz|allee|weg|gasse)\s\d{1,4}[a-z]?(?:,?\s\d{5}\s[A-ZÄÖÜ][\p{L}-]+)?/u,
]
const MOST = 200
const LONGEST_LINE = 400

/** At most one per line, without duplicates. */
export function addressLinesOf(page: Pick<SitePage, 'lines'>): string[] {
  const found = new Set<string>()
  for (const { text, as } of page.lines) {
    if (as === 'hint' || text.length > LONGEST_LINE || !/\d/.test(text)) continue
    const street = STREETS.map(pattern => pattern.exec(text)?.[0]).find(one => one !== undefined)
    if (street) found.add(street.replace(/\s+/g, ' ').trim())
    if (found.size >= MOST) break
  }
  return [...found]
}
