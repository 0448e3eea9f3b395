/** Parses signals in the owner's own words, Russian or English. enrich/signals.ts finds the evidence. Pure. */
import { stemsOf, wordsOf } from './words.ts'

export type KnownSignal =
  | 'website'
  | 'phone'
  | 'email'
  | 'whatsapp'
  | 'telegram'
  | 'instagram'
  | 'vk'
  | 'facebook'
  | 'social'
  | 'online_booking'
  | 'online_payment'
  | 'cards'
  | 'delivery'
  | 'nationwide'
  | 'parking'
  | 'wifi'
  | 'wheelchair'
  | 'reviews'
  | 'hiring'
  | 'online_shop'
  | 'chat'
  | 'mobile_site'
  | 'discounts'

export type Matter =
  | { type: 'known'; known: KnownSignal }
  /** Open on one of these days, or on all of them; 0 is Monday. */
  | { type: 'days'; days: number[]; all: boolean }
  | { type: 'round_the_clock' }
  | { type: 'open_after'; minute: number }
  | { type: 'branches'; over: number }
  | { type: 'languages'; languages: Language[] }
  /** Stems that must occur in one sentence; `least` makes numbers a minimum. */
  | { type: 'words'; stems: string[]; least: number | null }

export interface AskedSignal {
  /** In the owner's words. */
  signal: string
  /** True when the owner wants it to be absent: `no website`. */
  inverted: boolean
  matter: Matter
}

export type Language = 'en' | 'ru' | 'de' | 'es' | 'fr' | 'tr' | 'zh' | 'ar' | 'it'
/** Names of the language in Russian, in English, and in itself. */
export const LANGUAGES: Record<Language, RegExp> = {
  en: /англ|english|englisch/i,
  ru: /русск|russian|russisch/i,
  de: /немец|german|deutsch/i,
  es: /испан|spanish|español/i,
  fr: /француз|french|français/i,
  tr: /турец|turkish|türkçe/i,
  zh: /китай|chinese|mandarin|中文/i,
  ar: /араб|arabic|العربية/i,
  it: /итальян|italian/i,
}

const KNOWN: readonly [KnownSignal, RegExp][] = [
  ['mobile_site', /мобильн\p{L}* (?:верси|сайт)|mobile.?(?:friendly|site|version)|адаптивн\p{L}* сайт/iu],
  [
    'online_booking',
    /(?:онлайн|через (?:сайт|интернет)|электронн)\p{L}*.{0,3}запис|запис\p{L}* (?:онлайн|через (?:сайт|интернет))|онлайн.?брониров|online (?:booking|appointment|scheduling|reservation)|books? online/iu,
  ],
  [
    'online_payment',
    /(?:онлайн|через интернет).?оплат|оплат\p{L}* (?:онлайн|на сайте|через интернет)|online payment|pay online/iu,
  ],
  ['online_shop', /интернет-?\s?магазин|online (?:shop|store)|e-?commerce|(?:заказ\p{L}*|купить) онлайн/iu],
  [
    'nationwide',
    /(?:достав|отправ|отгруз)\p{L}* по (?:всей )?(?:росси|рф|стран)|(?:ship|deliver)\p{L}* (?:nation|country)wide|nationwide (?:delivery|shipping)/iu,
  ],
  ['whatsapp', /whats ?app|ватс?ап|вотс?ап/iu],
  ['telegram', /telegram|телеграм/iu],
  ['instagram', /instagram|инстаграм/iu],
  ['facebook', /facebook|фейсбук/iu],
  ['vk', /(?<!\p{L})(?:vk|вк)(?!\p{L})|вконтакте/iu],
  ['social', /соц\p{L}*[. ]*сет|social (?:media|network)/iu],
  ['wheelchair', /инвалид\p{L}*.{0,12}(?:коляс|доступ)|доступн\p{L}* сред|пандус|wheelchair|step-?free/iu],
  [
    'hiring',
    /ваканс|(?:ищ\p{L}+|набира\p{L}+|нанима\p{L}+) (?:сотрудник|персонал|работник)|hiring|vacanc|job openings/iu,
  ],
  ['reviews', /отзыв|review|testimonial/iu],
  [
    'cards',
    /(?:прин\p{L}+|оплат\p{L}*|плат\p{L}*)\s(?:банковск\p{L}+ )?карт(?:ы|ой|ам|ами|у)?$|card payments?$|(?:accepts?|takes?) (?:credit |debit )?cards?|безнал/iu,
  ],
  ['delivery', /^(?:есть |имеется |бесплатная |free |has |offers )?(?:доставка|delivery|delivers)(?: на дом)?$/iu],
  ['parking', /^(?:есть |имеется |своя |бесплатная |free |has )?(?:парковка|автостоянка|parking|car park)$/iu],
  ['wifi', /wi-?fi|вай-?фай/iu],
  ['discounts', /^(?:есть )?(?:скидк\p{L}|акци\p{L}|discounts?|special offers?)$/iu],
  ['chat', /онлайн.?(?:чат|консультант)|чат на сайте|live chat|online chat/iu],
  ['email', /^(?:есть |has (?:an? )?)?(?:e-?mail|электронная почта|почта)$/iu],
  ['phone', /^(?:есть |указан |has (?:an? )?)?(?:телефон|phone(?: number)?)$/iu],
  ['website', /^(?:есть |имеет |имеется |свой |has (?:an? )?|own )*(?:сайт\p{L}?|web ?site)$/iu],
]

