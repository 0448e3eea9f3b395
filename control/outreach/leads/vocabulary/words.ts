/** Stems words in Russian and English, to compare texts regardless of case and number. Pure. */
import { folded, formsOf } from './forms.ts'

const VOWELS = 'аеиоуыэюя'
const GERUND = /(?:(?:ив|ыв)(?:ши(?:сь)?)?|(?<=[ая])в(?:ши(?:сь)?)?)$/
const REFLEXIVE = /(?:ся|(?<=л[аои]|[юу]|те|ши)сь)$/
const ADJECTIVE = /(?:[иы]ми|[иыое]е|[иыое]й|[иыое]м|[ео]го|[ео]му|[иы]х|[ую]ю|ая|яя|[ое]ю)$/
const PARTICIPLE = /(?:ивш|ывш|ующ|(?<=[ая])(?:ем|нн|вш|ющ|щ))$/
const VERB =
  /(?:[иы]ла|ена|[еу]йте|ите|[иы]ли|[еу]й|[иы]л|[иы]м|ен|[иы]ло|ено|ят|у[ею]т|[иы]т|ены|[иы]ть|ишь|ую|ю|(?<=[ая])(?:[лн]а|ете|йте|ли|й|л|ем|н|[лн]о|[ею]т|ны|ть|ешь|нно))$/
const NOUN = /(?:[иь]?е|и?ями|ами|[ео]в|[еи]?и|и?ей|[ои]й|й|и?я[мх]|и?ем|а[мх]|ом|[аоуыь]|и?ях|[иь]?ю|[иь]?я)$/

/**
 * Returns the part of a word that inflection does not change. `word` may be in any case; words of other alphabets are
 * returned unchanged.
 */
export function stem(word: string): string {
  const lower = word.toLowerCase().replaceAll('ё', 'е')
  return /[а-я]/.test(lower) ? russianStem(lower) : englishStem(lower)
}

/** The Snowball stemmer for Russian (snowballstem.org/algorithms/russian), without its rare last steps. */
function russianStem(word: string): string {
  const whole = withoutFleeting(word)
  const first = [...whole].findIndex(letter => VOWELS.includes(letter))
  if (first < 0) return whole
  const tail = cutRussian(whole.slice(first + 1))
  return whole.slice(0, first + 1) + tail.replace(/[иь]$/, '').replace(/нн$/, 'н')
}

/** Removes the fleeting vowel: `кофейня`, but `кофеен`; `химчистка`, but `химчисток`. Short words keep theirs. */
function withoutFleeting(word: string): string {
  if (word.length < 6) return word
  return word
    .replace(/еен$/, 'ейн')
    .replace(/(?<=[бвгдзклмпрстфхцчшщ])ен$/, 'н')
    .replace(/(?<=[бвгджзлмнпрстфхцчшщ])ок$/, 'к')
    .replace(/(?<=[аеиоуя])ек$/, 'йк')
}

function cutRussian(tail: string): string {
  const gerund = tail.replace(GERUND, '')
  if (gerund !== tail) return gerund
  const plain = tail.replace(REFLEXIVE, '')
  const adjective = plain.replace(ADJECTIVE, '')
  if (adjective !== plain) return adjective.replace(PARTICIPLE, '')
  const verb = plain.replace(VERB, '')
  return verb !== plain ? verb : plain.replace(NOUN, '')
}

/** Handles plurals, possessives and the most common verb forms, which is enough for names of trades and places. */
function englishStem(word: string): string {
  const plain = word.replace(/['’]s?$/, '')
  if (plain.length < 4) return plain
  return plain
    .replace(/ies$/, 'y')
    .replace(/(?<=ss|x|ch|sh|z)es$/, '')
    .replace(/(?<=[^su])s$/, '')
    .replace(/(?<=[a-z]{4})ing$/, '')
}

/** Returns the words of a text (letters and digits) in order; a hyphen separates words. */
export const wordsOf = (text: string): string[] =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .match(/[\p{L}\p{N}]+(?:['’]\p{L}+)?/gu) ?? []

/** Returns the meaningful words, without the prepositions of either language. */
const meaningfulWords = (text: string): string[] =>
  wordsOf(text)
    .filter(word => !LITTLE.has(word))
    .map(folded)

export const stemsOf = (text: string): string[] => meaningfulWords(text).map(stem)

/** Returns a function that checks whether a text contains all meaningful words of `wanted`, in any form. */
export function wordsFinder(wanted: string): (text: string) => boolean {
  const all = meaningfulWords(wanted).map(word => ({ word, stem: stem(word), forms: formsOf(word) }))
  return text => {
    const there = meaningfulWords(text)
    const stems = new Set(there.map(stem))
    const isForm = (one: (typeof all)[number]) => (word: string) =>
      one.forms.has(word) || (word.slice(0, SAME) === one.word.slice(0, SAME) && formsOf(word).has(one.word))
    return all.every(one => stems.has(one.stem) || there.some(isForm(one)))
  }
}

/** Number of letters that all forms of a word share. */
const SAME = 2

const LITTLE = new Set(
  'в во на по из от до у к ко с со за и или для под над при о об не а но the a an in at on of for and or to by with near'.split(
    ' ',
  ),
)
