/** Kinds of businesses with their Russian and English names and their OpenStreetMap tags. */
import { folded, formsOf } from './forms.ts'
import { services } from './niche-services.ts'
import { trade } from './niche-trade.ts'

export interface Niche {
  /** Stable: `dentist`. */
  id: string
  /** Any one tag is enough; a null value matches every value. https://wiki.openstreetmap.org/wiki/Map_features */
  tags: { key: string; value: string | null }[]
  /** Singular, most common first. */
  names: { en: string[]; ru: string[] }
}

/** Words of a text that name a niche. */
export interface NicheMatch {
  niche: Niche
  /** The name that matched, from `names`. */
  name: string
  /** Positions in the text; the end is exclusive. */
  from: number
  to: number
}

export const niches: readonly Niche[] = [trade, services].flatMap(table =>
  table
    .trim()
    .split(/\n(?=\S)/)
    .map(readNiche),
)

/** Parses `id: key=value key=value`, then `english, english / русский, русский`. */
function readNiche(entry: string): Niche {
  const [, id, tags, names] = /^(\w+): (.+)\n([\s\S]+)$/.exec(entry)!
  const [en, ru] = names!.split('/').map(list => list.split(',').map(name => name.trim()))
  const read = (tag: string) => {
    const [key, value] = tag.split('=')
    return { key: key!, value: value === '*' ? null : value! }
  }
  return { id: id!, tags: tags!.split(' ').map(read), names: { en: en!, ru: ru! } }
}

/** Limit of words for unordered matching: a long text contains every word somewhere. */
const MOST_SCATTERED = 12
const WORD = /[\p{L}\p{N}]+/gu

interface Known {
  niche: Niche
  name: string
  /** All forms of each word. */
  words: ReadonlySet<string>[]
  /** True when only capitals match: lower-case `сто` means a hundred. */
  capitals: boolean
}

const names: readonly Known[] = niches.flatMap(niche =>
  [...niche.names.en, ...niche.names.ru].map(name => ({
    niche,
    name,
    words: (name.match(WORD) ?? []).map(formsOf),
    capitals: name === name.toUpperCase(),
  })),
)
/** Names by every form of their first word, longest first. */
const known = new Map<string, Known[]>()
for (const one of names.toSorted((a, b) => b.words.length - a.words.length)) {
  for (const form of one.words[0]!) {
    const list = known.get(form)
    if (list) list.push(one)
    else known.set(form, [one])
  }
}

/** Returns all niches that a text names, in order, in any inflection; of overlapping names, the one with more words. */
export function nichesIn(text: string): NicheMatch[] {
  const words = [...text.matchAll(WORD)].map(match => ({ from: match.index, as: match[0], word: folded(match[0]) }))
  const found: NicheMatch[] = []
  for (let at = 0; at < words.length; ) {
    const { word, as, from } = words[at]!
    const fits = (one: Known) =>
      one.words.every((forms, i) => forms.has(words[at + i]?.word ?? '')) && (!one.capitals || as === as.toUpperCase())
    const fitting = (known.get(word) ?? []).filter(fits)
    // `сантехник` also looks like a form of `сантехника`.
    const match =
      fitting.find(one => one.words.length === fitting[0]!.words.length && folded(one.name) === word) ?? fitting[0]
    if (!match) {
      at++
      continue
    }
    const last = words[at + match.words.length - 1]!
    found.push({ niche: match.niche, name: match.name, from, to: last.from + last.as.length })
    at += match.words.length
  }
  return found
}

/**
 * Returns the niche that a text is about: the one named with the most words, then the first one; if none is named, one
 * whose words all occur in the text, in any order.
 */
export function findNiche(text: string): Niche | null {
  const length = (match: NicheMatch) => match.name.split(/[\s-]+/).length
  const best = nichesIn(text).reduce<NicheMatch | null>(
    (best, match) => (best && length(best) >= length(match) ? best : match),
    null,
  )
  return (best ?? scattered(text))?.niche ?? null
}

function scattered(text: string): Known | null {
  const words = (text.match(WORD) ?? []).slice(0, MOST_SCATTERED).map(folded)
  const stands = (forms: ReadonlySet<string>) => words.some(word => forms.has(word))
  return names.find(one => one.words.length > 1 && one.words.every(stands)) ?? null
}
