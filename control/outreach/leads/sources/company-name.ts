/** Guesses a company's name from the title of a page and the domain of its site. Pure. */
import { domainToUnicode } from 'node:url'
import { registrableDomain } from '../vocabulary/domain.ts'
import { stemsOf } from '../vocabulary/words.ts'
import { cleanLine } from './clean.ts'

const LONGEST_NAME = 100
const BETWEEN = /\s+[|–—·•»:/-]+\s+|\s*[|•·]\s*|[:;!?]\s+|\.\s+(?=\p{Lu})|,\s+/u
/** Phrases that describe a page and not the company, with what commonly follows. */
const SAYING =
  /^(?:(?:главная|контакты|о нас|о компании|услуги|цены|отзывы|прайс|новости|каталог|официальный сайт|сайт|добро пожаловать|home|homepage|contacts?(?: us)?|about(?: us)?|services|prices|welcome|official (?:web)?site|book (?:now|online)|blog|news|our team|faq)(?:\s+(?:page|страница))?)$|купить|заказать|записаться|запись онлайн|онлайн.запись|цена|недорого|скидк|акци[ия]|гарантия|лечение|круглосуточно|book (?:an?|your)|call (?:us|now)|free quote|from £|from \$|\d+ ?(?:₽|руб)/iu
const WELCOME = /^(?:welcome to|добро пожаловать в|официальный сайт|сайт)\s+/iu
const TAIL = /\s+(?:официальный сайт|official (?:web)?site|home ?page)$/iu

export interface PageTitle {
  title: string
  host: string
  /** Niche and place of the brief, which many titles contain. */
  niche: string
  geo: string
}

/** Never empty: the domain is used when no part of the title is a name. */
export function companyOf({ title, host, niche, geo }: PageTitle): string {
  const label = labelOf(host)
  const known = new Set(stemsOf(`${niche} ${geo}`))
  const parts = cleanLine(title, 500)
    .split(BETWEEN)
    .map(part => cleanLine(part.replace(WELCOME, '').replace(TAIL, ''), LONGEST_NAME))
  const scored = parts
    .filter(part => /\p{L}/u.test(part))
    .map((part, i) => ({ part, score: worthOf(part, label, known) - i / 100 }))
  const best = scored.reduce<{ part: string; score: number } | null>((a, b) => (a && a.score >= b.score ? a : b), null)
  return best && best.score > 0 ? best.part : named(label)
}

/** Rates how likely a part of a title is the name. */
function worthOf(part: string, label: string, known: ReadonlySet<string>): number {
  const stems = stemsOf(part)
  const own = stems.filter(one => !known.has(one)).length
  const like = likeness(plain(part), plain(label))
  const quoted = /[«“"„][^»”"“]{2,}[»”"“]/u.test(part)
  return (
    (like >= 0.6 ? 4 * like : 0) +
    (quoted ? 2 : 0) +
    (own > 0 && part.length <= 50 ? 1 : 0) -
    (SAYING.test(part) ? 3 : 0) -
    (own === 0 && like < 0.6 ? 2 : 0) -
    (stems.length > 7 ? 2 : 0)
  )
}

/** `dent-a-med` of `www.dent-a-med.com.ru`. */
function labelOf(host: string): string {
  return domainToUnicode(registrableDomain(host)).split('.')[0] ?? ''
}

const named = (label: string): string => {
  const words = label.replace(/[-_]+/g, ' ').trim()
  return words === '' ? label || '?' : words[0]!.toUpperCase() + words.slice(1)
}

const LETTERS: Record<string, string> = Object.fromEntries(
  [...'абвгдезийклмнопрстуфхцыэ'].map((letter, i) => [letter, 'abvgdeziiklmnoprstufhcye'[i]!]),
)
const MORE: Record<string, string> = { ё: 'e', ж: 'zh', ч: 'ch', ш: 'sh', щ: 'sch', ъ: '', ь: '', ю: 'yu', я: 'ya' }

/** Keeps Latin letters and digits only; transliterates Cyrillic as domains do. */
const plain = (text: string): string =>
  [...text.normalize('NFKD').toLowerCase()]
    .map(letter => LETTERS[letter] ?? MORE[letter] ?? letter)
    .join('')
    .replace(/[^a-z\d]/g, '')

/** Similarity 0–1: how much of the shorter text is in the other in the same order, relative to the lengths. */
function likeness(text: string, label: string): number {
  if (text === '' || label === '') return 0
  if (text === label) return 1
  if (text.length >= 3 && label.includes(text)) return Math.max(0.6, text.length / label.length)
  if (label.length >= 4 && text.includes(label)) return Math.max(0.7, label.length / text.length)
  return (2 * commonLength(text, label)) / (text.length + label.length)
}

/** Length of the longest common subsequence. */
function commonLength(a: string, b: string): number {
  let row = new Uint16Array(b.length + 1)
  for (const letter of a) {
    const next = new Uint16Array(b.length + 1)
    for (let j = 1; j <= b.length; j++) {
      next[j] = letter === b[j - 1] ? row[j - 1]! + 1 : Math.max(row[j]!, next[j - 1]!)
    }
    row = next
  }
  return row[b.length]!
}
