/** Guesses the meaning of table columns from their English or Russian headings and their contents. Pure. */
import type { Row } from './read-table.ts'

export const roles = ['phone', 'name', 'var', 'none'] as const
export type Role = (typeof roles)[number]

export interface Column {
  index: number
  /** The heading; empty if there is none. */
  title: string
  role: Role
  /** The variable's name, if the role is `var`. */
  variable: string
  /** The first non-empty value. */
  sample: string
}

/** Variable names that the API accepts. */
export const VARIABLE = /^[A-Za-z0-9_]{1,64}$/

const LOOKED_AT = 200

export function looksLikePhone(text: string): boolean {
  const bare = text.trim().replace(/[\s().\-–—]/g, '')
  return /^\+?\d{7,15}$/.test(bare)
}

/** A first row without a phone number is a header: every other row of a call list has one. */
export const hasHeading = (rows: readonly Row[]): boolean =>
  rows.length > 0 && !rows[0]!.cells.some(cell => looksLikePhone(cell) || SCIENTIFIC.test(cell.trim()))

/** How a spreadsheet shows a long number in a narrow column; the last digits are lost in the file. */
export const SCIENTIFIC = /^\d(?:[.,]\d+)?E\+?\d{1,2}$/i

const PHONE_TITLE = /phone|mobile|\btel\b|\bcell|msisdn|телефон|^тел|моб|номер|сотов/i
/** Long digit strings that are not phone numbers. */
const OTHER_NUMBERS = /\b(?:id|inn|order|invoice|account|passport)\b|инн|огрн|снилс|заказ|сч[её]т|договор|паспорт|^код/i
const NAME_TITLES = [
  /^(?:full[\s_-]*name|фио|ф\.?\s*и\.?\s*о\.?)$/i,
  /^(?:name|имя)$/i,
  /^(?:first[\s_-]*name|contact|client|customer|клиент|контакт|абонент|получатель)(?:\s|$)/i,
  /(?:имя|фио|name)/i,
]

export function guessColumns(rows: readonly Row[], heading: boolean): Column[] {
  const titles = heading ? (rows[0]?.cells ?? []) : []
  const body = rows.slice(heading ? 1 : 0, LOOKED_AT)
  const width = Math.max(titles.length, ...body.map(({ cells }) => cells.length), 0)
  const bare = Array.from({ length: width }, (_, index) => {
    const cells = body.map(row => row.cells[index]?.trim() ?? '').filter(cell => cell !== '')
    return { index, title: titles[index]?.trim() ?? '', cells }
  })
  const phone = phoneColumn(bare)
  const name = nameColumn(bare, phone)
  const taken = new Set<string>()
  return bare.map(({ index, title, cells }) => {
    const role = index === phone ? 'phone' : index === name ? 'name' : cells.length > 0 ? 'var' : 'none'
    const variable = unused(variableName(title, index), taken)
    taken.add(variable)
    return { index, title, role, variable, sample: cells[0] ?? '' }
  })
}

interface Bare {
  index: number
  title: string
  cells: string[]
}

function phoneColumn(columns: readonly Bare[]): number | null {
  const scores = columns.map(({ index, title, cells }) => {
    const share = cells.filter(cell => looksLikePhone(cell) || SCIENTIFIC.test(cell)).length / Math.max(1, cells.length)
    const told = PHONE_TITLE.test(title) ? 0.5 : 0
    const denied = OTHER_NUMBERS.test(title) ? 0.6 : 0
    return { index, score: share + told - denied }
  })
  const best = scores.reduce<(typeof scores)[number] | null>((a, b) => (a && a.score >= b.score ? a : b), null)
  return best && best.score >= 0.4 ? best.index : null
}

function nameColumn(columns: readonly Bare[], phone: number | null): number | null {
  for (const title of NAME_TITLES) {
    const found = columns.find(column => column.index !== phone && title.test(column.title))
    if (found) return found.index
  }
  return null
}

const LETTERS: Readonly<Record<string, string>> = {
  а: 'a',
  б: 'b',
  в: 'v',
  г: 'g',
  д: 'd',
  е: 'e',
  ё: 'e',
  ж: 'zh',
  з: 'z',
  и: 'i',
  й: 'y',
  к: 'k',
  л: 'l',
  м: 'm',
  н: 'n',
  о: 'o',
  п: 'p',
  р: 'r',
  с: 's',
  т: 't',
  у: 'u',
  ф: 'f',
  х: 'kh',
  ц: 'ts',
  ч: 'ch',
  ш: 'sh',
  щ: 'shch',
  ъ: '',
  ы: 'y',
  ь: '',
  э: 'e',
  ю: 'yu',
  я: 'ya',
}

/** Converts a heading to a variable name: `Дата заказа` becomes `data_zakaza`. */
export function variableName(title: string, index: number): string {
  if (VARIABLE.test(title)) return title
  const latin = [...title.toLowerCase().normalize('NFC')].map(letter => LETTERS[letter] ?? letter).join('')
  const name = latin
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '_')
    .slice(0, 60)
    .replace(/^_+|_+$/g, '')
  return name === '' ? `column_${index + 1}` : name
}

function unused(name: string, taken: ReadonlySet<string>): string {
  let found = name
  for (let n = 2; taken.has(found); n++) found = `${name.slice(0, 60)}_${n}`
  return found
}

/** Returns the `{{variable}}` names in a text, without duplicates. */
export const variablesOf = (text: string): string[] => [
  ...new Set([...text.matchAll(/\{\{\s*([A-Za-z0-9_]{1,64})\s*\}\}/g)].map(match => match[1]!)),
]
