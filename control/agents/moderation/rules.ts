/**
 * Rules about what agents must not be instructed to do, in Russian and English. A rule matches an instruction: a verb
 * in the imperative, near to its object. The rules expect text from `moderation/reading.ts`: one kind of apostrophe,
 * and no `ё`. `\b` knows only ASCII letters, so word boundaries are written out.
 */

export interface Rule {
  code: string
  message: string
  pattern: RegExp
  /** A text with this is about something else. */
  unless?: RegExp
}

export const anyOf = (...parts: string[]) => `(?:${parts.join('|')})`
export const word = (...parts: string[]) => `(?<!\\p{L})${anyOf(...parts)}(?!\\p{L})`
/** Matches word stems: Russian words vary mostly in their endings. */
const stem = (...parts: string[]) => `(?<!\\p{L})${anyOf(...parts)}`

const NEGATED = word('not', 'never', 'не', 'никому', 'никогда')
/** Within one sentence, about a line of text, and not negated on the way (`ask them not to tell the code`). */
const GAP = `(?:(?!${NEGATED}|n't)[^.!?;\\n]){0,60}?`

/** Places and things that share only the name: a police museum, a toy gun. */
const NAMESAKE = stem(
  ...['museum', 'exhibition', 'theat', 'history', 'academ', 'school', 'toy', 'game', 'film', 'movie', 'book', 'ticket'],
  ...[
    'музе',
    'выстав',
    'экскурс',
    'театр',
    'истори',
    'академи',
    'школ',
    'игруш',
    'игр',
    'кино',
    'фильм',
    'книг',
    'билет',
  ],
)
const OWN_GAP = `(?:(?!${NEGATED}|n't|${NAMESAKE})[^.!?;\\n]){0,60}?`
const NOT_NAMESAKE = `(?!(?:\\P{L}+\\p{L}+){0,2}?\\P{L}+${NAMESAKE})`

const PEOPLE = `${anyOf('the', 'any', 'all', 'our', 'their', 'old', 'elderly', 'poor')}?\\s*${word(
  ...[
    'them',
    'him',
    'her',
    'people',
    'persons?',
    'customers?',
    'clients?',
    'callers?',
    'debtors?',
    'borrowers?',
    'users?',
  ],
  ...['pensioners?', 'victims?', 'buyers?', 'patients?', 'subscribers?', 'relatives', 'family', 'elderly', 'voters?'],
)}`

// ---- Credentials ----

const ASK = word(
  ...['ask', 'asking', 'get', 'getting', 'obtain', 'obtaining', 'collect', 'collecting', 'request', 'requesting'],
  ...['find out', 'finding out', 'extract', 'extracting', 'demand', 'demanding', 'require', 'take down', 'note down'],
  ...['write down', '(?:make|have|let) (?:them|him|her|the \\p{L}+) (?:read|tell|dictate|name|give)'],
)
const SPROSI = word(
  ...['(?:с|по|вы)?проси(?:те|ть)?', 'спрашива(?:й|йте|ть)', 'запрос(?:и|ите|ить)', 'запрашива(?:й|йте|ть)'],
  ...['узна(?:й|йте|ть)', 'узнава(?:й|йте|ть)', 'выясн(?:и|ите|ить|яй|яйте|ять)', 'получ(?:и|ите|ить|ай|айте|ать)'],
  ...['(?:по)?требуй(?:те)?', 'вымани(?:те|ть)?', 'выманива(?:й|йте|ть)', 'выведа(?:й|йте|ть)', 'уточн(?:и|ите|ить)'],
  ...['собер(?:и|ите)', 'пусть (?:\\p{L}+ ){0,2}(?:назовет|продиктует|скажет|сообщит)'],
)
/** The PIN of a parcel locker is not the PIN of a card. */
const OTHER_PIN =
  '(?! (?:of|for|from|to) (?:the |your |their |his |her )?(?:parcel|locker|door|gate|order|meeting|room))'
