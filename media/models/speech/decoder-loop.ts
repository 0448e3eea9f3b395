/**
 * Small decoders sometimes fall into a loop and write the same words until their limit. People repeat themselves too:
 * "no, no, no, no", or a number with four fives. Pure.
 */

const MAX_PERIOD_WORDS = 6
/** Fewest repetitions that are a loop: a single word, and a group of several different words. */
const SAME_WORD = 9
const SAME_GROUP = 4

const plain = (word: string) => word.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '')

/** Keeps the first occurrence of words that repeat as only a decoder does. */
export function collapseLoops(text: string): string {
  const words = text.split(/\s+/).filter(word => word !== '')
  const keys = words.map(plain)
  const kept: string[] = []
  for (let at = 0; at < words.length; ) {
    const loop = loopAt(keys, at)
    kept.push(...words.slice(at, at + (loop?.period ?? 1)))
    at += loop?.length ?? 1
  }
  return kept.join(' ')
}

/** The loop that begins at this word: its period and its length in words, with a last repetition that is cut short. */
function loopAt(keys: readonly string[], at: number): { period: number; length: number } | null {
  for (let period = 1; period <= MAX_PERIOD_WORDS; period++) {
    let end = at + period
    while (end < keys.length && keys[end] === keys[end - period]) end++
    const length = end - at
    const isOneWord = new Set(keys.slice(at, at + period)).size === 1
    if (length >= period * (isOneWord ? SAME_WORD : SAME_GROUP)) return { period, length }
  }
  return null
}
