/** Reads numbers from consecutive words: digits and words of Russian and English, ranges and round amounts. Pure. */

export interface ReadNumber {
  value: number
  /** Number of words that were read. */
  words: number
}

const UNITS: [RegExp, number][] = [
  [/^(?:один|одна|одну|одного|one)$/, 1],
  [/^(?:два|две|двух|two)$/, 2],
  [/^(?:три|трех|three)$/, 3],
  [/^(?:четыре|четырех|four)$/, 4],
  [/^(?:пять|пяти|five)$/, 5],
  [/^(?:шесть|шести|six)$/, 6],
  [/^(?:семь|семи|seven)$/, 7],
  [/^(?:восемь|восьми|eight)$/, 8],
  [/^(?:девять|девяти|nine)$/, 9],
  [/^(?:десять|десяти|ten)$/, 10],
  [/^(?:одиннадцат[ьи]|eleven)$/, 11],
  [/^(?:двенадцат[ьи]|twelve)$/, 12],
  [/^(?:тринадцат[ьи]|thirteen)$/, 13],
  [/^(?:четырнадцат[ьи]|fourteen)$/, 14],
  [/^(?:пятнадцат[ьи]|fifteen)$/, 15],
  [/^(?:шестнадцат[ьи]|sixteen)$/, 16],
  [/^(?:семнадцат[ьи]|seventeen)$/, 17],
  [/^(?:восемнадцат[ьи]|eighteen)$/, 18],
  [/^(?:девятнадцат[ьи]|nineteen)$/, 19],
  [/^(?:двадцат[ьи]|twenty)$/, 20],
  [/^(?:тридцат[ьи]|thirty)$/, 30],
  [/^(?:сорока?|forty|fourty)$/, 40],
  [/^(?:пятьдесят|пятидесяти|fifty)$/, 50],
  [/^(?:шестьдесят|шестидесяти|sixty)$/, 60],
  [/^(?:семьдесят|семидесяти|seventy)$/, 70],
  [/^(?:восемьдесят|восьмидесяти|eighty)$/, 80],
  [/^(?:девяност[оа]|ninety)$/, 90],
  [/^(?:сто|ста)$/, 100],
  [/^(?:двести|двухсот)$/, 200],
  [/^(?:триста|трехсот)$/, 300],
  [/^(?:четыреста|четырехсот)$/, 400],
  [/^(?:пятьсот|пятисот)$/, 500],
  [/^(?:шестьсот|шестисот)$/, 600],
  [/^(?:семьсот|семисот)$/, 700],
  [/^(?:восемьсот|восьмисот)$/, 800],
  [/^(?:девятьсот|девятисот)$/, 900],
]
/** Multipliers: two dozen, полторы сотни. Alone they count as one. */
const GROUPS: [RegExp, number][] = [
  [/^(?:десят(?:ок|ка|ков|ками)|tens)$/, 10],
  [/^(?:dozens?|дюжин[аыу]?)$/, 12],
  [/^(?:сотн(?:я|ю|и|ей|ями)|сотен|hundreds?)$/, 100],
  [/^(?:тысяч[аиу]?|тыс|thousands?)$/, 1000],
]
const WHOLE: [RegExp, number][] = [
  [/^(?:полсотн[июяей]+)$/, 50],
  [/^(?:полтысячи)$/, 500],
]
const FACTORS: [RegExp, number][] = [
  [/^(?:пар[ауыо]й?|couple)$/, 2],
  [/^(?:полтор[аы])$/, 1.5],
  [/^(?:few|нескольк[оих]+)$/, 3],
  [/^half$/, 0.5],
]
const amountOf = (table: [RegExp, number][], word: string | undefined): number | null =>
  (word !== undefined && table.find(([pattern]) => pattern.test(word))?.[1]) || null

/** `words`: lower case, with `ё` as `е`; reads from `at`. A range gives its upper end. Null when there is no number. */
export function readNumber(words: readonly string[], at: number): ReadNumber | null {
  const first = readOne(words, at)
  if (!first) return null
  // A dash or "до" between two numbers is a range; its upper end is accepted.
  if (/^(?:[-–—]|до|to|or|или)$/.test(words[at + first.words] ?? '')) {
    const second = readOne(words, at + first.words + 1)
    if (second && second.value > first.value) return { value: second.value, words: first.words + 1 + second.words }
  }
  return first
}

function readOne(words: readonly string[], at: number): ReadNumber | null {
  return readFigures(words, at) ?? readRound(words, at) ?? readWords(words, at)
}

const FIGURES = /^[~≈]?(\d{1,7})(?:[-–—](\d{1,7}))?(\+|k|к|шт)?$/

function readFigures(words: readonly string[], at: number): ReadNumber | null {
  const match = FIGURES.exec(words[at] ?? '')
  if (!match) return null
  const thousand = match[3] === 'k' || match[3] === 'к'
  const value = Number(match[2] ?? match[1]) * (thousand ? 1000 : 1)
  const group = thousand ? null : amountOf(GROUPS, words[at + 1])
  return group ? { value: value * group, words: 2 } : { value, words: 1 }
}

/** Reads полсотни, a couple of dozen, half a hundred, пара десятков, and a dozen alone. */
function readRound(words: readonly string[], at: number): ReadNumber | null {
  const whole = amountOf(WHOLE, words[at])
  if (whole) return { value: whole, words: 1 }
  let next = at
  if (/^an?$/.test(words[next] ?? '')) next++
  const factor = amountOf(FACTORS, words[next])
  if (factor) next++
  while (factor && /^(?:of|an?)$/.test(words[next] ?? '')) next++
  const group = amountOf(GROUPS, words[next])
  return group ? { value: Math.round((factor ?? 1) * group), words: next + 1 - at } : null
}

function readWords(words: readonly string[], at: number): ReadNumber | null {
  let value = 0
  let next = at
  let smallest = Number.POSITIVE_INFINITY
  for (;;) {
    const joined = value >= 100 && words[next] === 'and' ? next + 1 : next
    const parts = (words[joined] ?? '').split('-')
    const units = parts.map(part => amountOf(UNITS, part))
    if (units.includes(null)) break
    const sum = units.reduce<number>((total, unit) => total + unit!, 0)
    if (sum >= smallest) break
    value += sum
    next = joined + 1
    const group = amountOf(GROUPS, words[next])
    if (group) {
      value *= group
      next++
    }
    smallest = value % 100 === 0 ? 100 : value % 10 === 0 && value % 100 >= 20 ? 10 : 1
  }
  return next > at ? { value, words: next - at } : null
}
