/** Merges two rankings of the same chunks with reciprocal rank fusion (Cormack, Clarke, Büttcher, SIGIR 2009). Pure. */
import type { ChunkRef, Worded } from './sql.ts'

interface TextWeights {
  weight: number
  /** The larger, the less a chunk counts that has only some words of the query. */
  doubt: number
}

export interface FusionWeights {
  /** The larger, the less the first ranks count. */
  k: number
  vectors: number
  /** Full text for queries with a name, and for queries without. */
  named: TextWeights
  common: TextWeights
}

/**
 * Tuned on the train splits of the four sets of test/corpus/knowledge: of the weights that find no less than vectors
 * alone there, those that find most. If the query has a very rare word, a chunk with all its words ranks first,
 * whatever the vectors say: full text knows names, codes and numbers, which vectors do not. For common words it is less
 * reliable.
 */
export const FUSION: FusionWeights = {
  k: 2,
  vectors: 1,
  named: { weight: 1.4, doubt: 2.5 },
  common: { weight: 0.3, doubt: 2 },
}

/** A word is a name when at most this many chunks have it. */
export const NAMED_CHUNKS = 2

export type Ranked = ChunkRef & { score: number }

export interface Lists {
  text: readonly Worded[] | null
  vectors: readonly Ranked[] | null
  /** True when the query has a word that at most `NAMED_CHUNKS` chunks have. */
  named: boolean
}

const keyOf = ({ source_id, ordinal }: ChunkRef) => `${source_id}:${ordinal}`

/**
 * Weights full text by the share of the query's words that a chunk has: a chunk with one word of five may rank first in
 * its list and still mean little. Scores are 0–1, relative to the best possible from both lists, or from the only list.
 */
export function fuse(lists: Lists, weights = FUSION) {
  const { k, vectors } = weights
  const { weight: text, doubt } = lists.named ? weights.named : weights.common
  const both = lists.text !== null && lists.vectors !== null
  const fused = new Map<string, Ranked>()
  const add = ({ source_id, ordinal }: ChunkRef, i: number, weight: number) => {
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

/** Removes chunks with the same text; the better rank stays. */
export function withoutRepeats<T extends { text: string }>(found: readonly T[]): T[] {
  const seen = new Set<string>()
  return found.filter(({ text }) => {
    const key = text.toLowerCase().replace(/\s+/gu, ' ')
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}
