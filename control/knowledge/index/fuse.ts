/** Two orders of the same chunks into one: reciprocal rank fusion (Cormack, Clarke, Büttcher, SIGIR 2009). Pure. */
import type { Place, Worded } from './sql.ts'

interface TextWeights {
  weight: number
  /** The larger, the less a chunk counts that has only some of the question's words. */
  doubt: number
}

export interface FusionWeights {
  /** The larger, the less the first places count. */
  k: number
  vectors: number
  /** Full text, where the question has a name, and where it has none. */
  named: TextWeights
  common: TextWeights
}

/**
 * Chosen on the train splits of the four sets of test/corpus/knowledge: of what finds no less than vectors alone there, what
 * finds most. Where the question has a word that hardly anything has, a chunk with all its words is the first, whatever
 * vectors say: full text knows names, codes and numbers that they do not. Of common words it knows less.
 */
export const FUSION: FusionWeights = {
  k: 2,
  vectors: 1,
  named: { weight: 1.4, doubt: 2.5 },
  common: { weight: 0.3, doubt: 2 },
}

/** A word is a name when no more chunks have it. */
export const NAMED_CHUNKS = 2

export type Ranked = Place & { score: number }

export interface Lists {
  text: readonly Worded[] | null
  vectors: readonly Ranked[] | null
  /** The question has a word that `NAMED_CHUNKS` have at most. */
  named: boolean
}

const keyOf = ({ source_id, ordinal }: Place) => `${source_id}:${ordinal}`

/**
 * What full text says counts as far as a chunk has the question's words: one with one of five is first in its list too, and
 * means little. Scores are 0–1 by the best that both lists could give; of one list alone, by its own.
 */
export function fuse(lists: Lists, weights = FUSION) {
  const { k, vectors } = weights
  const { weight: text, doubt } = lists.named ? weights.named : weights.common
  const both = lists.text !== null && lists.vectors !== null
  const fused = new Map<string, Ranked>()
  const add = ({ source_id, ordinal }: Place, i: number, weight: number) => {
    const place = fused.get(keyOf({ source_id, ordinal })) ?? { source_id, ordinal, score: 0 }
    place.score += weight / (k + 1 + i)
    fused.set(keyOf(place), place)
  }
  for (const [i, place] of (lists.text ?? []).entries()) add(place, i, both ? text * place.share ** doubt : text)
  for (const [i, place] of (lists.vectors ?? []).entries()) add(place, i, vectors)
  const most = (lists.text ? text / (k + 1) : 0) + (lists.vectors ? vectors / (k + 1) : 0)
  return [...fused.values()]
    .map(place => ({ ...place, score: place.score / most }))
    .sort((a, b) => b.score - a.score || compare(keyOf(a), keyOf(b)))
}

const compare = (a: string, b: string) => (a < b ? -1 : 1)

/** Chunks that are said twice are given once, the better place stays. */
export function withoutRepeats<T extends { text: string }>(found: readonly T[]): T[] {
  const seen = new Set<string>()
  return found.filter(({ text }) => {
    const key = text.toLowerCase().replace(/\s+/gu, ' ')
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}
