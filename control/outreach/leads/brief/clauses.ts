/** Splits a brief into clauses of words. Pure, and linear in the length of the text: no pattern here backtracks. */

import { folded } from '../vocabulary/forms.ts'

/** The separator before a clause, which decides how far the previous context still applies. */
export type Break = 'blank' | 'line' | 'bullet' | 'sentence' | 'colon' | 'comma'

export interface Token {
  /** As written, without surrounding punctuation. */
  text: string
  /** Lower case, with `ё` as `е` and plain apostrophes. */
  word: string
}

export interface Clause {
  before: Break
  tokens: Token[]
}

const TAG = /<[^<>\n]{0,300}>/g
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{M}]/gu

/** Removes markup and invisible characters, joins the digits of numbers, and turns pictograms into commas. */
function plain(raw: string): string {
  return (
    raw
      .replace(/\r\n?/g, '\n')
      .normalize('NFC')
      .replace(TAG, ' ')
      .replace(UNSEEN, character => (/[\n\t]/.test(character) ? character : ''))
      .replace(/\p{Extended_Pictographic}/gu, ', ')
      .replace(/[^\S\n]+/g, ' ')
      // Shortens runs of a character: patterns that look for the end of a run would start from each of its characters.
      .replace(/([^\p{L}\p{N}\s])\1{3,}/gu, '$1$1$1')
      .replace(/(?<![\d.,])\d{1,3}(?:[ ,]\d{3})+(?![\d.,]\d|\d)/g, number => number.replace(/[ ,]/g, ''))
      .replace(/(\d) ?[-–—] ?(?=\d)/g, '$1-')
  )
}

/** Abbreviations whose dot never ends a sentence. */
const SHORT = /^(?:г|гг|ул|обл|респ|р-н|пр|пос|им|т|st|ft|mt|mr|dr|inc|approx|e\.g|i\.e|etc)$/i
/** Abbreviations whose dot ends a sentence only before a capital. */
const UNIT = /^(?:шт|тыс|руб|чел|др|д|п|co|no)$/i

const BREAK = /\n *\n[\n ]*|\n|[!?;…]+|\.+(?=\s|$|["»”')])|:(?=\s|$)|,(?!\d)|[()[\]{}|•·▪*]+| [-–—/]+ | ?—+ ?/g
const BULLET = /^ ?(?:[-–—•·▪*]|\d{1,2}[.)]) +/

export function clausesOf(raw: string): Clause[] {
  const clauses: Clause[] = []
  let before: Break = 'line'
  const add = (text: string) => {
    const bulleted = (before === 'line' || before === 'blank') && BULLET.test(text)
    const tokens = tokensOf(bulleted ? text.replace(BULLET, '') : text)
    if (tokens.length > 0) {
      clauses.push({ before: bulleted && clauses.length > 0 ? 'bullet' : before, tokens })
      before = 'comma'
    }
  }
  for (const line of plain(raw).split(/(\n[\n ]*)/)) {
    if (line.startsWith('\n')) {
      before = /\n *\n/.test(line) ? 'blank' : 'line'
      continue
    }
    const start = BULLET.exec(line)?.[0].length ?? 0
    let from = 0
    for (const match of line.slice(start).matchAll(BREAK)) {
      const at = match.index + start
      const sign = match[0]
      if (sign.startsWith('.') && !endsSentence(line, from, at)) continue
      add(line.slice(from, at))
      from = at + sign.length
      before = stronger(before, breakOf(sign))
    }
    add(line.slice(from))
  }
  return clauses
}

const breakOf = (sign: string): Break => (/^[.!?;…]/.test(sign) ? 'sentence' : sign === ':' ? 'colon' : 'comma')

const STRENGTH: readonly Break[] = ['comma', 'colon', 'sentence', 'bullet', 'line', 'blank']
const stronger = (a: Break, b: Break): Break => (STRENGTH.indexOf(a) >= STRENGTH.indexOf(b) ? a : b)

function endsSentence(line: string, from: number, at: number): boolean {
  const last = /[^\s.][^\s]*$/.exec(line.slice(Math.max(from, at - 20), at))?.[0] ?? ''
  if (SHORT.test(last)) return false
  return !UNIT.test(last) || !/^[.\s]*[\p{Ll}\d]/u.test(line.slice(at, at + 5))
}

const EDGES = /^["'«»“”„‘’`.,<>=#@]+|["'«»“”„‘’`.,<>=#]+$/gu

function tokensOf(text: string): Token[] {
  return text
    .split(/\s+/)
    .map(word => word.replace(EDGES, ''))
    .filter(word => /[\p{L}\p{N}&]/u.test(word))
    .map(word => ({ text: word, word: folded(word) }))
}

export const textOf = (tokens: readonly Token[]): string => tokens.map(token => token.text).join(' ')
