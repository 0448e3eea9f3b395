/**
 * Words that announce the meaning of the next words in a brief: a wish, an exclusion, a heading, or only politeness.
 * Tables.
 */
import type { Token } from './clauses.ts'
import { isCapital } from './places.ts'

export type Part = 'niche' | 'geo' | 'target' | 'signals' | 'exclusions' | 'nothing'

export interface Marker {
  part: 'signals' | 'exclusions'
  /** Number of words of the marker. */
  words: number
  /** False when the marker belongs to the text that follows, such as `open` in `open on Sundays`. */
  drop: boolean
  /** True when the marker also applies after a comma: `кроме A, B`, but not `no A, B`. */
  lasting: boolean
}

const table = (text: string) => text.split(/[,\n]/).map(phrase => phrase.trim().split(' '))
const set = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/))

const LASTING = table(`кроме, исключая, исключить, исключи, исключите, исключив, за исключением, не считая, помимо
  except, except for, excluding, exclude, other than, apart from, aside from, but not including, leave out`)
const EXCLUDING =
  table(`без, не нужны, не нужно, не нужен, не надо, не хочу, не хотим, не интересуют, не интересны, не подходят, не берем
  не бери, не берите, не предлагать, не предлагайте, только не, но не, а не, убери, уберите, убрать, пропусти, пропустите
  without, but not, but no, skip, please skip, avoid, ignore, do not want, don't want, do not need, don't need
  do not include, don't include, not interested in, not looking for, omit`)
/** Exclude only at the start of a clause or before a name; elsewhere they negate a part of it. */
const DENYING = table('не, ни, нет, no, not, never')
const WISHING =
  table(`с, со, у которых, в которых, при которых, которые, который, которая, которых, которым, где, чтобы, чтоб, есть, имеют
  имеющие, имеющих, желательно, обязательно, важно, важна, важен, должны, должен, должна, должно, необходимо, плюсом, плюс, кто, те кто
  только те, хорошо бы, хотелось бы, с наличием, при наличии
  with, that, which, who, whose, where, having, has, have, must, should, preferably, ideally, they, it must, it should`)
/** Verbs that describe a company and are kept in the signal. */
const TELLING =
  table(`работают, работает, работающие, работающих, открыты, открытые, открытых, принимают, делают, занимаются, продают
  open, offering, selling, providing, specializing in, specialising in, specialized in, specialised in, accepting, serving, owned by
  founded, established, rated`)

/** After "without", these are wishes: `без выходных`. So is the lack of something that can be sold to the company. */
const WANTED_WITHOUT =
  /^(?:выходн|перерыв|обед|предоплат|очеред|запис|комисси|сайт|онлайн|приложени|crm|чат-?бот|доставк|website|web|site|online|app|booking|appointment|social)/
const AMOUNT =
  /^(?:более|менее|больше|меньше|выше|ниже|дороже|дешевле|позже|раньше|только|more|less|fewer|later|only|older)$/

const fits = (tokens: readonly Token[], at: number, phrase: readonly string[]) =>
  phrase.every((word, i) => tokens[at + i]?.word === word)
const longest = (tokens: readonly Token[], at: number, phrases: string[][]): number =>
  phrases.reduce((most, phrase) => (phrase.length > most && fits(tokens, at, phrase) ? phrase.length : most), 0)

/** `starts`: a clause starts here, or continues after an "and". `inside`: the part of the words before. */
export function markerAt(tokens: readonly Token[], at: number, inside: Part, starts: boolean): Marker | null {
  const lasting = longest(tokens, at, LASTING)
  if (lasting > 0) return { part: 'exclusions', words: lasting, drop: true, lasting: true }
  const excluding = excludingAt(tokens, at, inside, starts)
  if (excluding) return excluding
  if (inside === 'signals' && !starts) return null
  if (inside === 'exclusions' && !starts) return null
  const wishing = longest(tokens, at, WISHING)
  // "From nine to six": the preposition belongs to the hours.
  if (wishing > 0 && !/^\d/.test(tokens[at + wishing]?.word ?? ''))
    return { part: 'signals', words: wishing, drop: true, lasting: false }
  if (wishing > 0 || longest(tokens, at, TELLING) > 0) return { part: 'signals', words: 0, drop: false, lasting: false }
  return null
}

function excludingAt(tokens: readonly Token[], at: number, inside: Part, starts: boolean): Marker | null {
  const plain = longest(tokens, at, EXCLUDING)
  const denying = plain > 0 ? 0 : longest(tokens, at, DENYING)
  const words = plain || denying
  if (words === 0 || inside === 'exclusions') {
    if (words === 0 || !starts) return null
  }
  const next = tokens[at + words]
  if (denying > 0 && next && AMOUNT.test(next.word)) return null
  if (next && WANTED_WITHOUT.test(next.word)) {
    return inside !== 'niche' && !starts ? null : { part: 'signals', words: 0, drop: false, lasting: false }
  }
  const english = /^(?:no|not)$/.test(tokens[at]!.word)
  if (denying > 0 && !starts && !isCapital(next) && !(english && inside === 'niche')) return null
  return { part: 'exclusions', words, drop: true, lasting: false }
}