const SECRETS = word(
  ...['cvv2?', 'cvc2?', 'cv2', 'otp', 'card security code', 'security code (?:of|on) (?:the |their |his |her )?card'],
  ...['one[- ]time (?:code|password|passcode)s?', '(?:sms|text|text message|verification|confirmation)[- ]codes?'],
  ...['codes? (?:from|in) (?:the |an? |their |his |her )?(?:sms|text)', 'pin[- ]code', '(?:card|bank|account) pin'],
  `(?:the|their|his|her|your) pin${OTHER_PIN}`,
  ...['(?:online[- ])?bank(?:ing)? (?:password|log-?in)', '(?:e-?mail|mailbox|account) password'],
  'password (?:for|of|to|from) (?:\\p{L}+ ){0,2}(?:bank|account|e-?mail|mailbox)',
  ...['(?:seed|recovery) phrase', 'private key'],
)
const SEKRETY = stem(
  ...['cvv', 'cvc', 'пин-?\\s?код', '(?:смс|sms)-?\\s?код', 'одноразов\\p{L}+ (?:код|парол)', 'код\\p{L}* подтвержд'],
  'код\\p{L}* (?:из|от|с) (?:смс|sms|сообщени|уведомлени|госуслуг|банка)',
  ...['(?:трехзначн\\p{L}+|секретн\\p{L}+) код', 'код\\p{L}* (?:на|с) об(?:орот|ратн)', '(?:сид|seed)-?\\s?фраз'],
  'парол\\p{L}* (?:от|к|для) (?:\\p{L}+ )?(?:банк|интернет|сбер|госуслуг|личн|почт|аккаунт)',
)

// ---- Impersonation ----

const SAY_YOU_ARE = word(
  ...['pretend', 'pretending', 'impersonate', 'impersonating', 'pos(?:e|ing) as', 'claim(?:ing)? to be'],
  ...['(?:introduce|present|introducing|presenting) yourself as', 'on behalf of', 'in the name of', 'calling from'],
  "(?:say|tell (?:them|him|her|\\p{L}+ \\p{L}+)) (?:that )?(?:you are|you're|this is|it is)",
)
const YOU_ARE = `${word('you are', "you're", 'act as', 'your role is', 'play')} (?:an? |the )?(?:\\p{L}+ ){0,2}?`
const AUTHORITY = word(
  ...[
    'police',
    'policeman',
    'officer of the law',
    'fbi',
    'interpol',
    "prosecutors?(?: office|'s office)?",
    'bailiffs?',
  ],
  ...["bank(?:'s)? security", 'security (?:service|department) of (?:\\p{L}+ ){0,2}bank', 'central bank', 'irs'],
  ...['tax (?:office|inspector|authority|service)', '(?:customs|immigration) officer', 'government (?:agent|official)'],
)
const OFFICER = anyOf(
  ...['police (?:officer|detective|inspector)', 'policeman', 'fbi agent', 'prosecutor', 'bailiff', 'tax inspector'],
  'bank security (?:officer|agent|specialist)',
)
const PREDSTAVSYA = word(
  ...[
    'представ(?:ь|ляй)(?:ся|тесь)',
    'представ(?:ить|лять)ся',
    'притвор(?:ись|итесь|яйся|яйтесь)',
    'назов(?:ись|итесь)',
  ],
  ...['выда(?:й|йте|вай|вайте) себя', 'от (?:имени|лица)'],
  '(?:скажи|говори|сообщи|заяви)(?:те)?,? что (?:ты|вы|это|звонишь|звоните)',
)
const VLAST = stem(
  ...['полици', 'полицейск', 'следовател', 'следственн', 'прокур', 'фсб(?!\\p{L})', 'мвд(?!\\p{L})', 'пристав'],
  ...[
    'служб\\p{L}+ безопасности',
    'центробанк',
    'центральн\\p{L}+ банк',
    'росфинмониторинг',
    'налогов\\p{L}+ (?:инсп|служ)',
  ],
  ...['(?:сотрудник|работник|оператор)\\p{L}* госуслуг'],
)

// ---- Offers ----

