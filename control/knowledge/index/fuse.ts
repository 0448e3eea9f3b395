/** Two orders of the same chunks into one: reciprocal rank fusion (Cormack, Clarke, Büttcher, SIGIR 2009). Pure. */
import type { Place } from './sql.ts'

/**
 * Chosen on the train split of test/corpus/knowledge, among those with which a name or number that full text alone knows
 * comes out on top: there `text` is not below `vectors`. None of these is above vectors alone in every figure of
 * that split; this one is at most 0.012 below them, and up to 0.015 above.
 */
export interface FusionWeights {
  /** The larger, the less the first places count. */
  k: number
  text: number
  vectors: number
  /** The larger, the less full text counts that has only some of the question's words. */
  doubt: number
}
export const FUSION: FusionWeights = { k: 2, text: 1, vectors: 1, doubt: 3 }
/** Scores that are this near, by the length of a chunk alone for instance, share a place. */
const SAME = 1.3

export type Ranked = Place & { score: number }

const keyOf = ({ source_id, ordinal }: Place) => `${source_id}:${ordinal}`

/**
 * What full text says counts as much as it understood: a chunk with one of five words of a question is first in its list
 * too, and means little. Scores are 0–1 by the best that both lists could give; of one list alone, by its own.
 */
export function fuse(
  lists: { text: readonly Ranked[] | null; vectors: readonly Ranked[] | null },
  weights = FUSION,
): Ranked[] {
  const fused = new Map<string, Ranked>()
  const both = lists.text !== null && lists.vectors !== null
  let most = 0
  for (const kind of ['text', 'vectors'] as const) {
    const list = lists[kind]
    if (!list) continue
    most += weights[kind] / (weights.k + 1)
    const places = kind === 'text' ? placesOf(list) : null
    for (const [i, { source_id, ordinal, score }] of list.entries()) {
      const place = fused.get(keyOf({ source_id, ordinal })) ?? { source_id, ordinal, score: 0 }
      const trust = both && kind === 'text' ? score ** weights.doubt : 1
      place.score += (weights[kind] * trust) / (weights.k + 1 + (places?.[i] ?? i))
      fused.set(keyOf(place), place)
    }
  }
  return [...fused.values()]
    .map(place => ({ ...place, score: place.score / most }))
    .sort((a, b) => b.score - a.score || compare(keyOf(a), keyOf(b)))
}

/** Of each, how many are clearly better. */
const placesOf = (list: readonly Ranked[]) =>
  list.map(({ score }) => list.findIndex(other => other.score <= score * SAME))

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

/** The next piece of a section that is already there comes after what says something else. */
export function spread<T extends Place & { heading: string }>(found: readonly T[]): T[] {
  const first: T[] = []
  const later: T[] = []
  for (const one of found) {
    const beside = first.some(
      other =>
        other.source_id === one.source_id &&
        other.heading === one.heading &&
        Math.abs(other.ordinal - one.ordinal) === 1,
    )
    ;(beside ? later : first).push(one)
  }
  return [...first, ...later]
}
