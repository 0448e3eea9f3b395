/** Cleans foreign text into one line of limited length. Pure. */

/** Maximum characters of any text of a candidate. */
export const LONGEST_TEXT = 300
/** Maximum for one company; a longer list belongs to a directory. */
export const MOST_PHONES = 10

/** Control characters, direction marks and zero-width characters, which no name needs and which can hide text. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\u2028\u2029]+/gu

/** Empty when nothing is left. */
export function cleanLine(text: string, longest = LONGEST_TEXT): string {
  // Cut first, because the following steps read the whole text.
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

/** Digits of a phone number that are not part of a word or a longer number. */
const NUMBER = /(?<![\p{L}\d])\+?\(?\d(?:[\s().–-]{0,3}\d){4,}/u
const BETWEEN = /\s*(?:[;/|]|,(?!\s*(?:доб|ext|вн))|\s(?:or|или)\s)\s*/i

/**
 * Returns the parts of `+7 843 212-34-56; 8 (843) 212-34-57` that may be phone numbers, without duplicates and labels.
 */
export function phonesOf(texts: readonly (string | null | undefined)[]): string[] {
  const lines = texts.map(text => cleanLine(text ?? '', 1000).replace(/(тел|tel)\.?\s*\/\s*(?:факс|fax)\.?/giu, '$1'))
  const parts = lines.flatMap(line => line.split(BETWEEN)).filter(part => part.length <= 60 && !/факс|fax/i.test(part))
  // Text before the number is a label; text after it may be an extension.
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

/** Returns `example.ru`, `//example.ru/x` and `HTTP://…` as a URL; null when the text is not a web address. */
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
