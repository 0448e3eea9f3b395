/** How much of a sentence was heard when its sound was cut. */

/** Speaking rate for sound that was not made to its end yet: letters a second, as Piper and most voices speak English. */
const LETTERS_PER_SECOND = 15

export interface PlayedSpeech {
  text: string
  playedMs: number
  /** Length of the whole sound, or null while it is still being made. */
  totalMs: number | null
}

/**
 * The words that were played, by the share of the sound; a word counts when more than half of it was heard. Pauses at
 * punctuation are weighed as letters, since they take time but no words.
 */
export function heardText({ text, playedMs, totalMs }: PlayedSpeech): string {
  if (playedMs <= 0) return ''
  const words = text.match(/\S+\s*/g) ?? []
  const weights = words.map(weigh)
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const wholeMs = totalMs ?? Math.max(playedMs, (total / LETTERS_PER_SECOND) * 1000)
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

function weigh(word: string): number {
  const pause = /[.!?…]\s*$/.test(word) ? 5 : /[,;:—-]\s*$/.test(word) ? 3 : 0
  // A digit is spoken as a word.
  const letters = [...word.trim()].reduce((sum, char) => sum + (/\d/.test(char) ? 4 : 1), 0)
  return letters + 1 + pause
}
