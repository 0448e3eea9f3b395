/** How long silence must last after these words before they count as a whole turn. Pure; English and Russian. */

const SURE_MS = 380
const LIKELY_MS = 560
const UNSURE_MS = 900
const SPELLING_MS = 1200

const BACKCHANNEL =
  /^(?:(?:uh[ -]?huh|mm+[ -]?hm+|m+h?m+|mhm|hm+|yeah|yep|yes|ok|okay|right|sure|i see|got it|all right|alright|oh|ah|угу|ага|да|так|понятно|хорошо|ясно|мм+)[\s,.!…]*)+$/iu
const SURE =
  /^(?:yes|no|yeah|yep|nope|sure|correct|right|okay|ok|of course|that's right|exactly|please do|да|нет|верно|конечно|правильно|хорошо)[.!]?$/iu
const OPEN_END =
  /(?:[,:;—-]|\b(?:and|or|but|so|because|the|a|an|my|your|his|her|to|of|for|with|at|in|on|is|are|it's|i'm|if|um|uh|er|well|like|и|или|но|а|потому|что|мой|моя|на|в|с|для|если|это|ну|э+)\.{0,3})$/iu
/** Ends in digits, a single letter, or number words: more of it may come. */
const DIGITS_END =
  /(?:\d[\d\s-]*|\b[a-zа-я]|\b(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|double|triple|dot|at|dash|underscore|ноль|один|два|три|четыре|пять|шесть|семь|восемь|девять|точка|собака))[.,]?$/iu

/** Words that only say "I am listening". */
export const isBackchannel = (text: string) => BACKCHANNEL.test(text.trim())

export function endpointMs(text: string): number {
  const words = text.trim()
  if (SURE.test(words)) return SURE_MS
  if (OPEN_END.test(words)) return UNSURE_MS
  if (spells(words)) return SPELLING_MS
  if (DIGITS_END.test(words)) return LIKELY_MS + 140
  return /[.!?…]$/.test(words) ? SURE_MS + 60 : LIKELY_MS
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
