/** Finds phone numbers in a line of text, and their labels. Pure; linear in the text. */
import { dialingRules, phoneType, readPhone, regionOf } from '../../../platform/phone.ts'

export type Label = 'main' | 'phone' | 'secondary' | 'fax' | 'foreign' | 'number'

export interface Written {
  /** E.164 */
  phone: string
  label: Label | null
  /** Position in the line. */
  start: number
  end: number
}

/** Digits with the characters that people put between them. */
const RUN = /(?<![\p{L}\p{N}_@=])(?<!\p{N}[.,/-])(?:\+\s?)?\(?\+?\d(?:[\s().\-–—‑/]{0,4}\d){4,40}(?![\p{N}\p{L}_@])/gu
const MOST_RUNS = 60
/** Characters before a number that are searched for its label. */
const BEFORE = 120
const AFTER = 24

/** The last label before a number applies. The order matters when two start at the same position. */
const LABELS: readonly [Label, RegExp][] = [
  ['phone', /тел[а-я]*\.?\s*[/\\]\s*факс|tel\.?\s*[/\\]\s*fax|phone\s*(?:\/|&|and)\s*fax/giu],
  ['fax', /(?<![\p{L}/\\])(?:теле)?факс|(?<![\p{L}/\\])(?:tele)?fax/giu],
  [
    'main',
    /регистратур|ресепшн|ресепшен|стойк\p{L} (?:администратор|регистрац)|единый номер|контакт-?центр|колл-?центр|call.?cent(?:er|re)|многоканальн|reception|head office|front desk|main (?:line|number|office)/giu,
  ],
  [
    'secondary',
    /бухгалтер|отдел кадров|кадры|hr\b|accounts? dep|accounting|жалоб|after.?hours|press\b|пресс-служб|careers|приёмная директора/giu,
  ],
  [
    'phone',
    /(?<!\p{L})(?:тел(?:ефон[а-я]*)?|моб(?:ильн[а-я]*)?|сот(?:ов[а-я]*)?|т)\s*[.:|]|(?<!\p{L})телефон|(?<!\p{L})звон|городской|диспетчер|офис|отдел|заказ(?!\p{L}*\s*(?:№|#|номер))|(?<!\p{L})(?:tel|phone|telephone|telefon|mobile|mobil|cell|call|ring|dial|office|toll.?free|whatsapp|viber|velcom|мтс|a1)\b|[☎📞📱]/giu,
  ],
  [
    'foreign',
    /роспотребнадзор|росздравнадзор|(?<!\p{L})минист|минюст|минздрав|департамент|прокуратур|налогов|горячая линия|телефон доверия|палата|полици|мчс|ombudsman|regulator|police|создание (?:и |сайт)|разработ(?:ка|ано|чик)|веб-студи|web.?(?:design|studio)|website by|designed by|сайт (?:создан|разработан)/giu,
  ],
  [
    'number',
    /(?<!\p{L})(?:инн|кпп|огрн(?:ип)?|окпо|оквэд|окато|октмо|бик|swift|bic|iban|унп|бин|иик|иин|снилс|vat|ust-?id\p{L}*|steuernummer|hrb|handelsregister|ein|npi|sku|isbn|gst|abn|gtin|ean|inn)(?!\p{L})|[рк]\/с|(?<!\p{L})(?:сч[её]т|account|sort code|лицензи|licen[cs]e|company n|registration|registered|артикул|арт\.|штрих-?код|barcode|код товара|реестр|invoice|estimate|серия|паспорт|кадастр|microchip|order\s*(?:no|number|ref|#|id)|ref\b|заказ\p{L}*\s*(?:№|#|номер)|lic\.)|№|#/giu,
  ],
]
const FAX_AFTER = /^[\s,(–—-]{0,4}(?:факс|fax)/iu
const UNIT_AFTER =
  /^\s?(?:руб|р\.|₽|€|\$|£|%|тг|тенге|шт|кг|км|мм|см|м2|м²|ккал|usd|eur|gbp|rur|kg|mm|cm|отзыв|товар|объект)/iu
/** Dates and periods such as 12.05.2023, 2010-2024, 10:00 - 19:00. */
const DATE =
  /^(?:\d{1,2}[./-]\d{1,2}[./-](?:19|20)?\d{2}|(?:19|20)\d{2}[./-]\d{1,2}[./-]\d{1,2}|(?:19|20)\d{2}\s?[-–—]\s?(?:19|20)\d{2})(?!\d)/
/** Groupings that only phone numbers have: three, two and two digits, or three, three and four. */
const SHAPES = [/^\(?\d{3,5}\)?[ .-]\d{1,3}[ .-]\d{2}[ .-]\d{2}$/, /^\(?\d{3}\)?[ .‑–-]{1,2}\d{3}[ .‑–-]\d{4}$/]

export interface Readings {
  found: Written[]
  /** Labelled phone numbers without an area code, as digits. */
  local: { digits: string; label: Label | null }[]
  /** Number of attempts; each costs about 20 µs. */
  tries: number
}

/** `before`: the previous line, which may contain the label. */
export function phonesIn(text: string, before: string, region: string | null): Readings {
  const readings: Readings = { found: [], local: [], tries: 0 }
  let runs = 0
  for (const run of text.matchAll(RUN)) {
    if (++runs > MOST_RUNS) break
    // Further numbers of a series were read with the first.
    if (run.index < (readings.found.at(-1)?.end ?? 0)) continue
    readRun(run[0], run.index, { text, before, region }, readings)
  }
  return readings
}

interface Around {
  text: string
  before: string
  region: string | null
}

/** Several numbers may follow each other, separated only by a space. */
function readRun(run: string, start: number, around: Around, into: Readings): void {
  const before = into.found.length
  let from = 0
  while (from < run.length) {
    const rest = run.slice(from)
    const ends = [rest.length, ...[...rest.matchAll(/[\s/]+/g)].map(gap => gap.index).reverse()]
    into.tries += ends.length
    const found = ends.map(end => readOne(rest.slice(0, end), start + from, around)).find(one => one !== null)
    if (!found) {
      const house = from === 0 ? behindHouse(run) : 0
      if (house === 0) break
      from = house
      continue
    }
    into.found.push(found, ...seriesAfter(found, around))
    from = found.end - start
    from += /^[\s/).–—-]*/.exec(run.slice(from))![0].length
  }
  if (into.found.length === before) addLocal(run, start, around, into)
}

/**
 * `ул. Гвардейская, 14 (843) 200-04-41`: returns the start of the phone number after the house number; 0 when there is
 * none.
 */
const behindHouse = (run: string): number => /^\d{1,4}(?:\/\d{1,3})?\s+(?:-\s+)?(?=[+(\d])/.exec(run)?.[0].length ?? 0

function readOne(raw: string, start: number, around: Around): Written | null {
  const digits = raw.replace(/\D/g, '')
  const end = start + raw.length
  const after = around.text.slice(end, end + AFTER)
  if (digits.length < 7 || digits.length > 15 || DATE.test(raw) || UNIT_AFTER.test(after)) return null
  const label = FAX_AFTER.test(after) ? 'fax' : labelBefore(start, around)
  if (label === 'number') return null
  const phone = readPhone(raw, around.region)
  if (!phone || !isUsable(phone) || !(raw.includes('+') || looksLikePhone(raw, digits, phone, label, around)))
    return null
  return { phone, label, start, end }
}

const isUsable = (phone: string): boolean => {
  const type = phoneType(phone)
  return type !== null && type !== 'PREMIUM_RATE' && type !== 'SHARED_COST' && type !== 'PAGER'
}

/** Without a country code, digits alone may be anything. */
function looksLikePhone(raw: string, digits: string, phone: string, label: Label | null, around: Around): boolean {
  if (label !== null) return true
  const trunk = around.region && dialingRules(around.region)?.national_prefix
  const grouped = /[\s().\-–—‑]/.test(raw)
  if (trunk && digits.startsWith(trunk) && (grouped || digits.length === phone.length - 1)) return true
  if (raw.includes('(') && regionOf(phone) !== null) return true
  return SHAPES.some(shape => shape.test(raw))
}

function labelBefore(start: number, { text, before }: Around): Label | null {
  const own = text.slice(Math.max(0, start - BEFORE), start)
  // The previous line labels a line that starts with the number.
  const said = /\p{L}{2}/u.test(text.slice(0, start)) ? own : `${before.slice(-BEFORE)} ${own}`
  let best: { label: Label; end: number } | null = null
  for (const [label, pattern] of LABELS)
    for (const match of said.matchAll(pattern)) {
      const end = match.index + match[0].length
      // `Телефон доверия` starts where `Телефон` does, and is more specific.
      if (!best || end > best.end || (label === 'foreign' && best.label === 'phone')) best = { label, end }
    }
  return best?.label ?? null
}

/** `200-01-21, 22`: another ending of the same number, in the same format. */
function seriesAfter(first: Written, { text }: Around): Written[] {
  const series: Written[] = []
  let end = first.end
  let model = text.slice(first.start, first.end)
  for (let more = nextOf(text, end); more; more = nextOf(text, end)) {
    const [whole, tail] = [more[0], more[1]!]
    if (!shapeOf(model).endsWith(shapeOf(tail)) || series.length >= 10) break
    const digits = tail.replace(/\D/g, '')
    const phone = first.phone.slice(0, -digits.length) + digits
    if (!isUsable(phone)) break
    end += whole.length
    series.push({ phone, label: first.label, start: end - tail.length, end })
    model = text.slice(first.start, first.end)
  }
  return series
}

const NEXT = /^\s?(?:[,;/]|и|and|or|или)\s?(\d{2,4}(?:[- ]\d{2,4}){0,2})(?=\s*(?:$|[,;)|/.](?!\d)))/iu
const nextOf = (text: string, from: number) => NEXT.exec(text.slice(from, from + 40))
const shapeOf = (text: string): string => text.replace(/\d/g, '0').replace(/[^\d]+/g, '-')

function addLocal(raw: string, start: number, around: Around, into: Readings): void {
  const digits = raw.replace(/\D/g, '')
  const label = labelBefore(start, around)
  if (label !== 'phone' && label !== 'main' && label !== 'secondary') return
  if (/^\d{1,3}[- ]\d{2}[- ]\d{2}$/.test(raw.trim())) into.local.push({ digits, label })
}
