/**
 * All forms of the words of a name, so that a name is found in any inflection. Forms are generated because a stemmer
 * without a dictionary maps `Киров` and `Кирова` to the same stem only by cutting the first to `кир`. Extra forms do no
 * harm.
 */

/** Lower case, with `ё` as `е` and plain apostrophes. */
export const folded = (word: string): string =>
  word.normalize('NFKC').toLowerCase().replaceAll('ё', 'е').replaceAll('’', "'")

const RULES: [RegExp, string][] = [
  [/ая$|яя$/, 'ая яя ой ей ую юю ые ие ых их ым им ыми ими'],
  [/[ыи]й$/, 'ый ий ого его ому ему ым им ом ем ые ие ых их ыми ими ая ой ую ое'],
  [/ой$/, 'ой ого ому ым ом ые ых ыми ая ую ое'],
  [/[ыи]е$/, 'ые ие ых их ым им ыми ими'],
  [/ое$|ее$/, 'ое ее ого его ому ему ым им ом ем ые ие ых их ыми ими'],
  [/й$/, 'й я ю ем е и ев ям ями ях'],
  [/ь$/, 'ь я ю ем е и ей ью ям ями ях ов'],
  [/а$/, 'а ы и е у ой ей ам ами ах *'],
  [/я$/, 'я и е ю ей й ям ями ях ь *'],
  [/о$/, 'о а у ом е ам ами ах *'],
  [/(?<=и)е$/, 'е я ю ем и й ям ями ях'],
  [/[ыи]$/, 'ы и а ов ев ей ам ям ами ями ах ях *'],
  [/(?<=[бвгджзклмнпрстфхцчшщ])$/, ' а у ом ем е ы и ов ев ей ам ами ах ою'],
]

/** Returns all forms of one word. */
export function formsOf(word: string): ReadonlySet<string> {
  const plain = folded(word)
  return new Set(/\p{Script=Cyrillic}/u.test(plain) ? russianForms(plain) : englishForms(plain))
}

function russianForms(word: string): string[] {
  const forms = [word]
  // Shorter words do not change, or are abbreviations.
  if (word.length < 3) return forms
  for (const [ending, endings] of RULES) {
    const match = ending.exec(word)
    if (!match) continue
    const base = word.slice(0, match.index)
    for (const one of endings.split(' ')) forms.push(...(one === '*' ? bareForms(base) : [base + one]))
  }
  // Орёл, орла; Череповец, Череповца.
  const short = word.replace(/(?<=[бвгджзклмнпрстфхцчшщ])[ео](?=[лкц]$)/, '')
  if (short !== word) for (const one of 'а у ом ем е ы и ов ев ам ами ах'.split(' ')) forms.push(short + one)
  return forms
}

/** Genitive plural without an ending: аптек, химчисток, моек, пекарен, кухонь, кофеен. */
function bareForms(base: string): string[] {
  const [last = '', before = ''] = [base.at(-1), base.at(-2)]
  const head = base.slice(0, -2)
  if (/[йь]/.test(before)) return [base, `${head}е${last}`]
  if (!/[бвгджзклмнпрстфхцчшщ]{2}/.test(before + last)) return [base]
  return [base, `${base.slice(0, -1)}о${last}`, `${base.slice(0, -1)}е${last}`, `${base.slice(0, -1)}о${last}ь`]
}

function englishForms(word: string): string[] {
  const plural = /[^aeiou]y$/.test(word)
    ? `${word.slice(0, -1)}ies`
    : /(?:s|x|ch|sh|z)$/.test(word)
      ? `${word}es`
      : `${word}s`
  return [word, plural, `${word}'s`, `${word}s'`]
}
