/** Maps the columns of an owner's table by their headers, in Russian or English. Pure. */

/** Columns of a row; `phone` and `email` may occur several times. */
export const COLUMNS = ['company', 'phone', 'email', 'website', 'address', 'city', 'category', 'lat', 'lon'] as const
export type Column = (typeof COLUMNS)[number]

/**
 * Tried in this order, first the whole header and then its words: "Телефон компании" is a phone, "Категория компании" a
 * category, and a remaining "… компании" the company.
 */
const NAMES: Record<Column, { whole: RegExp; within: RegExp }> = {
  phone: {
    whole: /^(?:тел|phones?|tel|mobile|cell|моб)$/,
    within: /телефон|(?:^| )(?:тел|phone|phones|telephone|mobile|mob)(?: |$)|мобильн|phone number|whatsapp/,
  },
  email: { whole: /^(?:mail|почта|e mail|email)$/, within: /e ?mail|электронн\S* (?:почт|адрес)|имейл|емейл/ },
  website: {
    whole: /^(?:site|web|url|www|сайт|домен|domain|homepage|link|ссылка)$/,
    within: /сайт|website|web ?site|homepage|(?:^| )url(?: |$)/,
  },
  lat: { whole: /^(?:lat|latitude|широта)$/, within: /latitude|широта/ },
  lon: { whole: /^(?:lon|lng|long|longitude|долгота)$/, within: /longitude|долгота/ },
  address: { whole: /^(?:address|addr|адрес|street|улица)$/, within: /address|адрес/ },
  city: {
    whole: /^(?:city|town|город|населенный пункт|place|locality)$/,
    within: /(?:^| )(?:city|town|город)(?: |$)|населенн\S* пункт/,
  },
  category: {
    whole: /^(?:category|categories|type|kind|niche|industry|рубрика|рубрики|категория|вид|тип|ниша|отрасль|сфера)$/,
    within: /categor|industry|niche|рубрик|категор|вид деятельности|сфера деятельности|отрасл|ниша/,
  },
  company: {
    whole: /^(?:company|organi[sz]ation|business|firm|название|наименование|фирма|компания|организация)$/,
    within: /company|organi[sz]ation|business|назван|наименован|компани|организаци|фирм|юр ?лицо/,
  },
}
/** The company if no other column is; otherwise the name of a person. */
const MAYBE_COMPANY = /^(?:name|title|имя)$/
const ORDER = Object.keys(NAMES) as Column[]
const SEVERAL: ReadonlySet<Column> = new Set<Column>(['phone', 'email'])

/** Returns the meaning of each column; null for a column that is stored under its header. */
export function mapColumns(headers: readonly string[]): (Column | null)[] {
  const names = headers.map(plainHeader)
  const mapped = names.map((): Column | null => null)
  const taken = new Set<Column>()
  for (const part of ['whole', 'within'] as const) {
    for (const [i, name] of names.entries()) {
      if (mapped[i] !== null || name === '') continue
      const column = ORDER.find(one => NAMES[one][part].test(name) && (SEVERAL.has(one) || !taken.has(one)))
      if (!column) continue
      mapped[i] = column
      taken.add(column)
    }
  }
  const named = taken.has('company') ? -1 : names.findIndex((name, i) => mapped[i] === null && MAYBE_COMPANY.test(name))
  return named < 0 ? mapped : mapped.with(named, 'company')
}

/** Converts `E-mail`, `Телефон №2:` and `phone_number` to lower-case words. */
const plainHeader = (header: string): string =>
  header
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll('ё', 'е')
    .replace(/[^\p{L}]+/gu, ' ')
    .trim()
    .slice(0, 100)
