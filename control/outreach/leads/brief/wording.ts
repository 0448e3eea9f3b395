/** Puts Russian phrases into the nominative if their endings are unambiguous; others, and English, stay. Pure. */
import { nichesIn } from '../vocabulary/niches.ts'

const CYRILLIC = /\p{Script=Cyrillic}/u
/** Endings that no nominative has: genitive, dative and instrumental of both numbers. */
const OBLIQUE = /(?:ов|ев|ей|ий|ых|их|ам|ям|ами|ями|ах|ях|ым|им|ого|его|ому|ему|у|ю|ой|ом|ем|[бвгджзклмнпрстфхцчшщ]|ь)$/

/** `50 стоматологий` gives `стоматология`; with `instrumental`, `с онлайн-записью` gives `онлайн-запись`. */
export function nominativeOf(phrase: string, of: 'kind' | 'instrumental' = 'kind'): string {
  if (!CYRILLIC.test(phrase)) return phrase
  return of === 'kind' ? kindIn(phrase) : instrumental(phrase)
}

/** A known kind gets its name; an adjective before it agrees with that name. */
function kindIn(phrase: string): string {
  const matches = nichesIn(phrase)
  const [match] = matches
  if (matches.length !== 1 || !match || match.to !== phrase.length || !CYRILLIC.test(match.name)) return phrase
  const adjectives = phrase.slice(0, match.from).trim()
  const first = phrase.slice(match.from).split(' ')[0]!
  if (!OBLIQUE.test(first.toLowerCase()) && !isCounted(first.toLowerCase(), match.name)) return phrase
  if (adjectives === '') return match.name
  const words = adjectives.split(' ')
  if (!words.every(word => /(?:ых|их)$/.test(word))) return phrase
  const noun = match.name.split(' ').find(word => !/(?:ая|ый|ий|ой|ое)$/.test(word)) ?? match.name
  return [...words.map(word => agreeing(word, noun)), match.name].join(' ')
}

/** `2 юриста`: the form of a noun with a final consonant after two, three and four. */
const isCounted = (word: string, name: string): boolean =>
  /[ая]$/.test(word) && /[бвгджзйклмнпрстфхцчшщь]$/.test(name.split(' ')[0]!)

/** Returns the nominative singular, in the noun's gender, of an adjective in the genitive plural. */
function agreeing(adjective: string, noun: string): string {
  const bare = adjective.slice(0, -2)
  const soft = adjective.endsWith('их') && !/[кгхжшчщ]$/.test(bare)
  if (/[ая]$/.test(noun)) return bare + (soft ? 'яя' : 'ая')
  if (/[ое]$/.test(noun)) return bare + (soft || /[жшчщ]$/.test(bare) ? 'ее' : 'ое')
  return bare + (adjective.endsWith('их') ? 'ий' : 'ый')
}

const ADJECTIVES: [RegExp, string][] = [
  [/(?<=[а-я]{2}[кгхжшчщ])ими$/, 'ие'],
  [/(?<=[а-я]{2})ыми$/, 'ые'],
  [/(?<=[а-я]{2}[кгх])им$/, 'ий'],
  [/(?<=[а-я]{2})ым$/, 'ый'],
]
const NOUNS: [RegExp, string][] = [
  [/(?<=[а-я]{2})ью$/, 'ь'],
  [/(?<=[а-я]{2})ией$/, 'ия'],
  [/(?<=[а-я]{2})анием$/, 'ание'],
  [/(?<=[а-я]{2})ением$/, 'ение'],
  [/(?<=[а-я]{2})ством$/, 'ство'],
  [/(?<=[а-я]{2}[кгхжшчщ])ами$/, 'и'],
  [/(?<=[а-я]{2})ами$/, 'ы'],
  [/(?<=[а-я]{2})ой$/, 'а'],
  [/(?<=[а-я]{2})ом$/, ''],
]
const changed = (word: string, rules: [RegExp, string][]): string | null => {
  const rule = rules.find(([pattern]) => pattern.test(word))
  return rule ? word.replace(rule[0], rule[1]) : null
}

/** Handles one noun, with an adjective before it or a dependent phrase after it. */
function instrumental(phrase: string): string {
  const [first = '', second, ...rest] = phrase.split(' ')
  const adjective = /[ое]й$/.test(first) && second && changed(second, NOUNS) ? first.replace(/[ое]й$/, 'ая') : null
  const led = adjective ?? changed(first, ADJECTIVES)
  const noun = led === null ? changed(first, NOUNS) : second === undefined ? null : changed(second, NOUNS)
  if (noun === null) return phrase
  return (led === null ? [noun, second, ...rest] : [led, noun, ...rest]).filter(Boolean).join(' ')
}
