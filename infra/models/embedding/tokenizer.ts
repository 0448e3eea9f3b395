/**
 * SentencePiece's unigram model (Kudo 2018) as XLM-RoBERTa uses it: the likeliest segmentation of a word into pieces.
 * No piece of this vocabulary spans a space, so words are segmented one by one and cached.
 */
import type { E5Pieces } from './e5-file.ts'

export interface Tokenizer {
  /** Pieces of the text, without the begin and end markers. */
  cut(text: string): number[]
  bos: number
  eos: number
}

const SPACE = '▁'
/** SentencePiece's penalty for an unknown character, below the worst piece. */
const UNKNOWN_PENALTY = 10
/** Most cached words: a few MB, the frequent words of a language. */
const REMEMBERED = 20_000
/** Longest word in characters: longer ones are split, because the table grows with the length. */
const WORD_LENGTH = 256

export function createTokenizer(pieces: E5Pieces): Tokenizer {
  const ids = new Map<string, number>()
  let longest = 1
  let worst = 0
  for (const [id, text] of pieces.texts.entries()) {
    worst = Math.min(worst, pieces.scores[id]!)
    if (text === '' || id === pieces.unknown) continue
    ids.set(text, id)
    longest = Math.max(longest, text.length)
  }
  const unknownScore = worst - UNKNOWN_PENALTY
  const known = new Map<string, number[]>()

  function cutWord(word: string): number[] {
    const seen = known.get(word)
    if (seen) return seen
    const points = [...word]
    const best = new Float64Array(points.length + 1).fill(Number.NEGATIVE_INFINITY)
    const piece = new Int32Array(points.length + 1)
    const from = new Int32Array(points.length + 1)
    best[0] = 0
    const reach = (end: number, start: number, score: number, id: number) => {
      if (score <= best[end]!) return
      best[end] = score
      piece[end] = id
      from[end] = start
    }
    for (let start = 0; start < points.length; start++) {
      let text = ''
      for (let end = start; end < points.length && text.length < longest; end++) {
        text += points[end]
        const id = ids.get(text)
        if (id !== undefined) reach(end + 1, start, best[start]! + pieces.scores[id]!, id)
      }
      reach(start + 1, start, best[start]! + unknownScore, pieces.unknown)
    }
    const found: number[] = []
    for (let at = points.length; at > 0; at = from[at]!) found.push(piece[at]!)
    found.reverse()
    if (known.size >= REMEMBERED) known.clear()
    known.set(word, found)
    return found
  }

  return {
    bos: pieces.bos,
    eos: pieces.eos,
    cut(text) {
      let normal = ''
      for (const character of text) normal += pieces.normal.get(character.codePointAt(0)!) ?? character
      return normal
        .split(' ')
        .filter((word, i) => word !== '' || i === 0)
        .flatMap(word => parts(SPACE + word).flatMap(cutWord))
    },
  }
}

function parts(word: string): string[] {
  if (word.length <= WORD_LENGTH) return [word]
  const points = [...word]
  return Array.from({ length: Math.ceil(points.length / WORD_LENGTH) }, (_, i) =>
    points.slice(i * WORD_LENGTH, (i + 1) * WORD_LENGTH).join(''),
  )
}
