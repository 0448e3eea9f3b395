/** Which chunks are worth ranking: a question's rare words find them, its common ones only together. Pure. */
import { type CandidatePlan, type QueryWord, quoted } from './sql.ts'

/** Ranked for one question: 7 ms of Postgres, most of it to fetch them. */
export const MOST_CANDIDATES = 800
/** A longer question says the rest with its rarest words too. */
const MOST_WORDS = 16
/** Words of a question are about the same thing, and meet more often than chance has them meet. */
const MEETING = 4

/** Robertson and Spärck Jones, as BM25 has it: never negative. */
const rarity = (chunks: number, total: number) => Math.log(1 + (total - chunks + 0.5) / (chunks + 0.5))

/** `words` with the rarest first, `unknown` how many more were asked for; null: no chunk has any of them. */
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
  // Nothing is rare: as many as the limit lets through.
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
