/**
 * Finds places in a brief: those of a table, and words that a preposition and a capital, or the ending of a Russian
 * town, identify as one. Names are returned in the nominative if Russian grammar allows. Pure.
 */
import { folded, formsOf } from '../vocabulary/forms.ts'
import type { Token } from './clauses.ts'
import { placeTable } from './place-table.ts'

export type PlaceKind = 'city' | 'region' | 'country' | 'unknown'

export interface PlaceName {
  name: string
  kind: PlaceKind
  /** The name in the other language, if known. */
  other: string | null
  /** Number of words that were read. */
  words: number
}

interface Entry {
  name: string
  other: string
  kind: PlaceKind
  /** All forms of each word. */
  words: ReadonlySet<string>[]
}

const partsOf = (name: string): string[] => name.split(/[\s-]+/).map(part => part.replace(/\./g, ''))
const CYRILLIC = /\p{Script=Cyrillic}/u

/** Entries by every form of their first word, longest first. */
const known = new Map<string, Entry[]>()
for (const entry of Object.entries(placeTable)
  .flatMap(readKind)
  .sort((a, b) => b.words.length - a.words.length)) {
  for (const form of entry.words[0]!) known.set(form, [...(known.get(form) ?? []), entry])
}

function readKind([kind, lines]: [string, string]): Entry[] {
  return lines.split(/,|\n/).flatMap(line => {
    const [ru, en, ...synonyms] = line.trim().split('=') as [string, string, ...string[]]
    return [ru, en, ...synonyms].map(written => {
      const russian = CYRILLIC.test(written)
      const name = russian ? ru : /^(?:UK|USA?|UAE)$/.test(written) ? written : en
      // English names are not inflected: there is no form `nices` of Nice.
      const words = partsOf(written).map(part =>
        russian ? formsOf(part) : new Set([folded(part), `${folded(part)}'s`]),
      )
      return { name, other: russian ? en : ru, kind: kind as PlaceKind, words }
    })
  })
}

/** Returns the name in the other language; null when it is unknown. */
export const translated = (name: string): string | null => {
  const parts = partsOf(name).map(folded)
  const fits = (entry: Entry) =>
    entry.words.length === parts.length && entry.words.every((forms, i) => forms.has(parts[i]!))
  return known.get(parts[0] ?? '')?.find(fits)?.other ?? null
}

export const isCapital = (token: Token | undefined): boolean => token !== undefined && /^\p{Lu}/u.test(token.text)

/** Words that name a place only after a preposition or with a capital: `nice`, `us`, `шахты`, `орёл`. */
const COMMON = new Set(
  'nice us georgia phoenix орел орлы шахты днепр чита находка владимир брест порту кент братск дел дела делам дели бал балы балов вены рига киров'.split(
    ' ',
  ),
)

function knownAt(tokens: readonly Token[], at: number, led: boolean): PlaceName | null {
  const token = tokens[at]
  if (!token) return null
  const parts: { word: string; token: number }[] = []
  for (let i = at; i < tokens.length && i < at + 4; i++) {
    for (const part of partsOf(tokens[i]!.word)) parts.push({ word: part, token: i })
  }
  const entry = known
    .get(parts[0]?.word ?? '')
    ?.find(entry => entry.words.every((forms, i) => forms.has(parts[i]?.word ?? '')))
  if (!entry) return null
  const capital = isCapital(token)
  if (!capital && !led && (COMMON.has(token.word) || (CYRILLIC.test(token.word) && token.word.length < 4))) return null
  // `us`, `ma`, `il` only in capitals; `uk` has no other meaning.
  if (/^(?!uk$)[a-z]{2}$/.test(token.word) && token.text !== token.text.toUpperCase()) return null
  const last = parts[entry.words.length - 1]!.token
  // A hyphenated word counts as a whole: `Нижний-Сити` does not contain the place `Нижний`.
  if (parts[entry.words.length]?.token === last) return null
  return { name: entry.name, kind: entry.kind, other: entry.other, words: last + 1 - at }
}

const LEADING =
  /^(?:the|of|city|town|greater|area|весь|вся|всю|всей|всему|всем|город|города|городе|городах|г|гор|пос|поселок|поселке)$/
const SIDE =
  /^(?:downtown|central|inner|east|west|north|south|northern|southern|eastern|western|центр[еау]?|север[еау]?|юг[еау]?|запад[еау]?|восток[еау]?|окраин[аеу]|пригород[еау]?)$/
/** Nouns for kinds of places that follow an adjective, and the adjective's nominative ending. */
const RUSSIAN_TYPES: [RegExp, string, 'ая' | 'ый'][] = [
  [/^област[ьи]$/, 'область', 'ая'],
  [/^республик[аеуи]$/, 'республика', 'ая'],
  [/^улиц[аеуы]$/, 'улица', 'ая'],
  [/^набережн(?:ая|ой|ую)$/, 'набережная', 'ая'],
  [/^площад[ьи]$/, 'площадь', 'ая'],
  [/^кра[йяею]$/, 'край', 'ый'],
  [/^район[еау]?$/, 'район', 'ый'],
  [/^округ[еау]?$/, 'округ', 'ый'],
  [/^проспект[еау]?$/, 'проспект', 'ый'],
]
const TYPE = /^(?:county|district|region|province|state|area|metro|valley|island|borough|street|avenue)$/
const LINK = /^(?:of|the|de|la|du|del|upon|am|an|der|sur|на|над)$/

