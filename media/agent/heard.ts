/** Estimates how much of a sentence was played when its audio was cut. Pure. */
import type { SpokenWord } from '../ports/speech.ts'

/** Default pace in ms per letter for speech that is still being synthesised, until the voice's own pace is known. */
export const USUAL_PACE = 1000 / 17
/** Minimum share of the estimated length. Shorter audio was truncated, even if the vendor reports it as complete. */
export const SHORTEST = 0.4
/** Estimates below this length in ms are unreliable. */
const SURELY_MS = 1500

export interface PlayedSpeech {
  text: string
  playedMs: number
  /** Length of the whole audio in ms; null while it is still being synthesised. */
  totalMs: number | null
  /** Word timings of the vendor, in order; empty when it sends none. */
  words?: readonly SpokenWord[]
  /** Pace of this voice in ms per letter, from `paceOf`; `USUAL_PACE` by default. */
  pace?: number
}

/**
 * Returns the words that were played, by the share of the audio; a word counts when more than half of it was played.
 * Pauses at punctuation weigh as letters, since they take time but no words.
 */
export function heardText({ text, playedMs, totalMs, words: timed = [], pace = USUAL_PACE }: PlayedSpeech): string {
  if (playedMs <= 0) return ''
  const last = timed.at(-1)
  if (last && playedMs < last.endMs) return upTo(text, timed, playedMs)
  const words = wordsOf(text)
  const weights = words.map(weigh)
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const estimateMs = total * pace
  const brokeOff = totalMs !== null && estimateMs > SURELY_MS && totalMs < estimateMs * SHORTEST
  const wholeMs = totalMs === null || brokeOff ? Math.max(playedMs, estimateMs) : totalMs
  if (playedMs >= wholeMs) return text.trim()
  let budget = (playedMs / wholeMs) * total
  let heard = ''
  for (const [i, word] of words.entries()) {
    if (budget < weights[i]! / 2) break
    budget -= weights[i]!
    heard += word
  }
  return heard.trim()
}

const wordsOf = (text: string) => text.match(/\S+\s*/g) ?? []

/** Milliseconds per letter of a sentence that was spoken to its end. */
export const paceOf = (text: string, totalMs: number) =>
  totalMs / wordsOf(text).reduce((sum, word) => sum + weigh(word), 0)

/** Returns the text up to the last word of which more than half was played. */
function upTo(text: string, timed: readonly SpokenWord[], playedMs: number): string {
  const lower = text.toLowerCase()
  let end = 0
  for (const word of timed) {
    if ((word.startMs + word.endMs) / 2 > playedMs) break
    // A vendor may time words that are written differently ("42" as "forty-two"); those are skipped.
    const letters = word.text.toLowerCase().replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '')
    const at = letters === '' ? -1 : lower.indexOf(letters, end)
    if (at >= 0 && at - end <= 24) end = at + letters.length
  }
  if (end === 0) return ''
  return text.slice(0, end + (/^\S*/.exec(text.slice(end))?.[0].length ?? 0)).trim()
}

function weigh(word: string): number {
  const pause = /[.!?…]\s*$/.test(word) ? 5 : /[,;:—-]\s*$/.test(word) ? 3 : 0
  // A digit is spoken as a whole word.
  const letters = [...word.trim()].reduce((sum, char) => sum + (/\d/.test(char) ? 4 : 1), 0)
  return letters + 1 + pause
}
