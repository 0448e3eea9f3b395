/** Splits a page into sentences and words, and detects whether a sentence denies something. Pure. */
import { stem } from '../vocabulary/words.ts'

/** Words that share only their beginning, such as `доставка` and `доставим`. */
const SHARED_BEGINNING = 5
const SHARED_PART = 0.65

export function isSameWord(a: string, b: string): boolean {
  if (a === b) return true
  if (/\d/.test(a) || /\d/.test(b)) return false
  let shared = 0
  while (shared < a.length && a[shared] === b[shared]) shared++
  return shared >= SHARED_BEGINNING && shared >= Math.max(a.length, b.length) * SHARED_PART
}

/** Replaces `ё` with `е`, because people write both. */
export const plainText = (text: string): string => text.toLowerCase().replaceAll('ё', 'е')

const CLAUSE = /[,;:!?()|•]|\s[–—-]\s|(?<!\p{L})(?:но|а|зато|but|however|only|только)(?!\p{L})/giu
const DENIAL =
  /(?<!\p{L})(?:не|нет|нету|без|кроме|отсутств\p{L}+|запрещ\p{L}+|закрыт\p{L}*|приостановлен\p{L}*|not|no|never|without|unavailable|cannot|except|closed)(?!\p{L})|n[’']t(?!\p{L})/iu
/** Phrases that contain a negative word and deny nothing. */
const NO_DENIAL =
  /не только|без (?:проблем|перерыв\p{L}*|выходных|очеред\p{L}*|боли|комисси\p{L}*|предоплат\p{L}*)|нет проблем|not only|no problem|no\.\s?\d|закрыт\p{L}{2,3} (?:парк|террит|двор)|don[’']t (?:hesitate|miss|forget)|не забуд\p{L}+|не упуст\p{L}+/giu

/** True when the part of the sentence around these positions denies the thing. */
export function isDenied(sentence: string, places: readonly number[]): boolean {
  const harmless = sentence.replace(NO_DENIAL, found => ' '.repeat(found.length))
  const breaks = [...harmless.matchAll(CLAUSE)].map(found => found.index)
  return places.some(place => {
    const from = breaks.findLast(at => at <= place) ?? 0
    const to = breaks.find(at => at > place) ?? harmless.length
    return DENIAL.test(harmless.slice(from, to))
  })
}

export interface WordAt {
  stem: string
  /** Start of the word. */
  at: number
}

export const wordsAt = (sentence: string): WordAt[] =>
  [...plainText(sentence).matchAll(/[\p{L}\p{N}]+/gu)].map(found => ({ stem: stem(found[0]), at: found.index }))

/**
 * Returns the position of each stem among the words; null when one is missing. `least`: any number of at least this
 * value matches.
 */
export function placesOf(words: readonly WordAt[], stems: readonly string[], least: number | null): number[] | null {
  const places: number[] = []
  for (const wanted of stems) {
    const isNumber = least !== null && /^\d+$/.test(wanted)
    const found = words.find(word =>
      isNumber ? /^\d{1,3}$/.test(word.stem) && Number(word.stem) >= least : isSameWord(wanted, word.stem),
    )
    if (!found) return null
    places.push(found.at)
  }
  return places
}
