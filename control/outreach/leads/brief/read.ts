/** Reads the clauses of a brief and assigns each word to a part. Pure. */
import { nichesIn } from '../vocabulary/niches.ts'
import { type Clause, type Token, textOf } from './clauses.ts'
import { ASKING, excludedBehind, GENERIC, headingOf, markerAt, type Part, REQUEST, SELF } from './markers.ts'
import { readNumber } from './numbers.ts'
import { isCapital, type PlaceName, placeAt, regionAround } from './places.ts'

export interface Phrase {
  tokens: Token[]
  /** The preposition before it, such as `с` in `с парковкой`, which determines the case. */
  led: string | null
}
export interface FoundPlace extends PlaceName {
  /** True when the previous place may lie in it. */
  within: boolean
}
export interface Reading {
  niche: Token[][]
  places: FoundPlace[]
  target: number | null
  signals: Phrase[]
  exclusions: Phrase[]
}

interface BriefReader extends Reading {
  part: Part
  /** The heading whose items follow. */
  heading: { part: Part; list: boolean } | null
  /** True when words after the comma are still excluded. */
  lasting: boolean
  /** True within a sentence about the company that asks. */
  skipping: boolean
  /** Words collected so far. */
  phrase: Phrase
  /** Places inside signals, used when the brief names no other place. */
  aside: { phrase: Phrase; from: number; places: PlaceName[]; words: number }[]
}

const PLACE_LEAD =
  /^(?:в|во|из|на|по|под|около|близ|возле|рядом|недалеко|in|near|around|across|within|throughout|from|outside|at)$/
const AND = /^(?:и|или|а|но|and|or|but|nor|ни|plus|also|то)$/
const STARTS_ANEW = /^(?:sentence|line|blank|bullet)$/

/** `plainly`: skips sentences in which the writer describes themselves, and words that only lead to a colon. */
export function readBrief(clauses: readonly Clause[], plainly: boolean): Reading {
  const reader: BriefReader = {
    niche: [],
    places: [],
    target: null,
    signals: [],
    exclusions: [],
    part: 'niche',
    heading: null,
    lasting: false,
    skipping: false,
    phrase: { tokens: [], led: null },
    aside: [],
  }
  clauses.forEach((clause, i) => {
    readClause(reader, clause, clauses[i + 1] ?? null, plainly)
    flush(reader)
  })
  if (reader.places.length === 0) takeAside(reader)
  return reader
}

function readClause(reader: BriefReader, clause: Clause, next: Clause | null, plainly: boolean): void {
  const { tokens, before } = clause
  const anew = STARTS_ANEW.test(before)
  if (anew) reader.skipping = false
  if (before === 'blank' || before === 'sentence' || (before === 'line' && !reader.heading?.list)) reader.heading = null
  const heading = headingOf(tokens)
  if (heading && next && /^(?:colon|bullet|line|comma)$/.test(next.before)) {
    // A dash counts only as a comma here; what follows it confirms the heading.
    const isHeading = next.before !== 'comma' || (heading === 'target' && numberOf(next.tokens, 0) !== null)
    if (isHeading) {
      const counted = heading === 'niche' && numberOf(next.tokens, 0)?.words === next.tokens.length
      reader.heading = { part: counted ? 'target' : heading, list: next.before !== 'colon' }
      return
    }
  }
  if (plainly && anew && speaksOfSelf(tokens)) reader.skipping = true
  if (reader.skipping) return
  if (readWhole(reader, clause)) return
  const behind = excludedBehind(tokens)
  if (behind > 0) {
    reader.part = 'exclusions'
    reader.phrase.tokens.push(...tokens.slice(0, -behind))
    return
  }
  reader.part = firstPart(reader, clause)
  readTokens(reader, tokens)
  // Text before a colon only announces the request.
  if (plainly && reader.part === 'niche' && next?.before === 'colon' && nichesIn(textOf(tokens)).length === 0) {
    reader.phrase.tokens = []
  }
}

const speaksOfSelf = (tokens: readonly Token[]): boolean =>
  (SELF.test(tokens[0]!.word) || /^(?:у нас)$/.test(`${tokens[0]!.word} ${tokens[1]?.word}`)) &&
  !tokens.some(token => REQUEST.has(token.word))

