/** Splits Russian and English text into sentences. Pure. */

/** Abbreviations with a dot that does not end a sentence; lower case, without the dot. */
const ABBREVIATIONS = new Set(
  [
    'mr mrs ms dr prof st vs etc no nos fig vol pp p ed al inc ltd co corp dept approx min max tel ext e.g i.e a.m p.m u.s',
    'jan feb mar apr jun jul aug sep sept oct nov dec',
    'г гг в вв т п д е к др пр ул пер пл просп пр-т наб ш стр корп кв эт оф обл р-н тел доб моб руб коп тыс млн млрд',
    'мин сек час кг гр см мм км кв.м им проф акад доц ст рис табл гл см ср напр т.е т.д т.п т.к т.н и.о янв февр апр авг',
    'сент окт нояб дек',
  ]
    .join(' ')
    .split(' '),
)
const END = /[.!?…]+["'»”’)\]]*(?=\s|$)|\n+/gu

/**
 * Returns the sentences without the space between them; joined with spaces they give the text again, except for white
 * space.
 */
export function splitSentences(text: string): string[] {
  const sentences: string[] = []
  let start = 0
  for (const match of text.matchAll(END)) {
    const end = match.index + match[0].length
    if (!match[0].startsWith('\n') && goesOn(text, start, match.index, end, match[0])) continue
    const sentence = text.slice(start, end).trim()
    if (sentence) sentences.push(sentence)
    start = end
  }
  const rest = text.slice(start).trim()
  if (rest) sentences.push(rest)
  return sentences
}

function goesOn(text: string, start: number, dot: number, end: number, mark: string): boolean {
  if (mark !== '.') return false
  const word = /[^\s(«"]*$/u.exec(text.slice(Math.max(start, dot - 24), dot))![0]
  // An initial, or the number of a list item.
  if (/^\p{Lu}$/u.test(word) || (/^\d{1,3}$/.test(word) && dot - start <= 3)) return true
  const next = /\S/u.exec(text.slice(end, end + 24))?.[0]
  if (next !== undefined && /\p{Ll}/u.test(next)) return true
  return ABBREVIATIONS.has(word.toLowerCase()) && next !== undefined
}