const OFFER = word(
  ...[
    'sell',
    'selling',
    'offer',
    'offering',
    'advertise',
    'advertising',
    'promote',
    'promoting',
    'supply',
    'supplying',
  ],
  ...['provide', 'providing', 'arrange', 'arranging', 'deal', 'dealing', 'book', 'deliver', 'delivering', 'push'],
  '(?:take|accept)(?:ing)? (?:orders?|bookings?|payments?) for',
)
const PREDLOZHI = word(
  ...['прода(?:й|йте|вай|вайте|вать|ть)', 'предлож(?:и|ите|ить)', 'предлага(?:й|йте|ть)', 'рекламир(?:уй|уйте|овать)'],
  ...['организ(?:уй|уйте|овать)', 'достав(?:ь|ьте|ляй|ляйте|лять|ить)', 'сбыва(?:й|йте|ть)', 'запиши(?:те)?'],
  ...[
    '(?:прими|примите|принимай|принимайте|принимать) заказ\\p{L}*',
    'записыва(?:й|йте|ть)',
    'распространя(?:й|йте|ть)',
  ],
)
const SEXUAL = word(
  ...['escort services?', 'escorts', 'sexual services?', 'intimate services?', 'prostitutes?', 'prostitution'],
  ...['erotic (?:massages?|services?)', 'phone[- ]sex', 'sex(?! (?:education|therap))', 'porn', 'pornography', 'nudes'],
)
const INTIM = stem(
  ...[
    'интим\\p{L}*[- ](?:услуг|досуг|встреч|фото)',
    'эскорт',
    'секс(?!олог|опатолог|уальн\\p{L}+ (?:восп|просв|здор))',
  ],
  ...['проститу', 'эротическ\\p{L}+ (?:массаж|услуг)', 'порно'],
)
const REAL = '(?<!(?:toy|glue|water|nail|heat|massage|spray|squirt|staple) )'
const ILLICIT = word(
  ...[
    'cocaine',
    'heroin',
    'mdma',
    'meth',
    'methamphetamine',
    'amphetamines?',
    'mephedrone',
    'lsd',
    'ecstasy',
    'hashish',
  ],
  ...[
    'marijuana',
    'cannabis',
    'weed(?! (?:removal|control|killer))',
    '(?:illegal|hard|street|party) drugs',
    'narcotics',
  ],
  ...[
    `${REAL}guns?`,
    `${REAL}pistols?`,
    'handguns?',
    'firearms?',
    'revolvers?',
    'rifles?',
    'ammunition',
    'explosives?',
  ],
  ...[
    '(?:fake|forged) (?:passports?|ids?|documents?|diplomas?|licen[cs]es?)',
    'stolen (?:cards?|phones?|accounts?|data)',
  ],
)
const ZAPRET = stem(
  ...['наркотик', 'героин', 'кокаин', 'мефедрон', 'амфетамин', 'гашиш', 'марихуан', 'каннабис', 'экстази', 'огнестрел'],
  ...['оружи', '(?<!(?:водян|клеев|строительн|монтажн|массажн)\\p{L}* )пистолет', 'винтовк', 'взрывчат', 'боеприпас'],
  ...['(?:поддельн|фальшив)\\p{L}+ (?:паспорт|диплом|документ|справк|прав)', '(?:краден|ворован)\\p{L}+'],
)

// ---- List of rules ----

/** A warning about fraud is not fraud. */
const NOT_A_WARNING = "(?![^.!?\\n]{0,80}(?:scam|fraud|n't exist|not exist|мошен|обман|развод|не существ))"