/** Reads a place that starts at `at`. `led`: after a preposition, where a name outside the table may be a place too. */
export function placeAt(tokens: readonly Token[], at: number, led: boolean): PlaceName | null {
  let start = at
  while (led && LEADING.test(tokens[start]?.word ?? '')) start++
  if (led && start > at && /^(?:greater|the)$/.test(tokens[start - 1]!.word) && knownAt(tokens, start - 1, led)) start--
  const skipped = start - at
  const grow = (place: PlaceName | null): PlaceName | null => place && { ...place, words: place.words + skipped }
  const side = sideOf(tokens, start)
  if (side) return grow(side)
  const typed = typedAt(tokens, start, led)
  if (typed) return grow(typed)
  const known = knownAt(tokens, start, led)
  if (known) return grow(known)
  return led ? grow(unknownAt(tokens, start)) : null
}

/** Downtown Chicago, центр Москвы: the known place keeps its form after the narrowing word. */
function sideOf(tokens: readonly Token[], at: number): PlaceName | null {
  const side = tokens[at]
  if (!side || !SIDE.test(side.word)) return null
  const known = knownAt(tokens, at + 1, true)
  if (!known) return null
  const inner = tokens.slice(at + 1, at + 1 + known.words).map(token => token.text)
  const first = CYRILLIC.test(side.text) ? side.text.replace(/[еау]$/u, '') : side.text
  return { name: [first, ...inner].join(' '), kind: 'city', other: null, words: 1 + known.words }
}

/** Калининградской области, Пресненском районе Москвы, республике Татарстан, Kent County. */
function typedAt(tokens: readonly Token[], at: number, led: boolean): PlaceName | null {
  const first = tokens[at]
  if (!first) return null
  if (/^республик/.test(first.word)) {
    const known = knownAt(tokens, at + 1, true)
    return known && { ...known, words: known.words + 1 }
  }
  const type = tokens[at + 1]
  const kind = RUSSIAN_TYPES.find(([pattern]) => pattern.test(type?.word ?? ''))
  if (!kind || !(isCapital(first) || (led && /ск(?:ой|ом|ая|ий|ую)$/.test(first.word)))) return null
  const [, noun, ending] = kind
  const name = `${adjectiveOf(capitalised(first.text), ending)} ${noun}`
  const city = /^(?:район|округ|улица|проспект|площадь|набережная)$/.test(noun) ? knownAt(tokens, at + 2, true) : null
  if (!city) return { name, kind: 'region', other: null, words: 2 }
  const inner = tokens.slice(at + 2, at + 2 + city.words).map(token => token.text)
  return { name: [name, ...inner].join(' '), kind: 'city', other: null, words: 2 + city.words }
}

const adjectiveOf = (word: string, ending: 'ая' | 'ый'): string =>
  ending === 'ая'
    ? word.replace(/(?:ой|ую)$/, 'ая')
    : word.replace(/(?<=[кгх])(?:ом|ого|ому)$/, 'ий').replace(/(?:ом|ого|ому)$/, 'ый')

const MOST_WORDS = 4
/** Endings of Russian towns that no other word has in this position. */
const TOWN = /(?:[нвлрмтдйаои]ске|цке|граде|бурге|поле|горске|[а-я]{3,}[ое]во)$/
const NO_TOWN = /^(?:поиске|списке|риске|офисе|иске|поле|полиске|основе|количестве|качестве|русске|право|место)$/

function unknownAt(tokens: readonly Token[], at: number): PlaceName | null {
  const first = tokens[at]
  if (!first || /^\d/.test(first.word)) return null
  if (!isCapital(first)) {
    if (!TOWN.test(first.word) || NO_TOWN.test(first.word)) return null
    return { name: nominative(capitalised(first.text)), kind: 'unknown', other: null, words: 1 }
  }
  let end = at + 1
  for (; end < tokens.length && end < at + MOST_WORDS; end++) {
    if (isCapital(tokens[end])) continue
    if (TYPE.test(tokens[end]!.word)) continue
    if (LINK.test(tokens[end]!.word) && isCapital(tokens[end + 1])) continue
    break
  }
  const words = tokens.slice(at, end).map(token => token.text)
  const name = words.length === 1 ? nominative(words[0]!) : words.join(' ')
  return { name, kind: 'unknown', other: null, words: end - at }
}

const capitalised = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

/** Converts a town from the prepositional case. Keeps the form when its gender is ambiguous. */
function nominative(word: string): string {
  return word.replace(/(?<=[сц]к|град|бург|поль|ов|ев|дар)е$/u, '').replace(/(?<=пол)е$/u, 'ь')
}

const CITY_OF: Record<PlaceKind, number> = { city: 0, unknown: 0, region: 1, country: 2 }

/** `Москва и область`: returns the region around a city, if its name tells it. */
export function regionAround(city: string): PlaceName | null {
  const own = new Map([
    ['Москва', 'Московская область'],
    ['Санкт-Петербург', 'Ленинградская область'],
  ]).get(city)
  const name = own ?? (/[сц]к$/.test(city) ? `${city}ая область` : null)
  return name === null ? null : { name, kind: 'region', other: null, words: 1 }
}

/**
 * Joins several places: `; ` between them, `, ` between a place and the one that contains it. At most 200 characters.
 */
export function joinPlaces(places: readonly { name: string; kind: PlaceKind; within: boolean }[]): string {
  let text = ''
  let last: PlaceKind | null = null
  const seen = new Set<string>()
  for (const { name, kind, within } of places) {
    const inside = within && last !== null && CITY_OF[kind] > CITY_OF[last]
    last = kind
    if (seen.has(name.toLowerCase())) continue
    const longer = text === '' ? name : `${text}${inside ? ', ' : '; '}${name}`
    if (longer.length > 200) break
    seen.add(name.toLowerCase())
    text = longer
  }
  return text
}

/** Reverses `joinPlaces`. */
export const splitPlaces = (geo: string): string[] =>
  geo
    .split(/;|\n/)
    .map(place => place.trim())
    .filter(Boolean)
