/** How long silence must last after these words before they count as a whole turn. Pure; English and Russian. */

const SURE_MS = 400
const LIKELY_MS = 640
const UNSURE_MS = 1000
const SPELLING_MS = 1300

const LISTENING_PHRASES = /\b(?:i see|got it|all right|uh huh)\b/g
const LISTENING_WORD =
  /^(?:uh|huh|m+|h+m+|m+h+m+|uhhuh|yeah|yep|yes|ok|okay|right|sure|alright|oh|ah|hello|hi|угу|ага|да|так|понятно|хорошо|ясно|м+|алло)$/u
const SURE =
  /^(?:yes|no|yeah|yep|nope|sure|correct|right|okay|ok|of course|that's right|exactly|please do|да|нет|верно|конечно|правильно|хорошо)[.!]?$/iu
const OPEN_END =
  /(?:[,:;—-]|\b(?:and|or|but|so|because|the|a|an|my|your|his|her|to|of|for|with|at|in|on|is|are|it's|i'm|if|um|uh|er|well|like|и|или|но|а|потому|что|мой|моя|на|в|с|для|если|это|ну|э+)\.{0,3})$/iu
/** Ends in digits, a single letter, or number words: more of it may come. */
const DIGITS_END =
  /(?:\d[\d\s-]*|\b[a-zа-я]|\b(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|double|triple|dot|at|dash|underscore|ноль|один|два|три|четыре|пять|шесть|семь|восемь|девять|точка|собака))[.,]?$/iu

/** Words that only say "I am listening". Judged word by word: one pattern for all of it takes ages on a long "mmmmmm". */
export function isBackchannel(text: string): boolean {
  const words = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .replace(LISTENING_PHRASES, 'ok')
    .split(' ')
    .filter(Boolean)
  return words.length > 0 && words.every(word => LISTENING_WORD.test(word))
}

export function endpointMs(text: string): number {
  const words = text.trim()
  if (SURE.test(words)) return SURE_MS
  if (OPEN_END.test(words)) return UNSURE_MS
  if (spells(words)) return SPELLING_MS
  if (DIGITS_END.test(words)) return LIKELY_MS + 140
  return /[.!?…]$/.test(words) ? SURE_MS + 100 : LIKELY_MS
}

/** A number or an address in the middle of being spelled: at least three of its last pieces are digits or letters. */
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