/** Reads a clause that consists only of a number or of places. */
function readWhole(reader: BriefReader, { tokens, before }: Clause): boolean {
  const part = reader.heading?.part
  if (part === 'nothing') return true
  if (part === 'signals' || part === 'exclusions') return false
  const number = numberOf(tokens, 0)
  if (number && (number.words === tokens.length || part === 'target')) {
    reader.target ??= number.value
    return true
  }
  if (reader.part === 'exclusions' && reader.lasting && !STARTS_ANEW.test(before)) return false
  const led = PLACE_LEAD.test(tokens[0]!.word)
  const found = placesAt(tokens, led ? 1 : 0, led || part === 'geo')
  if (!found || found.end < tokens.length) return false
  // A name of one word may mean anything, unless the list continues or a place was expected.
  const within = !STARTS_ANEW.test(before) && reader.places.length > 0
  reader.places.push(...found.places.map((place, i) => ({ ...place, within: i === 0 && within })))
  return true
}

function firstPart(reader: BriefReader, { tokens, before }: Clause): Part {
  if (reader.heading) return reader.heading.part
  if (reader.niche.length === 0) return 'niche'
  if (STARTS_ANEW.test(before) || before === 'colon') return 'signals'
  if (reader.part === 'exclusions' && (reader.lasting || isCapital(tokens[0]) || /\.\p{L}{2,}$/u.test(tokens[0]!.word)))
    return 'exclusions'
  const goesOn = reader.part === 'niche' && reader.places.length === 0 && reader.signals.length === 0
  return goesOn && nichesIn(textOf(tokens))[0]?.from === 0 ? 'niche' : 'signals'
}

function readTokens(reader: BriefReader, tokens: readonly Token[]): void {
  for (let at = 0; at < tokens.length; ) {
    const starts = at === 0 || AND.test(tokens[at - 1]!.word)
    at += readNext(reader, tokens, at, starts)
  }
}

/** Returns the number of words it has read, at least one. */
function readNext(reader: BriefReader, tokens: readonly Token[], at: number, starts: boolean): number {
  const number = reader.part === 'exclusions' ? null : numberOf(tokens, at)
  if (number && reader.target === null && countsLeads(reader, tokens, at + number.words)) {
    reader.target = number.value
    return number.words
  }
  const marker = markerAt(tokens, at, reader.part, starts)
  if (marker) {
    flush(reader)
    if (!starts || marker.part !== reader.part || marker.part === 'exclusions') reader.lasting = marker.lasting
    if (reader.heading?.part !== 'exclusions') reader.part = marker.part
    if (marker.drop) reader.phrase.led = tokens[at]!.word
    else reader.phrase.tokens.push(tokens[at]!)
    return Math.max(1, marker.words)
  }
  if (reader.part === 'niche' || reader.part === 'geo') {
    const taken = readPlaces(reader, tokens, at)
    if (taken > 0) return taken
  } else if (reader.part === 'signals') noteAside(reader, tokens, at)
  reader.phrase.tokens.push(tokens[at]!)
  return 1
}

function readPlaces(reader: BriefReader, tokens: readonly Token[], at: number): number {
  const led = PLACE_LEAD.test(tokens[at]!.word)
  const found = placesAt(tokens, led ? at + 1 : at, led || reader.heading?.part === 'geo')
  if (!found) return 0
  reader.places.push(...found.places.map(place => ({ ...place, within: false })))
  flush(reader)
  const next = tokens[found.end]?.word ?? ''
  if (reader.niche.length > 0 && reader.heading === null)
    reader.part = /^(?:по|для|for)$/.test(next) ? 'niche' : 'signals'
  return found.end - at
}

/** Reads one place, or several joined by "and". */
function placesAt(tokens: readonly Token[], at: number, led: boolean): { places: PlaceName[]; end: number } | null {
  const first = placeAt(tokens, at, led)
  if (!first) return null
  const places = [first]
  let end = at + first.words
  for (;;) {
    const linked = /^(?:и|или|and|or|&)$/.test(tokens[end]?.word ?? '')
    const from = linked ? end + 1 : end
    const again = linked && PLACE_LEAD.test(tokens[from]?.word ?? '') ? from + 1 : from
    const around =
      linked && /^обл(?:асть|асти)?$/.test(tokens[from]?.word ?? '') ? regionAround(places.at(-1)!.name) : null
    const next = around ?? placeAt(tokens, again, linked && led)
    // Two names in a row are two places only if both are known cities.
    if (!next || (!linked && !(next.kind === 'city' && first.kind === 'city'))) break
    places.push(next)
    end = again + next.words
  }
  return { places, end }
}

