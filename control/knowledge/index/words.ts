/**
 * Prepares text for full-text search: detects the language of a chunk, and selects the words of a query that carry its
 * meaning.
 */

/** A configuration of Postgres full-text search. `russian` stems words in Latin letters as English. */
export type Language = 'russian' | 'english' | 'simple'

const RUSSIAN = words(`и в во не на я с со что как а то все она так его но да ты к у же вы за бы по только ее мне было
  вот от меня еще нет о из ему когда даже ну если уже или ни быть был него до вас опять уж вам ведь там потом себя
  может они есть надо для мы тебя их чем была сам чтоб без будто чего раз тоже под будет ж тогда кто этот того потому
  этого какой совсем ним здесь этом один почти мой тем чтобы нее сейчас были куда зачем всех можно при об хоть после
  над через эти нас про них какая много эту моя свою этой перед лучше чуть том такой им более всю между это эта также`)
const ENGLISH =
  words(`the of and to in a is that it for was on are as with his they at be this from have or by one had not
  but what all were when we there can an your which their said if will each about how up out them then she many some so
  these would other into has her two like him see could no make than been its who now people my made over did down only
  may after also any our you do does me i us he`)
/** Conversational words. Some are rare in documents and would wrongly count as the subject of the query. */
const SPOKEN =
  words(`алло здравствуйте привет добрый день вечер утро подскажите скажите расскажите пожалуйста хотел хотела
  хочу хотелось узнать знать интересует интересно спросить вопрос случае вообще собственно короче значит просто
  вас ваш ваша ваше ваши вашей вашем вашего мой моя мое мои меня мне нам нас как какой какая какие каков сколько когда где
  куда откуда почему зачем кто что чем ли разве можно нельзя нужно надо могу можете можем бывает получится
  hello hi hey please tell say know want wanted wonder wondering ask question could would should can may might
  what which who whom whose when where why how much many long often your yours my mine i me you we us our ours
  get got need going do does did is are was were there any some if so just actually really okay ok um uh`)

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/))
}

const WORD = /\p{L}+/gu
/** Least share of English function words. In prose it is one word in four; a list of names has fewer. */
const ENGLISH_SHARE = 0.12

/** Cyrillic that is not Russian, and Latin that is not English, are indexed as written. */
export function languageOf(text: string): Language {
  const found = text.toLowerCase().replaceAll('ё', 'е').match(WORD) ?? []
  if (found.length === 0) return 'simple'
  const cyrillic = found.filter(word => /\p{Script=Cyrillic}/u.test(word))
  if (cyrillic.length * 3 > found.length) return /[іїєґўқғұөә]/u.test(text.toLowerCase()) ? 'simple' : 'russian'
  if (/[^\p{Script=Latin}\p{Script=Cyrillic}\P{L}]/u.test(text)) return 'simple'
  if (cyrillic.length > 0) return 'russian'
  const known = found.filter(word => ENGLISH.has(word)).length
  const accented = found.filter(word => /[^a-z]/u.test(word)).length
  return known >= found.length * ENGLISH_SHARE || (accented === 0 && found.length < 12) ? 'english' : 'simple'
}

/**
 * Normalises text for indexing: words with two spellings get one, and a slash between words is not a path. Lower-cases
 * here because Postgres does so only for characters of its locale, which is `C`: in it every character beyond ASCII
 * counts as a letter, and the quotation marks of «Beach» would be letters of that word.
 */
export const searchable = (text: string) =>
  text
    .replaceAll('№', ' ')
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll('ё', 'е')
    .replace(/[’ʼ]/g, "'")
    // Removes invisible characters such as soft hyphens, and the stress marks of Russian dictionaries.
    .replace(/\p{Cf}|\u0301/gu, '')
    .replace(/[^\p{L}\p{M}\p{N}\p{ASCII}]+|[/\\_|]+/gu, ' ')

/** `what's`, `i've`, `don't`: the part before the apostrophe is enough, or the word means nothing. */
const CONTRACTED = /n't$|'(?:s|m|d|re|ve|ll)$/

/** Returns the words of a query that carry meaning; all of them when there are no others. */
export function meaningfulWords(query: string): string[] {
  const found = searchable(query).match(/[\p{L}\p{N}][\p{L}\p{M}\p{N}.@'-]*/gu) ?? []
  const all = found.map(word => word.replace(/[.@'-]+$/, ''))
  const telling = all.filter(word => {
    const [base, whole] = [word.replace(CONTRACTED, ''), word.endsWith("n't")]
    return !whole && !SPOKEN.has(base) && !RUSSIAN.has(base) && !ENGLISH.has(base)
  })
  return [...new Set(telling.length > 0 ? telling : all)]
}
