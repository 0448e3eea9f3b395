/**
 * Decodes bytes of an unknown encoding. Tries, in this order: the byte order mark, the declared encoding, UTF-8, the
 * most likely encoding. The only importer of chardet.
 */
import { analyse } from 'chardet'

/**
 * A larger sample changes no result and costs time: chardet reads the whole sample once for every encoding it knows.
 */
const SAMPLE_BYTES = 64 * 1024
/**
 * HTML, §13.2.3.2: user agents search 1024 bytes for a declaration; authors put scripts before it, so we search
 * further.
 */
const META_BYTES = 4096
/** In Russian prose these are about 60% of all letters; in bytes of another alphabet read as Russian, about 20%. */
const COMMON_CYRILLIC = /[оеаинтсрвлк]/g
const LEAST_COMMON = 0.42
/** Encodings in which any sequence of bytes is valid. */
const ONE_BYTE = /^(?:windows-|iso-8859-|koi8-|ibm866|macintosh|x-mac-)/
const CYRILLIC_ENCODINGS = ['windows-1251', 'koi8-r', 'ibm866', 'iso-8859-5', 'x-mac-cyrillic'] as const
/**
 * Least share of non-ASCII bytes beside another one. In a non-Latin alphabet most letters are; an accented letter
 * stands alone among ASCII.
 */
const OWN_ALPHABET = 0.5
const LATIN = /^(?:ISO-8859-[129]|windows-125[0247])$/i
/**
 * Confidence of chardet, out of 100. Czech and Polish sentences reach 29 and more; text below is treated as Western,
 * the most common case.
 */
const LEAST_LATIN = 20
/** Largest share of control characters. Machine output in a log has some; random bytes have 10%. */
const MOST_CONTROLS = 0.002
/** Largest share of characters that the encoding does not have, which indicate binary data. */
const MOST_UNKNOWN = 0.01

export interface Declared {
  /** Value from the Content-Type header. */
  charset?: string | null
  /** True: also search for `<meta charset>` and the XML declaration. */
  html?: boolean
}

/** Never throws: bytes that are invalid in the encoding become U+FFFD. */
export function decodeText(bytes: Uint8Array, declared: Declared = {}): string {
  const marked = byteOrderMark(bytes)
  if (marked) return new TextDecoder(marked).decode(bytes)
  for (const label of [declared.charset, declared.html ? metaCharset(bytes) : null]) {
    const text = label ? decodeAs(bytes, label) : null
    if (text !== null) return text
  }
  return new TextDecoder(guessEncoding(bytes)).decode(bytes)
}

/** False when the text is decoded binary data. Also works on the beginning of a text. */
export function isText(text: string): boolean {
  const controls = text.match(/[^\P{Cc}\s\u0085]/gu)?.length ?? 0
  const unknown = text.match(/\ufffd/g)?.length ?? 0
  // One unknown character may be the result of cutting the sample inside a character.
  return !text.includes('\0') && controls <= text.length * MOST_CONTROLS && unknown <= 1 + text.length * MOST_UNKNOWN
}

/** Returns a WHATWG label. `bytes` may be the beginning of a longer text. */
export function guessEncoding(bytes: Uint8Array): string {
  const sample = bytes.subarray(0, SAMPLE_BYTES)
  const marked = byteOrderMark(sample)
  if (marked) return marked
  const wide = wideEncoding(sample)
  if (wide) return wide
  if (isUtf8(bytes)) return 'utf-8'
  return eightBitEncoding(sample)
}

function byteOrderMark(bytes: Uint8Array): string | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8'
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  return null
}

/**
 * Detects UTF-16 without a byte order mark: every other byte is 0 for Latin or 4 for Cyrillic, which no 8-bit text has.
 */
function wideEncoding(sample: Uint8Array): string | null {
  const pairs = sample.length >> 1
  if (pairs < 4 || !sample.includes(0)) return null
  const high = [0, 0]
  for (let i = 0; i < pairs * 2; i++) if (sample[i] === 0 || sample[i] === 4) high[i & 1]!++
  if (high[1]! / pairs > 0.9 && high[0]! / pairs < 0.3) return 'utf-16le'
  if (high[0]! / pairs > 0.9 && high[1]! / pairs < 0.3) return 'utf-16be'
  return null
}

