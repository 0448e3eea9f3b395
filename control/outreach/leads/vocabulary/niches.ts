/** Kinds of businesses, as they are called in Russian and English and as OpenStreetMap tags them. */
import { folded, formsOf } from './forms.ts'
import { services } from './niche-services.ts'
import { trade } from './niche-trade.ts'

export interface Niche {
  /** Stable: `dentist`. */
  id: string
  /** Any of them stands for it; value null: whatever it is. https://wiki.openstreetmap.org/wiki/Map_features */
  tags: { key: string; value: string | null }[]
  /** In the singular, the usual one first. */
  names: { en: string[]; ru: string[] }
}

/** Words of a text that name a niche. */
export interface NicheMatch {
  niche: Niche
  /** Of `names`, the one that was found. */
  name: string
  /** Positions in the text, the end excluded. */
  from: number
  to: number
}

export const niches: readonly Niche[] = [trade, services].flatMap(table =>
  table
    .trim()
    .split(/\n(?=\S)/)
    .map(readNiche),
)

/** `id: key=value key=value`, then `english, english / русский, русский`. */
function readNiche(entry: string): Niche {
  const [, id, tags, names] = /^(\w+): (.+)\n([\s\S]+)$/.exec(entry)!
  const [en, ru] = names!.split('/').map(list => list.split(',').map(name => name.trim()))
  const read = (tag: string) => {
    const [key, value] = tag.split('=')
    return { key: key!, value: value === '*' ? null : value! }
  }
  return { id: id!, tags: tags!.split(' ').map(read), names: { en: en!, ru: ru! } }
}

/** In a long text everything stands somewhere. */
const MOST_SCATTERED = 12
const WORD = /[\p{L}\p{N}]+/gu

interface Known {
  niche: Niche
  name: string
  /** Of each word, all its forms. */
  words: ReadonlySet<string>[]
  /** `СТО` is a hundred when it is written small. */
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
/** By every form of the first word, the longest first. */
const known = new Map<string, Known[]>()
for (const one of names.toSorted((a, b) => b.words.length - a.words.length)) {
  for (const form of one.words[0]!) {
    const list = known.get(form)
    if (list) list.push(one)
    else known.set(form, [one])
  }
}

/** All that a text names, in its order, whatever the inflection; of names that overlap, the one of more words. */
export function nichesIn(text: string): NicheMatch[] {
  const words = [...text.matchAll(WORD)].map(match => ({ from: match.index, as: match[0], word: folded(match[0]) }))
  const found: NicheMatch[] = []
  for (let at = 0; at < words.length; ) {
    const { word, as, from } = words[at]!
    const fits = (one: Known) =>
      one.words.every((forms, i) => forms.has(words[at + i]?.word ?? '')) && (!one.capitals || as === as.toUpperCase())
    const fitting = (known.get(word) ?? []).filter(fits)
    // `сантехник` is written like a form of `сантехника` too.
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
 * What kind of business a text speaks of: where it names several, the one named in most words, then the first; where it names
 * none, one whose words all stand in it, in whatever order.
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
