/** What strangers wrote, as one clean line of a bounded length. Pure. */

/** The longest text that a candidate carries anywhere, in characters. */
export const LONGEST_TEXT = 300
/** Of one company; a list of more is a directory's, not a company's. */
export const MOST_PHONES = 10

/** Control characters, direction marks and zero-width ones are nothing that a name needs, and hide what is there. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\u2028\u2029]+/gu

/** Empty when nothing is left. */
export function cleanLine(text: string, longest = LONGEST_TEXT): string {
  // Cut first: what follows reads the whole.
  const line = text
    .slice(0, longest * 4)
    .toWellFormed()
    .replace(UNSEEN, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  return line.length > longest ? line.slice(0, longest).toWellFormed().trim() : line
}

export const cleanOrNull = (text: string | null | undefined, longest?: number): string | null =>
  cleanLine(text ?? '', longest) || null

/** Digits as of a number, that are no end of a word or of a longer number. */
const NUMBER = /(?<![\p{L}\d])\+?\(?\d(?:[\s().–-]{0,3}\d){4,}/u
const BETWEEN = /\s*(?:[;/|]|,(?!\s*(?:доб|ext|вн))|\s(?:or|или)\s)\s*/i

/** The parts of `+7 843 212-34-56; 8 (843) 212-34-57` that may be numbers to call, each once, as written but for a label. */
export function phonesOf(texts: readonly (string | null | undefined)[]): string[] {
  const lines = texts.map(text => cleanLine(text ?? '', 1000).replace(/(тел|tel)\.?\s*\/\s*(?:факс|fax)\.?/giu, '$1'))
  const parts = lines.flatMap(line => line.split(BETWEEN)).filter(part => part.length <= 60 && !/факс|fax/i.test(part))
  // What stands before it is a label; behind it may be an extension.
  const likely = parts.flatMap(part => {
    const at = part.search(NUMBER)
    return at < 0 ? [] : [part.slice(at)]
  })
  return [...new Set(likely)].slice(0, MOST_PHONES)
}

export function emailsOf(texts: readonly (string | null | undefined)[]): string[] {
  const parts = texts.flatMap(text => cleanLine(text ?? '', 1000).split(/[\s;,]+/))
  const addresses = parts.map(part => part.replace(/^mailto:/i, '').toLowerCase())
  return [
    ...new Set(addresses.filter(one => one.length <= 254 && /^[^@\s<>"]+@[^@\s<>"]+\.[^@\s.<>"]{2,}$/.test(one))),
  ].slice(0, MOST_PHONES)
}

/** `example.ru`, `//example.ru/x` and `HTTP://…` as an address of the web; null for what is none. */
export function websiteOf(text: string | null | undefined): string | null {
  const first = cleanLine(text ?? '', 2000)
    .split(/[\s;]+/)[0]!
    .replace(/,$/, '')
  if (first === '') return null
  const whole = /^[a-z][a-z\d+.-]*:\/\//i.test(first) ? first : `http://${first.replace(/^\/\//, '')}`
  if (!URL.canParse(whole)) return null
  const url = new URL(whole)
  const named = (url.protocol === 'http:' || url.protocol === 'https:') && !url.username && !url.password
  return named && /\.|^localhost$/.test(url.hostname) && url.href.length <= 2000 ? url.href : null
}
