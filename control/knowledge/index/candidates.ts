/** Selects the chunks worth ranking: a query's rare words select them, its common ones only in pairs. Pure. */
import { type CandidatePlan, type QueryWord, quoted } from './sql.ts'

/** Chunks ranked for one query: 7 ms in Postgres, most of it to fetch them. */
export const MOST_CANDIDATES = 800
/** Words of a query that are used; the rarest of a longer query say enough. */
const MOST_WORDS = 16
/**
 * Factor by which two words of a query occur together more often than by chance, because they are about the same
 * subject.
 */
const MEETING = 4

/** Inverse document frequency of Robertson and Spärck Jones, in BM25's form that is never negative. */
const rarity = (chunks: number, total: number) => Math.log(1 + (total - chunks + 0.5) / (chunks + 0.5))

/**
 * `words`: rarest first; `unknown`: number of further words that no chunk has. Returns null when no chunk has any of
 * the words.
 */
export function planCandidates(words: readonly QueryWord[], unknown: number, total: number): CandidatePlan | null {
  const used = words.slice(0, MOST_WORDS)
  if (used.length === 0) return null
  const all = Math.max(total, ...used.map(({ chunks }) => chunks))
  const known = used.reduce((sum, { chunks }) => sum + rarity(chunks, all), 0)
  const parts: string[] = []
  let room = MOST_CANDIDATES
  const alone = used.filter(({ lexeme, chunks }) => {
    if (chunks > room) return false
    room -= chunks
    parts.push(quoted(lexeme))
    return true
  })
  const common = used.filter(word => !alone.includes(word))
  const pairs = common
    .flatMap((one, i) =>
      common.slice(i + 1).map(two => ({ one, two, size: (one.chunks * two.chunks * MEETING) / all })),
    )
    .sort((a, b) => a.size - b.size)
  for (const { one, two, size } of pairs) {
    if (size > room) break
    room -= size
    parts.push(`(${quoted(one.lexeme)} & ${quoted(two.lexeme)})`)
  }
  // No word is rare: rank as many chunks as the limit allows.
  if (parts.length === 0)
    parts.push(
      common
        .slice(0, 2)
        .map(({ lexeme }) => quoted(lexeme))
        .join(' & '),
    )
  return {
    candidates: parts.join(' | '),
    most: MOST_CANDIDATES,
    full: known + unknown * rarity(0, all),
    words: used.map(({ lexeme, chunks }) => ({ lexeme, weight: rarity(chunks, all) })),
  }
}