const groups: { code: string; message: string; patterns: string[]; unless?: RegExp }[] = [
  {
    code: 'credential_harvesting',
    message: 'Agents must not ask people for one-time codes, card security codes or passwords',
    patterns: [`${ASK}${GAP}${SECRETS}`, `${SPROSI}${GAP}${SEKRETY}`],
  },
  {
    code: 'impersonation',
    message: 'Agents must not impersonate the police, a court, a public authority or the security department of a bank',
    patterns: [
      `${SAY_YOU_ARE}${OWN_GAP}${AUTHORITY}${NOT_NAMESAKE}`,
      `${YOU_ARE}${OFFICER}${NOT_NAMESAKE}`,
      `${PREDSTAVSYA}${OWN_GAP}${VLAST}${NOT_NAMESAKE}`,
      `${word('ты', 'вы')}\\s*[-–—]?\\s*(?:\\p{L}+ ){0,1}?${anyOf('следовател', 'полицейск', 'прокурор', 'сотрудни\\p{L}+ (?:полиции|фсб|мвд|прокуратуры|службы безопасности|центробанка)')}\\p{L}*${NOT_NAMESAKE}`,
    ],
  },
  {
    code: 'fraud',
    message: 'Agents must not defraud people of money or data',
    patterns: [
      `${word('trick', 'deceive', 'defraud', 'swindle', 'scam', 'con', 'cheat', 'dupe', 'mislead')} ${PEOPLE}`,
      `${word('transfer', 'transferring', 'move', 'moving', 'send', 'wire')}${GAP}${word('(?:safe|secure|protected|reserve) account')}${NOT_A_WARNING}`,
      `${word('tell', 'say', 'inform')}${GAP}${word('won', 'winner')}${GAP}${word('pay', 'transfer', 'fee', 'deposit', 'commission')}${NOT_A_WARNING}`,
      `${word('son', 'daughter', 'grandson', 'granddaughter', 'husband', 'relative')}${GAP}${word('accident', 'arrested', 'in jail', 'in trouble')}${GAP}${word('bail', 'cash', 'send money', 'transfer (?:the )?money')}${NOT_A_WARNING}`,
      `${word('fine', 'tax', 'taxes', 'debt', 'bail')}${GAP}${word('gift cards?')}${NOT_A_WARNING}`,
      `${word('обман(?:и|ите|ывай|ывайте)', 'вымани(?:те|вай|вайте)?', 'облапошь(?:те)?', 'надуй(?:те)?', '(?:введи|введите|вводи|вводите) (?:\\p{L}+ ){0,3}в заблуждение', 'разведи(?:те)? (?:\\p{L}+ )?на деньги')}`,
      `${word('перев(?:ести|еди|едите|одить|оди|едет|едут)')}${GAP}${stem('(?:безопасн|защищенн|резервн)\\p{L}+ (?:счет|ячейк)')}${NOT_A_WARNING}`,
      `${stem('выигра')}\\p{L}*${GAP}${stem('комисси', 'взнос', 'предоплат', 'перевести', 'переведи')}${NOT_A_WARNING}`,
      `${stem('сын', 'доч', 'внук', 'внуч', 'родственни', 'муж', 'брат')}\\p{L}*${GAP}${stem('попал', 'сбил', 'задержан', 'арестован', 'в беде')}\\p{L}*${GAP}${stem('залог', 'откуп', 'передать деньги', 'перевести деньги', 'деньги курьер')}${NOT_A_WARNING}`,
    ],
  },
  {
    code: 'threats',
    message: 'Agents must not threaten or blackmail people',
    patterns: [
      `${word('threaten', 'intimidate', 'blackmail', 'terrori[sz]e', 'scare', 'frighten', 'bully')} (?:that|with|by|${PEOPLE})`,
      `${word('tell', 'say', 'warn')}${GAP}${word('will', "'ll", 'going to', 'would')} ${word('kill', 'hurt', 'beat', 'harm', 'burn', 'rape')}`,
      `${word('угрожай(?:те)?', 'пригрози(?:те)?', 'запуг(?:ай|айте|ивай|ивайте)', 'припугни(?:те)?', 'шантажируй(?:те)?')}`,
      `${word('нужно', 'надо', 'можно', 'можешь', 'должен', 'должна', 'должны', 'обязан')} (?:\\p{L}+ ){0,2}${word('угрожать', 'запуг(?:ать|ивать)', 'припугнуть', 'шантажировать')}`,
      `${word('(?:скажи|сообщи|передай|пообещай|обещай)(?:те)?')}${GAP}${stem('убью', 'убьем', 'убьют', 'изобь', 'покалеч', 'сожже', 'сожгу', 'подожже', 'подожгу')}`,
    ],
  },
  {
    code: 'adult_services',
    message: 'Agents must not offer sexual services',
    patterns: [
      `${OFFER}${GAP}${SEXUAL}`,
      `${YOU_ARE}${word('escort', 'prostitute', 'phone[- ]sex operator', 'sex worker')}`,
      `${word('you (?:are|work|answer)')}${GAP}${word('escort agency', 'escort service', 'brothel', 'sex line')}`,
      `${PREDLOZHI}${GAP}${INTIM}`,
      `${word('ты', 'вы')}${GAP}${stem('эскорт-', 'борделя', 'борделе', 'секса? по телефону', 'проститутк')}`,
    ],
  },
  {
    code: 'illicit_goods',
    message: 'Agents must not sell drugs, weapons, forged documents or stolen goods',
    patterns: [`${OFFER}${OWN_GAP}${ILLICIT}${NOT_NAMESAKE}`, `${PREDLOZHI}${OWN_GAP}${ZAPRET}\\p{L}*${NOT_NAMESAKE}`],
  },
  {
    code: 'illicit_goods',
    message: 'Agents must not sell drugs, weapons, forged documents or stolen goods',
    patterns: [`${word('sell', 'selling', 'deal', 'dealing', 'push', 'pushing')} (?:in )?drugs(?!\\p{L})`],
    unless: /pharmac|drug ?store|chemist|prescription/i,
  },
  {
    code: 'election_manipulation',
    message: 'Agents must not keep people from voting, buy votes or spread false information about elections',
    patterns: [
      `${word('discourag(?:e|ing)', 'dissuad(?:e|ing)', 'stop', 'prevent', 'keep', 'deter')}${GAP}${word('voting', 'going to the polls')}`,
      `${word('persuade', 'convince', 'tell', 'urge', 'get', 'ask')}${GAP}${word('not to (?:vote|go to the polls)')}`,
      `${word('buy', 'buying', 'purchase')}${GAP}${word('votes')}`,
      `${word('pay', 'offer', 'promise', 'give')}${GAP}${word('for (?:their|your|his|her|a|the) votes?')}`,
      `${word('wrong', 'false', 'fake', 'incorrect')} ${word('date', 'day', 'time', 'place', 'address')}${GAP}${word('elections?', 'vote', 'voting', 'polls?', 'polling')}`,
      `${word('tell', 'say')}${GAP}${word('elections?', 'vote', 'voting', 'polls')} ${word('is', 'are', 'was', 'were', 'has been', 'have been')} ${word('cancell?ed', 'called off')}`,
      `${word('отговор(?:и|ите)', 'отговарива(?:й|йте|ть)')}${GAP}${stem('голосова', 'выбор', 'избирательн')}`,
      `${word('убеди(?:те|ть)?', 'убежда(?:й|йте|ть)', 'уговори(?:те|ть)?')}${GAP}не (?:голосовать|ходить|идти|приходить)${GAP}(?:на (?:выбор|участ))?`,
      `${word('скупа(?:й|йте|ть)', 'покупа(?:й|йте|ть)', 'купи(?:те|ть)?')}${GAP}${word('голоса')} ${stem('избирател', 'на выбор')}`,
      `${stem('предлож', 'предлаг', 'заплат', 'плат', 'пообеща')}\\p{L}*${GAP}${word('деньги', 'вознаграждение', '\\d+ ?(?:р|руб\\p{L}*)')}${GAP}${word('за (?:\\p{L}+ )?голос')}`,
      `${stem('неверн', 'неправильн', 'ложн')}\\p{L}+ ${stem('дат', 'мест', 'адрес', 'врем')}\\p{L}*${GAP}${stem('выбор', 'голосован', 'участк')}`,
      `${word('скажи(?:те)?', 'сообщи(?:те)?', 'говори(?:те)?')}${GAP}${word('выборы', 'голосование')}${GAP}${stem('отменен', 'отменил')}`,
    ],
  },
]

export const rules: Rule[] = groups.flatMap(({ patterns, ...rule }) =>
  patterns.map(pattern => ({ ...rule, pattern: new RegExp(pattern, 'giu') })),
)
