/**
 * Classifies the first words of the far end, in English and Russian, as small STT models transcribe them from telephone
 * audio. Only machines use `sure` phrases; `likely` ones count only together with a machine's cadence. A phrase that
 * only a person uses overrides likely ones, and sure ones too where secretaries use the same words.
 */

export type MachineKind = 'voicemail' | 'screening' | 'ivr'

export interface Words {
  /** The kind of machine that alone uses these words. */
  sure: MachineKind | null
  likely: MachineKind | null
  /** A phrase of a person who answers the telephone; a conversational menu may use it as well. */
  person: boolean
  /** Contains only greetings, such as a hello, a yes or a "who is it". */
  greetingOnly: boolean
  /** The machine takes no message. */
  noMessage: boolean
  /** The matched phrase. */
  found: string | null
  count: number
}

/** Lower case, without punctuation, one space between words and at both ends: `\b` does not match Cyrillic. */
export function plainWords(text: string): string {
  const words = text
    .toLowerCase()
    .replace(/ё/g, 'е')
    .replace(/[’'`]/g, '')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
  return ` ${words} `
}

const any = (...patterns: string[]) => patterns.map(pattern => new RegExp(` (?:${pattern})(?= )`, 'u'))

const YOUR = '(?:(?:me|us|him|her|them) )?(?:(?:a|an|your|the|you|detailed|brief|short|quick|voice) )*'
const TONE = '(?:tone|beep|beat|beeps|bip|tones|signal|tune|town|peep)'

const PERSON = any(
  'how (?:can|may|could|might) (?:i|we) (?:help|assist|direct|be of)',
  'what can (?:i|we) (?:do|get)',
  'can i (?:help|take|get|ask|have|put|call)',
  'may i (?:help|take|ask|have|put)',
  'who(?:s| is| are| am)? (?:this|that|there|it|calling|speaking|i|you)',
  'whos (?:calling|speaking)',
  '(?:is )?(?:anybody|anyone|somebody|someone) there',
  '(?:would|do|did) you (?:like|want|care|mind)',
  'can you hear',
  'hang on',
  'hold on',
  'what(?:s| is) (?:this|going|it)',
  'can you (?:hold|please hold|wait|call)',
  'i cant (?:really )?talk',
  'one (?:second|sec|moment)',
  // A recording thanks for the call as well, but does not introduce anybody by name.
  '(?:welcome to|thank(?:s| you) for calling)(?: \\w+){1,9} (?:this is|my name is|speaking|you are speaking)',
  'чем (?:я )?(?:могу|можем) (?:вам )?помочь',
  'слушаю(?: вас)?',
  'кто (?:это|говорит|звонит|там|вы)',
  'что (?:ему|ей|вы хотели|случилось)',
  '(?:вы )?меня слышно',
  'что передать|передать что',
)

/** A secretary's questions, which contain a machine's words. */
const ASKED_BY_A_PERSON = any(
  '(?:would|do|did) you (?:like|want|care|wish) to (?:leave|speak|hold|record)',
  '(?:can|may|could|shall) i (?:take|pass|ask|have|get|give)',
  '(?:he|she|hes|shes)(?: \\w+){0,4} (?:available|in|here|phone|office|not|cant|isnt|out|away)',
  'что (?:ему |ей )?передать',
  '(?:хотите|желаете|будете) (?:что )?(?:то )?(?:оставить|передать)',
)

const SCREENING = any(
  'screening (?:service|assistant|this|your|calls?|the)',
  'call (?:screening|screen|assistant|assist)',
  'using (?:a|an|the) (?:screening|call|google|virtual)',
  'see if (?:this|the|they|he|she|that|your)(?: person)?(?: is| are|s|re)? (?:person )?(?:is )?(?:available|around|free)',
  '(?:state|say|record|tell me|provide|speak|give) (?:your|you|the) (?:full )?names?',
  '(?:your|you) names? and (?:the )?(?:reason|why|purpose)',
  'reasons? for (?:your |the |you )?(?:call|calling)',
  'why (?:you|youre|you are) (?:re )?calling',
  'before i (?:try|connect|put)',
  'copy of this conversation',
  '(?:try|trying|attempt) to (?:connect|reach) you',
  'will be connected',
  '(?:un(?:known|identified)|anonymous|unwanted) (?:calls?|callers?|numbers?)',
  '(?:say|tell us|state|tell me) (?:who you|why you|your reason)',
  'who(?:s| is) calling and (?:why|the)',
  'identify yourself',
  'being screened|screens (?:my|their|his|her|all|calls)',
  'not (?:take|taking|accept|accepting)(?: \\w+)? (?:calls|callers) from',
  'let (?:him|her|them|the person) know (?:who|you)',
  '(?:назовите|скажите|произнесите|представьтесь) (?:пожалуйста )?(?:ваше |свое )?имя',
  'цель (?:вашего |своего )?звонка',
  'голосовой (?:помощник|ассистент|секретарь)',
  '(?:виртуальный|цифровой|умный) (?:помощник|ассистент|секретарь)',
  '(?:секретарь|ассистент|помощник) абонента',
  'по какому вопросу (?:вы )?звоните и',
)

const VOICEMAIL = any(
  `(?:leave|leaf|live|lead|leaving) ${YOUR}(?:message|messages|massage|name|names|number|voicemail|details)`,
  'leave (?:me|us) (?:one|something)',
  'leave it (?:at|after)',
  `(?:after|at|before|until) (?:the|a|this|that|of the) (?:\\w+ )?${TONE}`,
  `${TONE} please`,
  'record (?:your|a|you) (?:\\w+ )?(?:message|voicemail)',
  'voice ?mail(?: ?box)?|voice (?:message|messaging|mailbox)|answering (?:machine|service)|messaging service',
  'mail ?box',
  'youve reached|you(?: have| ve)? (?:reached|reach|rich|riched)|youre reach(?:ed|ing)',
  '(?:have|has|had|of) reached (?:the|my|our|a)',
  'been (?:forwarded|transferred|redirected|diverted|sent) to',
  'forwarded to (?:an|a|voice|the)',
  'automat(?:ic|ed) voice',
  '(?:cant|cannot|can not|unable to|not able to|couldnt|could not|am not able to|arent able to) (?:take|answer|pick|come|get|reach|accept)(?: up)?(?: (?:to|your|you|the|my))* (?:call|calls|phone|phones|telephone|door|line)',
  'unable to (?:take|answer|come)|to take your (?:call|cold|cool)',
  '(?:sorry|that) (?:i|we) (?:have |ve )?(?:just )?missed|missed your call',
  'away from (?:my|the|our) (?:desk|phone|office)',
  'ou?t of (?:the|my) office',
  'available to take',
  'get back to you|return your call|call you(?: right)? back (?:as soon|asap|when i)',
  '(?:person|party|customer|subscriber|user) (?:you|youve|your|youre|that you|at)(?: \\w+){1,6} (?:is|are|isnt|s) (?:not|currently|now|un\\w*|temporarily|busy|on)',
  '(?:person|party|subscriber|customer) (?:you|youve|youre|your|that)(?: (?:are|have|re|ve|is))? (?:trying|calling|called|dialed|dialled|tried|attempting)',
  '(?:no one|nobody|no body|noone) (?:is )?(?:available|here|home|can)',
  '(?:were|we are) (?:not|unable|away|unavailable)(?: \\w+)? (?:home|here|in|available)',
  '(?:person|party|subscriber|customer)(?: at)?(?: \\w+){1,4} is (?:unavailable|not available|busy|on the)',
  '(?:message|massage)s? after|when (?:youre |you are |you )?(?:done|finished)',
  'you know the (?:drill|deal)',
  '(?:youve|you have|youre|just) missed (?:me|us|him|her)',
  '(?<!number )(?:youve|you have) called(?! (?:the|a) wrong)',
  'answer ?phone|ansaphone',
  '(?:feel free to|just|please|kindly) leave',
  'assisting other|helping other|serving other|with (?:another|other) (?:customer|client|caller|patient)s?',
  '(?:start|begin) (?:speaking|recording)|wait for the (?:beep|tone)|speak after',
  '(?:and|so) (?:i|we|ill|well)(?: will)? (?:get back|call you|return|ring you|respond)',
  'drop (?:me|us) a (?:line|message|text)|shoot me a text',
  'оставьте (?:пожалуйста )?(?:нам |мне )?(?:ваше |свое |голосовое |короткое )*сообщени[ея]',
  'сообщение после',
  'после (?:звукового |длинного |короткого |этого )?(?:сигнала|гудка|тона)',
  'голосов(?:ая|ой|ую) почт(?:а|ы|у)|голосовой ящик|автоответчик(?:а|ом)?',
  '(?:сейчас )?(?:я )?не могу (?:сейчас )?(?:ответить|подойти|взять|принять)',
  'я обязательно (?:вам )?перезвоню|вы позвонили (?:на|по)',
)

const IVR = any(
  'press (?:\\w+ )?(?:one|two|three|four|five|zero|star|pound|hash|any|\\d|the|or say|to|won|now)',
  'for (?:english|spanish|sales|service|support|billing|customer|all other)(?: \\w+)? (?:press|please|say|dial)',
  'for english',
  'para espanol|español|oprima',
  '(?:menu|options) (?:options )?(?:have|has) (?:recently )?changed|listen (?:carefully|closely)|following (?:options|menu)|main menu',
  'your call (?:is|are|may|might|will|has|can|cannot) (?:very |be |been |now |not )*(?:important|answered|recorded|monitored|completed|placed|transferred|first|next)',
  '(?:call|calls|conversation) (?:may|might|will|are|is|can|maybe)(?: be)? (?:being )?(?:recorded|monitored)',
  'quality (?:and|assurance|or|purposes)|training (?:and|purposes)',
  '(?:stay|remain|staying) on the line|on the line and',
  '(?:all|all of) (?:our|the|are|of our) (?:\\w+ )?(?:agents|representatives|operators|lines|circuits|specialists|advisors|associates|advisers)',
  'all (?:\\w+ )?(?:circuits|lines|operators|agents|representatives) (?:are|is|or)',
  '(?:hold|wait) (?:the line )?while (?:we|your|the|you)',
  'call volumes?|(?:experiencing|experience) (?:higher|high|heavy|unusually|an|longer|technical)|wait times?',
  '(?:our|the) (?:\\w+ )?(?:office|offices|store|stores|shop|branch|branches|lines|clinic)(?: \\w+)? (?:closed|open|is|are)',
  '(?:position|place) in (?:the )?(?:queue|line)|estimated wait|caller number',
  '(?:being|be) (?:transferred|connected)|(?:transferring|connecting) (?:you|your)',
  'using your (?:keypad|touch|phone)|touch tone|at any time|to continue in|say or enter',
  'if you(?:re| are)? (?:calling|would like|need|want|have|are a|are an|are calling|wish)',
  'to (?:speak|talk) (?:to|with) (?:a|an|our|the|someone)|to reach (?:the|our|an|a)|to repeat|to schedule|to check|to make an?',
  'for (?:directions|appointments|reservations|technical|account|emergencies|more options|the operator|information)',
  '(?:visit|go to) (?:us|our|www)|our website|dot com|online at',
  'for your patience|please hang up|hang up and|(?:business|office|opening|working) hours',
  '(?:is not|an?) (?:a )?(?:valid|invalid|recognized) (?:extension|option|number|entry)|the extension you',
  'not accepting (?:calls|incoming)|restrictions|(?:could|can) not be reached|temporarily (?:unavailable|disconnected|out)',
  '(?:switched|turned|powered) off|out of (?:the )?(?:coverage|service|range)|does not exist|no longer (?:available|assigned)',
  'this is an? (?:automated|recorded|automatic|important)|you are (?:caller|number)',
  'next available (?:agent|representative|operator|\\w+)',
  'enter (?:your|the|you|a|an|in)',
  'followed by (?:the )?(?:pound|hash|star|town)',
  '(?:first|last) (?:two|three|3|few) letters',
  'if you (?:know|no) (?:your|the)|partys extension|party extension',
  'if this is (?:an?|a medical|a life)(?: \\w+)? emergency',
  'hang up and dial',
  '(?:virtual|automated|digital) (?:assistant|agent|attendant|system)',
  'in a few words',
  '(?:opening|office|business|our|store) hours are|hours are from',
  '(?:were|we are|is|office is|are) (?:currently|now) closed',
  'number (?:you|youve|that you|your)(?: (?:have|ve|are))? (?:dialed|dialled|dial|called|died|reached|calling)',
  '(?:cannot|can not|could not|cant) be (?:completed|connected|reached)',
  'not in service|no longer in service|been disconnected|has been changed',
  'please (?:listen|choose|select|press|say|stay|remain|note|be advised|dial)',
  '(?:welcome to|thank(?:s| you) for calling)(?: \\w+){0,6} (?:if you|for|our|all|press|your call is|you have|to (?:hear|report|speak|make))',
  'check the number',
  'circuits (?:are|or)',
  'try (?:again|your call again|your call) later',
  'welcome to (?:the )?(?:\\w+ )?directory',
  'in line',
  'нажмите|добавочный номер|наберите (?:добавочный|номер|внутренний)|в тональном режиме',
  '(?:ваш )?звонок (?:очень )?(?:важен|будет)|оставайтесь (?:пожалуйста )?на линии|дождитесь ответа',
  'все (?:наши )?(?:операторы|специалисты|сотрудники|линии)',
  '(?:разговор|разговоры|звонок|звонки|запись)(?: \\p{L}+){0,4} (?:записывается|записываются|записан|записаны|ведется)',
  'абонент(?: \\p{L}+){0,3} (?:недоступен|не доступен|не отвечает|не может|занят|выключен|вне)',
  'вне зоны(?: действия| доступа)?|(?:аппарат|телефон) абонента',
  'набранный (?:вами )?номер|неправильно набран(?: номер)?|номер (?:не )?(?:обслуживается|отвечает|заблокирован|существует)',
  'перезвоните (?:позже|позднее|пожалуйста)|попробуйте (?:позвонить |перезвонить )?(?:позже|позднее)',
)

const NO_MESSAGE = any(
  'mail ?box(?: \\w+){0,8} is full|(?:cannot|can not|not) (?:accept|accepting|take)(?: any| new| more)* messages',
  '(?:has )?not (?:been )?set ?up|not yet (?:been )?set',
  'ящик (?:\\p{L}+ )?(?:переполнен|заполнен)',
)

const LIKELY: readonly [MachineKind, RegExp[]][] = [
  [
    'ivr',
    any(
      'welcome to',
      'thank(?:s| you) for (?:calling|your)',
      'please (?:hold|wait)',
      'вас приветствует',
      'спасибо за (?:звонок|ваш)',
    ),
  ],
  ['screening', any('what you(?:re| are)? (?:\\w+ )?calling about', 'представьтесь')],
  [
    'voicemail',
    any(
      '(?:not|un) ?available',
      '(?:im|i am|were|we are) (?:away|out|unable|currently (?:out|away|not|un\\w+)|not (?:here|in|home|able|available))',
      'this is(?: \\w+){1,5} (?:sorry|im sorry|i am sorry|im (?:not|away|out|currently|unable)|i am (?:not|away|out|currently|unable)|i cant|i cannot|we cant|we are (?:not|un\\w+))',
      'i(?:ll| will) (?:get|call)|call you back|text me|im (?:either|on another|probably)|busy right now',
      'перезвоню',
      'к сожалению',
      'абонент',
    ),
  ],
]

const GREETING = new Set(
  (
    'hello hallo hullo hi hey yes yeah yep yup ya um uh oh ah er well hm hmm mm speaking good morning afternoon evening ' +
    'okay ok alo allo halo there go ahead sir алло ало але да ага угу слушаю вас говорите добрый день утро вечер ' +
    'здравствуйте привет'
  ).split(' '),
)

const first = (patterns: RegExp[], plain: string) => {
  for (const pattern of patterns) {
    const match = pattern.exec(plain)
    if (match) return match[0].trim()
  }
  return null
}

/** Screening precedes voicemail: "record your name after the tone" is a question, not an offer to take a message. */
const SURE: readonly [MachineKind, RegExp[]][] = [
  ['screening', SCREENING],
  ['voicemail', VOICEMAIL],
  ['ivr', IVR],
]

const OTHERS = new Set('person party number subscriber customer caller user wireless mailbox'.split(' '))

/** Nobody answers a telephone with a "please", or with a statement about somebody else. */
function opening([first, second = '']: string[]): { kind: MachineKind; found: string } | null {
  if (first === 'please' && second !== '') return { kind: 'ivr', found: first }
  return first === 'the' && OTHERS.has(second) ? { kind: 'voicemail', found: `the ${second}` } : null
}

export function readWords(text: string): Words {
  const plain = plainWords(text)
  const words = plain.trim().split(' ').filter(Boolean)
  const asked = first(ASKED_BY_A_PERSON, plain) !== null
  const personal = first(PERSON, plain)
  const pick = (lists: readonly [MachineKind, RegExp[]][]) => {
    for (const [kind, patterns] of lists) {
      const found = first(patterns, plain)
      if (found !== null) return { kind, found }
    }
    return null
  }
  const noMessage = first(NO_MESSAGE, plain)
  const sure = asked ? null : (pick(SURE) ?? (noMessage ? { kind: 'voicemail' as const, found: noMessage } : null))
  const likely = asked || sure ? null : (pick(LIKELY) ?? opening(words))
  return {
    sure: sure?.kind ?? null,
    likely: likely?.kind ?? null,
    person: asked || personal !== null,
    greetingOnly: words.length > 0 && words.every(word => GREETING.has(word)),
    noMessage: noMessage !== null,
    found: sure?.found ?? personal ?? likely?.found ?? null,
    count: words.length,
  }
}