/** `муниципальные не нужны`: excludes the words before it. */
const BEHIND =
  /^(?:.* )?(?:не (?:нужны|нужно|нужен|надо|интересуют|интересны|подходят|предлагать|рассматриваем)|(?:are |is )?not (?:needed|wanted|welcome|interesting))$/

/** Returns the number of words at the end that exclude the words before them. */
export function excludedBehind(tokens: readonly Token[]): number {
  const end = tokens
    .slice(-3)
    .map(token => token.word)
    .join(' ')
  if (!BEHIND.test(end)) return 0
  const words = /(?:are|is) not \S+$/.test(end) ? 3 : 2
  return tokens.length > words ? words : 0
}

const HEADINGS: [Part, string][] = [
  [
    'niche',
    `кого ищем|кто нужен|что ищем|ниша|сфера|сфера деятельности|тип|тип бизнеса|отрасль|категория|целевая аудитория|ца|niche|target|industry
    |business type|type|who|category|businesses|business`,
  ],
  [
    'geo',
    `город|города|где|гео|география|регион|регионы|локация|место|location|locations|where|city|cities|area|geo|region
    |place|country|страна`,
  ],
  [
    'target',
    `количество|сколько|сколько нужно|число|число лидов|количество лидов|лидов|объем|number|count|leads|how many|quantity
    |target leads|number of leads|amount|qty|volume`,
  ],
  [
    'signals',
    `важно|критерии|признаки|требования|сигналы|условия|желательно|плюсом|плюсы|обязательно|что важно|нужны|фильтры
    |must have|must haves|signals|criteria|requirements|nice to have|good|important|preferences|should have|plus|wanted|filters`,
  ],
  [
    'exclusions',
    `исключить|исключения|исключаем|кроме|не нужны|не нужно|не надо|без|стоп-лист|не подходят|минус|минусы|exclude|excluded
    |exclusions|excluding|avoid|bad|except|not|no|do not want|don't want|skip|without|must not have|not wanted|blacklist`,
  ],
  ['nothing', 'бюджет|budget|цель|goal|контекст|context|о нас|about us|срок|сроки|deadline|комментарий|comment'],
]
const headings = new Map(
  HEADINGS.flatMap(([part, names]) => names.split('|').map(name => [name.trim().replace(/\s+/g, ' '), part] as const)),
)
/** Returns the part that a heading clause announces. */
export const headingOf = (tokens: readonly Token[]): Part | null =>
  tokens.length > 3 ? null : (headings.get(tokens.map(token => token.word).join(' ')) ?? null)

/** Words of request and greeting, which say nothing about what is sought. */
export const ASKING =
  set(`найди найдите найти подбери подберите подобрать собери соберите собрать составь составьте сделай сделайте дай дайте
  покажи покажите выгрузи выгрузите нужен нужна нужно нужны мне нам ищу ищем ищется хочу хотим хотел хотела бы хотелось интересуют
  интересует требуется требуются пожалуйста здравствуйте привет добрый день вечер утро список списком базу база перечень выборку
  подборку из всех все всё около примерно порядка где-то хотя себе мы я и а по-быстрому есть ли можете можно помоги помогите среди
  i we need want find me us get give show please hello hi hey there dear would like looking look for search searching am are is a
  an the of list lists some all any could can you your help i'm we're i'd we'd about around roughly approximately database base and
  build collect gather compile among in by also near nearby рядом поблизости b2b`)
/** Words for companies of any kind. */
export const GENERIC =
  set(`компания компании компаний компанию компаниям фирма фирмы фирм организация организации организаций предприятие предприятия
  предприятий лид лиды лидов контакт контакты контактов клиент клиенты клиентов партнер партнеры партнеров покупателей штука штук штуки шт объект объекта объектов точка точек
  точки заведение заведения заведений место мест бизнес бизнесы бизнесов адрес адресов телефонов номеров вариантов позиций
  company companies business businesses lead leads contact contacts firm firms organization organizations organisation organisations
  place places results records prospects customers clients partners pieces pcs units entries`)

/** The company that asks, as opposed to those it looks for. */
export const SELF = /^(?:we|our|my|i|мы|наш[аеи]?|мо[йяе]|я|у нас|our company)$/
export const REQUEST =
  set(`ищу ищем нужен нужна нужно нужны найди найдите найти хочу хотим хотел хотела хотели подбери подберите собери соберите интересуют
  интересует требуется требуются need want looking look find get search searching like seek seeking after`)

/** Words to drop before a signal. */
export const FILLER =
  set(`с со with that which who whose where whom have has having есть имеют имеет имеется имеются имеющие имеющих наличие наличием у которых
  которые который которая где чтобы чтоб желательно обязательно важно должен должна должно должны быть был была было были необходимо
  must should be they it we need want i also only just только лишь те кто нужен нужна нужно нужны хотелось бы preferably ideally
  please are is а и the an a and но или or but would плюсом плюс свой еще also тоже также`)
/** Words to drop after a signal. */
export const TRAILING =
  set(`is are a must required preferred please пожалуйста обязательно желательно обязателен обязательна приоритете в and и or или
  но but а also plus welcome only важно`)
