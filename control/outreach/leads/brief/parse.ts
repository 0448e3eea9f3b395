/**
 * Reads a brief without a model, in Russian and English: what is sought, where, how many, what is wanted and what is
 * excluded. Marker words separate the parts; parts that the text does not mention are named as missing. Pure.
 */
import { findNiche, type Niche, nichesIn } from '../vocabulary/niches.ts'
import type { BriefReader, ParsedBrief } from '../vocabulary/types.ts'
import { clausesOf, type Token, textOf } from './clauses.ts'
import { compose } from './compose.ts'
import { FILLER, TRAILING } from './markers.ts'
import { joinPlaces } from './places.ts'
import { type Phrase, type Reading, readBrief } from './read.ts'
import { nominativeOf } from './wording.ts'

export function parseBrief(raw: string): ParsedBrief {
  const clauses = clausesOf(raw)
  const first = readBrief(clauses, true)
  const reading = first.niche.length > 0 || nicheOfSignals(first) ? first : readBrief(clauses, false)
  const { niche, signals } = nicheOf(reading)
  return compose({
    niche,
    geo: joinPlaces(reading.places),
    target: reading.target,
    signals,
    exclusions: itemsOf(reading.exclusions, false),
  })
}

/** Never rejects. */
export const plainReader: BriefReader = { read: async raw => parseBrief(raw) }

// ---- What is sought ----

function nicheOf(reading: Reading): { niche: string; signals: string[] } {
  const said = nominativeOf(reading.niche.map(textOf).join(', '))
  if (said !== '') return { niche: said, signals: itemsOf(reading.signals, true) }
  // The text describes companies only by what they do, which tells their kind.
  const implied = nicheOfSignals(reading)
  if (!implied) return { niche: '', signals: itemsOf(reading.signals, true) }
  const text = textOf(implied.phrase.tokens)
  const { ru, en } = implied.niche.names
  const name = nichesIn(text)[0]?.name ?? (/\p{Script=Cyrillic}/u.test(text) ? ru : en)[0]!
  const others = reading.signals.filter(phrase => phrase !== implied.phrase)
  return { niche: name, signals: itemsOf(others, true) }
}

function nicheOfSignals({ signals }: Reading): { niche: Niche; phrase: Phrase } | null {
  for (const phrase of signals) {
    const niche = findNiche(textOf(phrase.tokens))
    if (niche) return { niche, phrase }
  }
  return null
}

// ---- Lists ----

const AND = /^(?:и|или|and|or|nor|ни|plus|а|также)$/
/** Continuations that an "and" adds without starting a new item. */
const MERELY =
  /^(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekends?|понедельник|вторник|сред[ау]|четверг|пятниц[ау]|суббот[ау]|воскресень[ея]|праздники|выходные|\d.*)$/

function itemsOf(phrases: readonly Phrase[], wished: boolean): string[] {
  return phrases.flatMap(({ tokens, led }) =>
    apart(tokens).map(item => {
      const words = wished ? bare(item) : item.filter((token, i) => i > 0 || !/^(?:the|a|an|any|of)$/.test(token.word))
      const text = textOf(words)
      return wished && /^со?$/.test(led ?? item[0]?.word ?? '') ? nominativeOf(text, 'instrumental') : text
    }),
  )
}

function apart(tokens: readonly Token[]): Token[][] {
  const items: Token[][] = [[]]
  tokens.forEach((token, i) => {
    const next = tokens[i + 1]
    if (AND.test(token.word) && next && !MERELY.test(next.word)) items.push([])
    else items.at(-1)!.push(token)
  })
  return items
}

/** Removes the words that only express the wish. */
function bare(tokens: readonly Token[]): Token[] {
  let from = 0
  while (from < tokens.length && FILLER.has(tokens[from]!.word) && !/^\d/.test(tokens[from + 1]?.word ?? '')) from++
  let to = tokens.length
  while (to > from && TRAILING.has(tokens[to - 1]!.word)) to--
  return tokens.slice(from, to)
}