const INVERTED = /^(?:нет|без|не имеет|отсутству\p{L}+|no|without|lacks|has no|does not have|doesn't have)\s+/iu
const DAYS: readonly [number, RegExp][] = [
  [0, /понедельник|monday/iu],
  [1, /вторник|tuesday/iu],
  [2, /(?<!\p{L})сред[уыа](?!\p{L})|по средам|wednesday/iu],
  [3, /четверг|thursday/iu],
  [4, /пятниц|friday/iu],
  [5, /суббот|saturday/iu],
  [6, /воскресен|sunday/iu],
]
const COUNTED =
  /филиал|салон|магазин|точ(?:ек|ки)|клиник|аптек|отделени|офис|ресторан|кафе|студи|branch|location|stores?\b|shops?\b|outlets?|offices?\b/iu
const MORE = /(?:более|больше|свыше|от|не менее|over|more than|at least)\s+(?:чем\s+)?(\d{1,4})(?!\d)/iu

export function readSignal(signal: string): AskedSignal {
  const text = signal.trim().toLowerCase().replaceAll('ё', 'е')
  const plain = text.replace(INVERTED, '')
  // `без выходных` does not ask for something to be absent.
  const inverted = plain !== text && !/^без (?:выходных|перерыв|боли)/.test(text)
  return { signal, inverted, matter: matterOf(inverted ? genitiveAside(plain) : text) }
}

/** `нет сайта` asks about `сайт`. */
const genitiveAside = (text: string): string =>
  text.replace(/^(?:доставк|парковк)и$/, match => `${match.slice(0, -1)}а`)

function matterOf(text: string): Matter {
  const hours = hoursOf(text)
  if (hours) return hours
  const over = Number(MORE.exec(text)?.[1] ?? Number.NaN)
  if (over >= 0 && COUNTED.test(text)) return { type: 'branches', over }
  if (/^(?:сеть|сетев\p{L}+|chain|есть филиалы|несколько филиалов)$/u.test(text)) return { type: 'branches', over: 1 }
  const languages = languagesOf(text)
  if (languages.length > 0) return { type: 'languages', languages }
  const known = KNOWN.find(([, pattern]) => pattern.test(text))
  if (known) return { type: 'known', known: known[0] }
  return { type: 'words', stems: tellingStems(text), least: over >= 0 ? over : null }
}

function hoursOf(text: string): Matter | null {
  if (/круглосуточн|24\s?\/\s?7|24[- ]?(?:часа|hours?)|round the clock/.test(text) && wordsOf(text).length < 5)
    return { type: 'round_the_clock' }
  const late = /(?:до|после|till|until|after)\s(\d{1,2})(?::(\d{2}))?\s?(ночи|вечера|утра|[ap]m)?(?![\d.])/.exec(text)
  const isAboutHours = /работа|открыт|(?:^|\s)open|прием|график|appointment|запись|hours/.test(text)
  if (late && isAboutHours) return { type: 'open_after', minute: lateMinute(late) }
  if (/без выходных|ежедневно|каждый день|every ?day|(?:7|seven) days/.test(text) && isAboutHours)
    return { type: 'days', days: [0, 1, 2, 3, 4, 5, 6], all: true }
  const days = DAYS.filter(([, pattern]) => pattern.test(text)).map(([day]) => day)
  if (days.length > 0) return { type: 'days', days, all: true }
  if (/выходн|weekend/.test(text)) return { type: 'days', days: [5, 6], all: false }
  return null
}

/**
 * A time at night is on the next day. One minute less, because a company that closes at that time still counts as open.
 */
function lateMinute([whole, hour, minute, half]: RegExpExecArray): number {
  const isEvening = (half === 'вечера' || half === 'pm') && Number(hour) < 12
  const hours = Number(hour) + (isEvening ? 12 : 0)
  const isNight = hours < 6 && half !== 'утра'
  const at = hours * 60 + Number(minute ?? 0) + (isNight ? 1440 : 0)
  return /^(?:до|till|until)/.test(whole!) ? at - 1 : at
}

function languagesOf(text: string): Language[] {
  if (!/(?:speak|spoken|говор|язык|по-англ|по-русс|по-нем)/.test(text)) return []
  return (Object.keys(LANGUAGES) as Language[]).filter(language => LANGUAGES[language].test(text))
}

/** Words that apply to any company and say nothing. */
const FILLING = new Set(
  'есть имеет имеется наличие предлагает предоставляет работает работают работа делает оказывает возможность можно возможен они компания has have having offers offer offering provides provide is are there available they company that which company’s does do by more than over least not более больше свыше чем менее'.split(
    ' ',
  ),
)

function tellingStems(text: string): string[] {
  const telling = wordsOf(text).filter(word => !FILLING.has(word))
  return [...new Set(stemsOf(telling.length > 0 ? telling.join(' ') : text))]
}
