/**
 * The kind of answer that the agent's last words ask for: a number needs a longer pause than a yes. Pure; English and
 * Russian.
 */

export type Expectation = 'anything' | 'yes_no' | 'digits' | 'email' | 'spelling' | 'key'

const KEY = /\b(?:press|dial|push|key in)\b|нажмите|наберите/i
const EMAIL = /\be-?mail\b|электронн\p{L}* (?:почт|адрес)|\bимейл|(?:^|[^\p{L}])почт[уаы](?!\p{L})/iu
const SPELLING = /\bspell(?:ed|ing)?\b|по буквам/i
const DIGITS =
  /\b(?:numbers?|digits?|codes?|pin|zip|post ?code|phone|telephone)\b|номер|телефон|\bкод|(?:^|[^\p{L}])код(?!\p{L})|цифр|индекс/iu
/** Requests a value, not a yes: "Is this the number?" expects a yes. */
const ASKS_FOR =
  /\b(?:what|which|tell|give|say|enter|repeat|may i have|can i have|could you (?:tell|give|repeat|spell)|please)\b|как(?:ой|ая|ие|ов)|назовите|скажите|продиктуйте|введите|повторите|подскажите|сообщите/i
const YES_NO =
  /^(?:and |so |then |well,? |okay,? |а |и |ну )?(?:is|are|am|was|were|do|does|did|can|could|would|will|shall|should|may|have|has|had)\b|\b(?:right|correct|okay|ok|yes|is that so)\?$|(?:верно|правильно|так|да|хорошо|согласны|подходит|удобно)\?$|(?:^|[^\p{L}])(?:ли|хотите|можно|могу|нужно|будете|подтверждаете|вы (?:готовы|согласны|хотите))(?!\p{L})/iu

/** Classifies the last sentence that was played. */
export function expectationOf(text: string): Expectation {
  const last =
    text
      .trim()
      .match(/[^.!?…]+[.!?…]*$/)?.[0]
      ?.trim() ?? ''
  if (KEY.test(last)) return 'key'
  if (SPELLING.test(last)) return 'spelling'
  const asksFor = ASKS_FOR.test(last)
  if (asksFor && EMAIL.test(last)) return 'email'
  if (asksFor && DIGITS.test(last)) return 'digits'
  if (last.endsWith('?') && YES_NO.test(last)) return 'yes_no'
  return 'anything'
}
