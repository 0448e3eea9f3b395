/** Parses numbers in spoken English and Russian, with their positions, so that used words can be skipped. Pure. */

export interface NumberSpan {
  value: number
  /** Range of token indexes. */
  start: number
  end: number
}

const UNITS: Record<string, number> = {
  zero: 0,
  one: 1,
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
  eleven: 11,
  twelve: 12,
  thirteen: 13,
  fourteen: 14,
  fifteen: 15,
  sixteen: 16,
  seventeen: 17,
  eighteen: 18,
  nineteen: 19,
  first: 1,
  second: 2,
  third: 3,
  fourth: 4,
  fifth: 5,
  sixth: 6,
  seventh: 7,
  eighth: 8,
  ninth: 9,
  tenth: 10,
  eleventh: 11,
  twelfth: 12,
  thirteenth: 13,
  fourteenth: 14,
  fifteenth: 15,
  sixteenth: 16,
  seventeenth: 17,
  eighteenth: 18,
  nineteenth: 19,
  ноль: 0,
  один: 1,
  одна: 1,
  одного: 1,
  два: 2,
  две: 2,
  двух: 2,
  двоих: 2,
  три: 3,
  трех: 3,
  троих: 3,
  четыре: 4,
  четырех: 4,
  четверых: 4,
  пять: 5,
  пяти: 5,
  пятерых: 5,
  шесть: 6,
  шести: 6,
  семь: 7,
  семи: 7,
  восемь: 8,
  восьми: 8,
  девять: 9,
  девяти: 9,
  десять: 10,
  десяти: 10,
  одиннадцать: 11,
  двенадцать: 12,
  тринадцать: 13,
  четырнадцать: 14,
  пятнадцать: 15,
  шестнадцать: 16,
  семнадцать: 17,
  восемнадцать: 18,
  девятнадцать: 19,
  первое: 1,
  первого: 1,
  второе: 2,
  второго: 2,
  третье: 3,
  третьего: 3,
  четвертое: 4,
  четвертого: 4,
  пятое: 5,
  пятого: 5,
  шестое: 6,
  шестого: 6,
  седьмое: 7,
  седьмого: 7,
  восьмое: 8,
  восьмого: 8,
  девятое: 9,
  девятого: 9,
  десятое: 10,
  десятого: 10,
}
const TENS: Record<string, number> = {
  twenty: 20,
  thirty: 30,
  forty: 40,
  fifty: 50,
  sixty: 60,
  seventy: 70,
  eighty: 80,
  ninety: 90,
  twentieth: 20,
  thirtieth: 30,
  двадцать: 20,
  двадцати: 20,
  тридцать: 30,
  тридцати: 30,
  сорок: 40,
  пятьдесят: 50,
  шестьдесят: 60,
  семьдесят: 70,
  восемьдесят: 80,
  девяносто: 90,
  двадцатое: 20,
  двадцатого: 20,
  тридцатое: 30,
  тридцатого: 30,
}
const HUNDREDS: Record<string, number> = {
  сто: 100,
  двести: 200,
  триста: 300,
  четыреста: 400,
  пятьсот: 500,
  шестьсот: 600,
  семьсот: 700,
  восемьсот: 800,
  девятьсот: 900,
}
const SCALES: Record<string, number> = {
  hundred: 100,
  thousand: 1000,
  million: 1e6,
  тысяча: 1000,
  тысячи: 1000,
  тысяч: 1000,
  миллион: 1e6,
}

/** Returns lower-case words, and digits with their punctuation (`7:30`, `12/05`, `+1`); ё becomes е. */
export function tokenize(text: string): string[] {
  return (
    text
      .toLowerCase()
      .replace(/ё/g, 'е')
      .replace(/\b([ap])\.\s?m\b\.?/g, '$1m')
      .replace(/(\d)([ap]m)\b/g, '$1 $2')
      .match(/\+?\d+(?:[:./-]\d+)*(?:st|nd|rd|th)?|[\p{L}][\p{L}'’-]*/gu) ?? []
  ).flatMap(token =>
    /^[a-z]+-[a-z]+$/.test(token) && token.split('-').every(isNumberWord) ? token.split('-') : [token],
  )
}

export const isNumberWord = (token: string) => token in UNITS || token in TENS || token in SCALES || token in HUNDREDS
/** Returns a single digit from a word or figure, else null; `oh` means zero in telephone numbers. */
export function digitOf(token: string): string | null {
  if (token === 'oh' || token === 'o') return '0'
  const value = UNITS[token]
  return value !== undefined && value < 10 && !/(?:th|st|nd|rd|го|ое|ье)$/.test(token) ? String(value) : null
}

export function findNumbers(tokens: readonly string[]): NumberSpan[] {
  const spans: NumberSpan[] = []
  for (let i = 0; i < tokens.length; ) {
    const span = digitsAt(tokens, i) ?? numberAt(tokens, i)
    if (span) spans.push(span)
    i = span ? span.end : i + 1
  }
  return spans
}

/** Joins three or more digits said one by one ("four seven one one") to one number; two may be separate numbers. */
function digitsAt(tokens: readonly string[], start: number): NumberSpan | null {
  let digits = ''
  let end = start
  for (; end < tokens.length; end++) {
    const digit = digitOf(tokens[end]!)
    if (digit === null) break
    digits += digit
  }
  return digits.length >= 3 && digits.length <= 15 ? { value: Number(digits), start, end } : null
}

export function numberAt(tokens: readonly string[], start: number): NumberSpan | null {
  const figure = /^\d+(?:\.\d+)?(?=(?:st|nd|rd|th)?$)/.exec(tokens[start] ?? '')
  let total = 0
  let group = figure ? Number(figure[0]) : 0
  let end = figure ? start + 1 : start
  let room = figure ? 1 : 1000
  for (; end < tokens.length; end++) {
    const token = tokens[end]!
    if (room > 100 && token in HUNDREDS) {
      group += HUNDREDS[token]!
      room = 100
    } else if (room > 10 && token in TENS) {
      group += TENS[token]!
      room = 10
    } else if (token in UNITS && (room > 10 || (room === 10 && UNITS[token]! < 10 && UNITS[token]! > 0))) {
      group += UNITS[token]!
      room = 1
    } else if (token in SCALES && end > start) {
      if (SCALES[token] === 100) {
        group *= 100
        room = 100
      } else {
        total += Math.max(1, group) * SCALES[token]!
        group = 0
        room = 1000
      }
    } else if (token === 'and' && room >= 100 && end > start && isNumberWord(tokens[end + 1] ?? '')) {
    } else break
  }
  return end > start ? { value: total + group, start, end } : null
}
