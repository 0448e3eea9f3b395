/** Silence in ms that ends a turn after given words. Pure; English and Russian. */
import type { Expectation } from './expectation.ts'

/** After a plain yes or no to a yes-no question. */
const ANSWER_MS = 320
const SURE_MS = 400
const LIKELY_MS = 640
const UNSURE_MS = 1000
const SPELLING_MS = 1300
/** A telephone number has at least this many digits; with them it may be complete. */
const PHONE_DIGITS = 10
/** Longer texts are sentences, not pieces of an address. */
const PIECE_WORDS = 3

/** Only the end of the text matters; the function runs every 20 ms, so its cost must not grow with the turn. */
const READ_CHARS = 200

const LISTENING_PHRASES = /\b(?:i see|got it|all right|uh huh)\b/g
const LISTENING_WORD =
  /^(?:uh|huh|m+|h+m+|m+h+m+|uhhuh|yeah|yep|yes|ok|okay|right|sure|alright|oh|ah|hello|hi|угу|ага|да|так|понятно|хорошо|ясно|м+|алло)$/u
const SURE =
  /^(?:yes|no|yeah|yep|nope|sure|correct|right|okay|ok|of course|that's right|exactly|please do|да|нет|верно|конечно|правильно|хорошо)[.!]?$/iu
/** Word boundary for all scripts; `\b` knows only Latin letters. */
const BEFORE = String.raw`(?<![\p{L}\p{N}])`
const OPEN_END = new RegExp(
  String.raw`(?:[,:;—-]|${BEFORE}(?:and|or|but|so|because|the|a|an|my|your|his|her|to|of|for|with|at|in|on|is|are|it's|i'm|if|um|uh|er|well|like|и|или|но|а|потому|что|мой|моя|на|в|с|для|если|это|ну|э+|меня зовут|мой (?:номер|адрес))\.{0,3})$`,
  'iu',
)
/** Ends in digits, a single letter or number words: more may follow. */
const DIGITS_END = new RegExp(
  String.raw`(?:\d[\d\s-]*|${BEFORE}(?:[a-zа-я]|zero|oh|one|two|three|four|five|six|seven|eight|nine|double|triple|dot|at|dash|underscore|ноль|нуль|один|два|три|четыре|пять|шесть|семь|восемь|девять|точка|собака))[.,]?$`,
  'iu',
)

/** `ADDRESS`: an e-mail address is being dictated; `WHOLE_ADDRESS`: it is complete. */
const ADDRESS = /@|\b(?:at|underscore)\b.*\bdot\b|\bat (?:gmail|yahoo|hotmail|outlook|icloud)\b|собака/i
const WHOLE_ADDRESS =
  /(?:@|\bat\b|собака).*(?:\.|\bdot\b|точка)\s*(?:com|net|org|edu|gov|info|biz|io|co|uk|us|de|ru|eu|su|ком|ру|нет|орг)[.!]?$/i
const DIGIT_WORD =
  /^(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|ноль|нуль|один|два|три|четыре|пять|шесть|семь|восемь|девять)$/i

/**
 * True for words that only mean "I am listening". Tests word by word: one pattern for all backtracks on a long
 * "mmmmmm".
 */
export function isBackchannel(text: string): boolean {
  const words = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .replace(LISTENING_PHRASES, 'ok')
    .split(' ')
    .filter(Boolean)
  return words.length > 0 && words.every(word => LISTENING_WORD.test(word))
}

export function endpointMs(text: string, expects: Expectation = 'anything'): number {
  const words = text.slice(-READ_CHARS).trim()
  if (SURE.test(words)) return expects === 'yes_no' ? ANSWER_MS : SURE_MS
  if (OPEN_END.test(words)) return UNSURE_MS
  // STT ends each piece of an address with a full stop.
  const address = ADDRESS.test(words) || (expects === 'email' && words.split(/\s+/).length <= PIECE_WORDS)
  if (address) return WHOLE_ADDRESS.test(words) ? LIKELY_MS : SPELLING_MS
  if (spells(words)) return digitsIn(words) >= PHONE_DIGITS ? LIKELY_MS : SPELLING_MS
  if (DIGITS_END.test(words)) {
    const more = expects === 'digits' || expects === 'spelling'
    return more && digitsIn(words) < PHONE_DIGITS ? SPELLING_MS : LIKELY_MS + 140
  }
  return /[.!?…]$/.test(words) ? SURE_MS + 100 : LIKELY_MS
}

/** True while a number or an address is being spelled: at least three of the last four pieces are digits or letters. */
function spells(text: string): boolean {
  const pieces = text
    .toLowerCase()
    .replace(/[.,!?-]/g, ' ')
    .split(/\s+/)
    .filter(Boolean)
    .slice(-4)
  const spelled = pieces.filter(piece => DIGITS_END.test(piece)).length
  return spelled >= 3
}

/** Number of digits in these words, as figures or as number words. */
function digitsIn(text: string): number {
  const pieces = text.split(/[^\p{L}\p{N}]+/u)
  return pieces.reduce((sum, piece) => sum + (/^\d+$/.test(piece) ? piece.length : DIGIT_WORD.test(piece) ? 1 : 0), 0)
}