/** A sample may end within a character. */
function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
    return true
  } catch {
    return false
  }
}

function decodeAs(bytes: Uint8Array, label: string): string | null {
  try {
    const decoder = new TextDecoder(label.trim())
    // HTML, §13.2.3.2: a declaration that could be read as ASCII is not in UTF-16.
    if (decoder.encoding.startsWith('utf-16') && !wideEncoding(bytes.subarray(0, SAMPLE_BYTES))) return null
    // Pages often declare UTF-8 wrongly; badly encoded UTF-8 is rarer.
    if (decoder.encoding === 'utf-8' && !isUtf8(bytes)) return null
    // The file was saved again as UTF-8 and kept its old declaration: no other text has its bytes in that order.
    if (ONE_BYTE.test(decoder.encoding) && bytes.some(byte => byte >= 0x80) && isUtf8(bytes)) return null
    return decoder.decode(bytes)
  } catch {
    return null
  }
}

function metaCharset(bytes: Uint8Array): string | null {
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, META_BYTES))
  const found =
    /<meta[^>]{0,300}?\bcharset\s*=\s*["']?\s*([\w-]{2,40})/i.exec(head) ??
    /^\s*<\?xml[^>]{0,200}?\bencoding\s*=\s*["']([\w-]{2,40})/i.exec(head)
  return found?.[1] ?? null
}

function eightBitEncoding(sample: Uint8Array): string {
  const likely = analyse(sample).flatMap(({ name, confidence }) => (known(name) ? [{ name, confidence }] : []))
  // CJK encodings have a byte structure that does not occur by chance.
  const best = likely[0]
  if (best && best.confidence >= 50 && /^(?:GB|Big5|Shift_JIS|EUC|ISO-2022)/i.test(best.name)) return best.name
  if (shareBesideAnother(sample) < OWN_ALPHABET) {
    const latin = likely.find(({ name }) => LATIN.test(name))
    return latin && latin.confidence >= LEAST_LATIN && !/^ISO-8859-1$/i.test(latin.name) ? latin.name : 'windows-1252'
  }
  return cyrillicEncoding(sample) ?? likely.find(({ name }) => !/^utf/i.test(name))?.name ?? 'windows-1252'
}

const known = (label: string) => {
  try {
    return Boolean(new TextDecoder(label))
  } catch {
    return false
  }
}

/** Share of the non-ASCII bytes that are adjacent to another one. */
function shareBesideAnother(sample: Uint8Array): number {
  let high = 0
  let beside = 0
  for (let i = 0; i < sample.length; i++) {
    if (sample[i]! < 0x80) continue
    high++
    if (sample[i - 1]! >= 0x80 || sample[i + 1]! >= 0x80) beside++
  }
  return high === 0 ? 0 : beside / high
}

/**
 * In the correct encoding, the letters are the most frequent ones of Russian, and lower case except at the start of a
 * word.
 */
function cyrillicEncoding(sample: Uint8Array): string | null {
  let best: { label: string; score: number } | null = null
  for (const label of CYRILLIC_ENCODINGS) {
    const text = new TextDecoder(label).decode(sample)
    const letters = text.match(/[А-яЁё]/g)?.length ?? 0
    const foreign = text.match(/[^\p{ASCII}А-яЁё«»—–…№„“”©°\u00a0]/gu)?.length ?? 0
    const common = text.toLowerCase().match(COMMON_CYRILLIC)?.length ?? 0
    const oddCase = text.match(/[а-яё][А-ЯЁ]/g)?.length ?? 0
    const score = (common - oddCase - foreign) / Math.max(1, letters + foreign)
    if (!best || score > best.score) best = { label, score }
  }
  return best && best.score >= LEAST_COMMON ? best.label : null
}