function noteAside(reader: BriefReader, tokens: readonly Token[], at: number): void {
  if (!/^(?:в|во|in|near|around)$/.test(tokens[at]!.word)) return
  const found = placesAt(tokens, at + 1, true)
  if (found)
    reader.aside.push({ phrase: reader.phrase, from: reader.phrase.tokens.length, ...found, words: found.end - at })
}

function takeAside(reader: BriefReader): void {
  const first = reader.aside[0]
  if (!first) return
  reader.places.push(...first.places.map(place => ({ ...place, within: false })))
  first.phrase.tokens.splice(first.from, first.words)
}

// ---- Numbers ----

const ROUGHLY =
  /^(?:около|примерно|порядка|где-то|до|от|минимум|максимум|хотя|бы|не|более|менее|больше|меньше|хватит|about|around|approximately|roughly|up|to|at|least|most|between|no|less|than|more|some|нужно|надо|это|need|of|only|maybe|ровно)$/
const COUNTED = /^(?:is|are|enough|хватит|достаточно|будет|max|maximum|максимум|total|всего|in|или|около|так|please)$/
const MEASURE =
  /^(?:лет|год|года|году|годов|час|часа|часов|мин|минут|дней|дня|звезд|звезды|звезда|сотрудник|человек|чел|км|метров|кв|руб|рубл|этаж|филиал|процент|долл|евро|балл|отзыв|years?|hours?|minutes?|days?|stars?|employees?|people|staff|km|miles?|percent|usd|eur|dollars?|reviews?|locations?|branches|rooms?|номер)/

/** No number with all its qualifiers has more words. */
const MOST_OF_NUMBER = 24

/**
 * Includes words of estimation before the number and generic nouns around it: `штук двадцать пять`, `at least 15
 * leads`.
 */
function numberOf(tokens: readonly Token[], at: number): { value: number; words: number } | null {
  const words = tokens.slice(at, at + MOST_OF_NUMBER).map(token => (token.text === 'СТО' ? '' : token.word))
  let from = 0
  while (from < words.length && from < 6 && (ROUGHLY.test(words[from]!) || GENERIC.has(words[from]!))) {
    if (readNumber(words, from)) break
    from++
  }
  const read = readNumber(words, from)
  if (!read || read.value < 1 || (read.value === 1 && !/^\d/.test(words[from]!))) return null
  let end = from + read.words
  if (MEASURE.test(words[end] ?? '')) return null
  while (GENERIC.has(words[end] ?? '') || (end > from && COUNTED.test(words[end] ?? '') && isRest(words, end))) end++
  return { value: read.value, words: end }
}

const isRest = (words: readonly string[], from: number) =>
  words.slice(from).every(word => COUNTED.test(word) || GENERIC.has(word))

/** A number before what is sought counts it; elsewhere only a number that stands alone does. */
function countsLeads(reader: BriefReader, tokens: readonly Token[], end: number): boolean {
  if (reader.part === 'niche' || reader.part === 'target') return true
  if (reader.part !== 'signals' || reader.phrase.tokens.length > 0) return false
  return end >= tokens.length || markerAt(tokens, end, 'niche', true) !== null
}

// ---- Phrases ----

function flush(reader: BriefReader): void {
  const { phrase } = reader
  reader.phrase = { tokens: [], led: null }
  if (phrase.tokens.length === 0) return
  if (reader.part === 'niche') {
    const tokens = sought(phrase.tokens)
    if (tokens.length > 0) reader.niche.push(tokens)
  } else if (reader.part === 'signals') reader.signals.push(phrase)
  else if (reader.part === 'exclusions') reader.exclusions.push(phrase)
}

/** Removes words of request; returns nothing when the phrase names companies of no kind. */
function sought(tokens: readonly Token[]): Token[] {
  const little = ({ word }: Token) => ASKING.has(word) || !/\p{L}/u.test(word)
  let from = 0
  while (from < tokens.length && (little(tokens[from]!) || GENERIC.has(tokens[from]!.word))) from++
  // `Торговых точек` is kept whole, because it is a known kind.
  const named = nichesIn(textOf(tokens.slice(from))).length > 0
  let to = tokens.length
  while (to > from && (little(tokens[to - 1]!) || (!named && GENERIC.has(tokens[to - 1]!.word)))) to--
  // "Companies for something" keeps its noun, which the preposition needs.
  if (from < to && /^(?:по|для|for|в|in)$/.test(tokens[from]!.word) && GENERIC.has(tokens[from - 1]?.word ?? '')) from--
  return tokens.slice(from, to)
}
