/**
 * The spoken calls of the held-out set, as a table: caller, agent, line, words, voice and expected result. `make.ts`
 * writes one scenario file per call, with the recordings of its caller.
 */

export type Say =
  | string
  /** Another voice than the call's; what it is given need not be what is heard (files, noises). */
  | { words: string; voice: string; given?: string }
  | { over: string; after: number; aside?: true; voice?: string }
  | { press: string }
  | { silent: number }
  | { hangUp: true }

export interface SpokenCall {
  id: string
  name: string
  language: 'en' | 'ru'
  agent: keyof typeof AGENTS
  /** `engine:voice`, see `make.ts`. */
  voice: string
  line?: { codec?: 'PCMA'; loss?: number; jitter_ms?: number; noise_dbfs?: number }
  speed?: number
  /** Milliseconds of the pause that `…` in the words stands for. */
  pause_ms?: number
  caller: Say[]
  tools?: Record<string, object>
  expect: object
  /** In `npm test` too, not only in the long run: chosen among those that came out well. */
  short?: true
}

const tool = (name: string, description: string, properties: Record<string, object>, more: object = {}) => ({
  name,
  description,
  method: 'POST',
  url: `https://service.example/${name}`,
  parameters: { type: 'object', properties, required: Object.keys(properties) },
  ...more,
})
const GET = { method: 'GET' }

const booking = {
  date: { type: 'string', format: 'date', description: 'For which day?' },
  time: { type: 'string', format: 'time', description: 'At what time?' },
  party_size: { type: 'integer', minimum: 1, maximum: 20, description: 'For how many people?' },
  name: { type: 'string', description: 'Under what name?' },
}
const LONG_ANSWER =
  'The gallery is open every day of the week, but only in the afternoon, and on Sundays there is also a guided tour through the whole of the new building.'

export const AGENTS = {
  restaurant: {
    prompt: 'You are the telephone assistant of a restaurant. You take bookings.',
    greeting: 'Riverside restaurant, good evening. What can I do for you?',
    goal: 'A table is booked.',
    tools: [tool('book_table', 'Book a table in the restaurant.', booking)],
  },
  shop: {
    greeting: 'Hello. What can I do for you?',
    tools: [
      tool(
        'order_status',
        'Look up the status of an order.',
        { number: { type: 'integer', description: 'What is your order number?' } },
        GET,
      ),
    ],
  },
  support: {
    greeting: 'Hello. What can I do for you?',
    tools: [
      tool(
        'order_status',
        'Look up the status of an order.',
        {},
        {
          ...GET,
          timeout_ms: 8000,
          filler: [
            { after_ms: 500, text: 'One moment, I am looking.' },
            { after_ms: 5000, text: 'This takes longer than usual.' },
          ],
        },
      ),
    ],
  },
  callback: {
    greeting: 'Hello. What can I do for you?',
    tools: [
      tool('call_back', 'Ask for a call back.', {
        phone: { type: 'string', format: 'phone', description: 'What is your phone number?' },
      }),
    ],
  },
  newsletter: {
    greeting: 'Hello. What can I do for you?',
    tools: [
      tool('subscribe', 'Subscribe to the newsletter.', {
        email: { type: 'string', format: 'email', description: 'What is your e-mail address?' },
      }),
    ],
  },
  museum: {
    greeting: 'City museum, hello. What would you like to know?',
    tools: [tool('opening_times', 'Tell the opening times.', {}, GET)],
  },
  desk: { greeting: 'Hello, this is the front desk. What can I do for you?' },
  sales: { greeting: 'Hello, this is Ann of Acme. Do you have a minute?' },
  restoran: {
    greeting: 'Ресторан «Речной», добрый вечер. Чем могу помочь?',
    goal: 'Столик забронирован.',
    tools: [
      tool('book_table', 'Забронировать столик', {
        date: { type: 'string', format: 'date', description: 'На какой день?' },
        party_size: { type: 'integer', minimum: 1, maximum: 20, description: 'На сколько человек?' },
      }),
    ],
  },
  magazin: {
    greeting: 'Здравствуйте. Чем могу помочь?',
    tools: [
      tool(
        'order_status',
        'Узнать, где заказ',
        { number: { type: 'integer', description: 'Назовите номер заказа.' } },
        GET,
      ),
    ],
  },
  muzey: {
    greeting: 'Городской музей, здравствуйте. Что вы хотите узнать?',
    tools: [tool('opening_times', 'Сказать часы работы', {}, GET)],
  },
  priyomnaya: { greeting: 'Здравствуйте, это приёмная. Чем могу помочь?' },
} as const

const TIMES = { opening_times: { body: { message: LONG_ANSWER } } }
const CHASY = {
  opening_times: {
    body: {
      message:
        'Музей открыт каждый день, кроме понедельника, с десяти до шести, а по воскресеньям бывает ещё и экскурсия по всему новому зданию.',
    },
  },
}
const BOOKED = { book_table: { body: { message: 'Your table is booked.' } } }
const ORDER = { order_status: { body: { message: 'Your order is on its way.' } } }
const DONE = ['Yes, that is right.', 'No, thank you. That is all.']
const bookedAs = (given: object) => ({
  tools: [{ name: 'book_table', arguments: { date: 'today+1', ...given }, verdict: 'ok', times: 1 }],
  said: ['Your table is booked'],
  ended: 'agent_hangup',
  goal_reached: true,
})
const tookMessage = (understood: string[]) => ({
  tools: [{ name: 'take_message', verdict: 'ok', times: 1 }],
  understood,
  ended: 'agent_hangup',
})
const called = (name: string, given: object = {}) => ({
  tools: [{ name, arguments: given, verdict: 'ok', times: 1 }],
  ended: 'agent_hangup',
})
const over = (after: number, words: string): Say => ({ over: words, after })
const aside = (after: number, words: string, voice?: string): Say => ({
  over: words,
  after,
  aside: true,
  ...(voice ? { voice } : {}),
})

const SOME = { loss: 0.02, jitter_ms: 20 }
const BAD = { loss: 0.05, jitter_ms: 40 }
const ORDER_WISH = 'What is the status of my order?'
const TIMES_WISH = 'Please tell me the opening times.'
const WHOLE = 'I would like to book a table for four people tomorrow at seven in the evening.'
const SEVEN = { time: '19:00', party_size: 4 }

const en = (id: string, name: string, call: Omit<SpokenCall, 'id' | 'name' | 'language'>): SpokenCall => ({
  id: `en-${id}`,
  name,
  language: 'en',
  ...call,
})
const ru = (id: string, name: string, call: Omit<SpokenCall, 'id' | 'name' | 'language'>): SpokenCall => ({
  id: `ru-${id}`,
  name,
  language: 'ru',
  ...call,
})

const BOOKINGS: SpokenCall[] = [
  en('booking', 'Booking: all at once', {
    agent: 'restaurant',
    voice: 'kokoro:af_bella',
    tools: BOOKED,
    short: true,
    caller: [WHOLE, 'My name is John Miller.', ...DONE],
    expect: bookedAs(SEVEN),
  }),
  en('booking-pieces', 'Booking: piece by piece', {
    agent: 'restaurant',
    voice: 'kokoro:am_adam',
    tools: BOOKED,
    line: SOME,
    caller: [
      'I would like to book a table.',
      'Tomorrow.',
      'At seven in the evening.',
      'Four people.',
      'Emma Brown.',
      ...DONE,
    ],
    expect: bookedAs(SEVEN),
  }),
  en('booking-change', 'Booking: a correction at the read-back', {
    agent: 'restaurant',
    voice: 'kokoro:bm_george',
    tools: BOOKED,
    line: BAD,
    caller: [WHOLE, 'George Baker.', 'No, the time is wrong.', 'At eight in the evening, please.', ...DONE],
    expect: bookedAs({ time: '20:00', party_size: 4 }),
  }),
  en('booking-change-over', 'Booking: a correction into the read-back', {
    agent: 'restaurant',
    voice: 'kokoro:bf_emma',
    tools: BOOKED,
    caller: [
      WHOLE,
      'My name is Emma Clark.',
      over(2500, "Sorry, no, change it to eight o'clock in the evening."),
      ...DONE,
    ],
    expect: bookedAs({ time: '20:00', party_size: 4 }),
  }),
  en('booking-alaw', 'Booking: A-law', {
    agent: 'restaurant',
    voice: 'kokoro:af_heart',
    tools: BOOKED,
    line: { codec: 'PCMA' },
    caller: ['Can I book a table for six people tomorrow at half past six in the evening?', 'Anna Schmidt.', ...DONE],
    expect: bookedAs({ time: '18:30', party_size: 6 }),
  }),
  en('booking-noise', 'Booking: a noisy room', {
    agent: 'restaurant',
    voice: 'kokoro:am_michael',
    tools: BOOKED,
    line: { noise_dbfs: -45 },
    caller: [WHOLE, 'My name is Michael Stone.', ...DONE],
    expect: bookedAs(SEVEN),
  }),
  en('booking-noise-loss', 'Booking: a noisy room over a bad line', {
    agent: 'restaurant',
    voice: 'kokoro:af_nicole',
    tools: BOOKED,
    line: { ...BAD, noise_dbfs: -48 },
    caller: [WHOLE, 'My name is Nicole Gray.', ...DONE],
    expect: bookedAs(SEVEN),
  }),
  en('booking-fast', 'Booking: somebody in a hurry', {
    agent: 'restaurant',
    voice: 'kokoro:am_puck',
    tools: BOOKED,
    line: SOME,
    speed: 1.3,
    caller: [WHOLE, 'My name is Peter Fox.', ...DONE],
    expect: bookedAs(SEVEN),
  }),
  en('booking-slow', 'Booking: with pauses for thought', {
    agent: 'restaurant',
    voice: 'kokoro:bm_lewis',
    tools: BOOKED,
    pause_ms: 600,
    caller: [
      'I would like to book a table … for four people, … tomorrow, … at seven in the evening.',
      'My name is Luke Grant.',
      ...DONE,
    ],
    expect: bookedAs(SEVEN),
  }),
  en('booking-um', 'Booking: ums and ers', {
    agent: 'restaurant',
    voice: 'piper:joe',
    tools: BOOKED,
    caller: [
      "Um, well, I'd like, uh, to book a table for three people, tomorrow at eight in the evening, please.",
      'Uh, Paul Winter.',
      ...DONE,
    ],
    expect: bookedAs({ time: '20:00', party_size: 3 }),
  }),
  en('booking-early', 'Booking: talks over the greeting', {
    agent: 'restaurant',
    voice: 'kokoro:am_eric',
    tools: BOOKED,
    line: SOME,
    caller: [over(700, WHOLE), 'My name is Eric Long.', ...DONE],
    expect: bookedAs(SEVEN),
  }),
  en('booking-no', 'Booking: a plain no, and what is wrong when asked', {
    agent: 'restaurant',
    voice: 'kokoro:af_sarah',
    tools: BOOKED,
    caller: [WHOLE, 'Sarah King.', 'No.', 'The time.', 'At nine in the evening.', 'Yes.', 'No, thank you.'],
    expect: bookedAs({ time: '21:00', party_size: 4 }),
  }),
]

const NUMBERS: SpokenCall[] = [
  en('phone-pauses', 'Telephone number: with pauses', {
    agent: 'callback',
    voice: 'kokoro:af_sky',
    pause_ms: 700,
    caller: [
      'Please call me back.',
      'four one five, … five five five, … two six seven one',
      'Yes.',
      'That is all, goodbye.',
    ],
    tools: { call_back: { body: { message: 'We will call you.' } } },
    expect: called('call_back', { phone: '4155552671' }),
  }),
  en('phone-long-pauses', 'Telephone number: with long pauses, some loss', {
    agent: 'callback',
    voice: 'kokoro:am_onyx',
    pause_ms: 1000,
    line: SOME,
    caller: [
      'Please call me back.',
      'two oh two, … five five five, … oh one nine eight',
      'Yes.',
      'That is all, goodbye.',
    ],
    tools: { call_back: { body: { message: 'We will call you.' } } },
    expect: called('call_back', { phone: '2025550198' }),
  }),
  en('phone-human', 'Telephone number: human digits', {
    agent: 'callback',
    voice: 'kokoro:bf_alice',
    caller: [
      'Please call me back.',
      { words: 'four one five … five five five … two six seven one', voice: 'asterisk:en' },
      ...['Yes.', 'That is all, goodbye.'],
    ],
    pause_ms: 500,
    tools: { call_back: { body: { message: 'We will call you.' } } },
    expect: called('call_back', { phone: '4155552671' }),
  }),
  en('phone-human-loss', 'Telephone number: human digits over a bad line', {
    agent: 'callback',
    voice: 'kokoro:bf_lily',
    line: BAD,
    pause_ms: 500,
    caller: [
      'Please call me back.',
      { words: 'three one two … five five five … eight four six nine', voice: 'asterisk:en' },
      ...['Yes.', 'That is all, goodbye.'],
    ],
    tools: { call_back: { body: { message: 'We will call you.' } } },
    expect: called('call_back', { phone: '3125558469' }),
  }),
  en('order-number', 'Order number: digit by digit', {
    agent: 'shop',
    voice: 'kokoro:am_liam',
    tools: ORDER,
    caller: [ORDER_WISH, 'It is four seven one one.', 'Thank you, goodbye.'],
    expect: called('order_status', { number: 4711 }),
  }),
  en('order-keys', 'Order number: on the keys', {
    agent: 'shop',
    voice: 'kokoro:af_kore',
    tools: ORDER,
    short: true,
    caller: [ORDER_WISH, { press: '4711#' }, 'Thank you, goodbye.'],
    expect: called('order_status', { number: 4711 }),
  }),
  en('order-keys-loss', 'Order number: on the keys over a bad line', {
    agent: 'shop',
    voice: 'kokoro:af_nova',
    tools: ORDER,
    line: BAD,
    caller: [ORDER_WISH, { press: '90210#' }, 'Thank you, goodbye.'],
    expect: called('order_status', { number: 90210 }),
  }),
  en('name-spelled', 'Name: said and spelled', {
    agent: 'restaurant',
    voice: 'kokoro:bm_daniel',
    tools: BOOKED,
    pause_ms: 500,
    caller: [WHOLE, 'The name is Lee, … L, … double E.', ...DONE],
    expect: { ...bookedAs(SEVEN), understood: ['Lee'] },
  }),
  en('name-letters-human', 'Name: human letters', {
    agent: 'restaurant',
    voice: 'kokoro:af_river',
    tools: BOOKED,
    pause_ms: 250,
    caller: [WHOLE, { words: 'k … i … m', voice: 'asterisk:en' }, ...DONE],
    expect: { ...bookedAs(SEVEN), understood: ['/\\bk[ .,-]*i[ .,-]*m\\b/i'] },
  }),
  en('email', 'E-mail: as people say it', {
    agent: 'newsletter',
    voice: 'kokoro:af_jessica',
    caller: ['I want to subscribe to the newsletter.', 'John at example dot com.', 'Yes.', 'That is all, goodbye.'],
    tools: { subscribe: { body: { message: 'You are subscribed.' } } },
    expect: called('subscribe', { email: 'john@example.com' }),
  }),
  en('email-pauses', 'E-mail: in pieces, some loss', {
    agent: 'newsletter',
    voice: 'kokoro:am_fenrir',
    pause_ms: 800,
    line: SOME,
    caller: [
      'I want to subscribe to the newsletter.',
      'anna … at … example … dot com',
      'Yes.',
      'That is all, goodbye.',
    ],
    tools: { subscribe: { body: { message: 'You are subscribed.' } } },
    expect: called('subscribe', { email: 'anna@example.com' }),
  }),
]

const INTERRUPTIONS: SpokenCall[] = [
  en('barge-in', 'Barge-in: stops a long answer', {
    agent: 'museum',
    voice: 'kokoro:am_echo',
    tools: TIMES,
    short: true,
    caller: [TIMES_WISH, over(2000, 'Stop, thank you, that is all I wanted to know. Goodbye.')],
    expect: { said: ['The gallery is open'], not_said: ['the new building'], barge_ins: 1, ended: 'agent_hangup' },
  }),
  en('barge-in-loss', 'Barge-in: some loss', {
    agent: 'museum',
    voice: 'kokoro:bm_fable',
    tools: TIMES,
    line: SOME,
    caller: [TIMES_WISH, over(1200, 'Wait, wait, that is enough, thank you. Goodbye.')],
    expect: { not_said: ['the new building'], barge_ins: 1, ended: 'agent_hangup' },
  }),
  en('barge-in-bad-line', 'Barge-in: a bad line', {
    agent: 'museum',
    voice: 'kokoro:bf_isabella',
    tools: TIMES,
    line: BAD,
    caller: [TIMES_WISH, over(2500, 'All right, that is all I needed. Goodbye.')],
    expect: { not_said: ['the new building'], barge_ins: 1, ended: 'agent_hangup' },
  }),
  en('barge-in-question', 'Barge-in: another question', {
    agent: 'museum',
    voice: 'kokoro:am_santa',
    tools: TIMES,
    caller: [TIMES_WISH, over(1500, 'Sorry, could you repeat that?'), 'Thank you, goodbye.'],
    expect: { said: ['the new building'], barge_ins: 1, ended: 'agent_hangup' },
  }),
  en('uh-huh', 'Back-channel: uh-huh', {
    agent: 'museum',
    voice: 'kokoro:af_aoede',
    tools: TIMES,
    caller: [TIMES_WISH, aside(1800, 'Uh-huh.'), 'No, thank you, that is all.'],
    expect: { said: ['the new building'], barge_ins: 0, ended: 'agent_hangup' },
  }),
  en('okay', 'Back-channel: okay, some loss', {
    agent: 'museum',
    voice: 'kokoro:am_adam',
    tools: TIMES,
    line: SOME,
    short: true,
    caller: [TIMES_WISH, aside(2500, 'Okay.'), 'No, thank you, that is all.'],
    expect: { said: ['the new building'], barge_ins: 0, ended: 'agent_hangup' },
  }),
  en('right', 'Back-channel: right, a bad line', {
    agent: 'museum',
    voice: 'kokoro:bf_emma',
    tools: TIMES,
    line: BAD,
    caller: [TIMES_WISH, aside(3000, 'Right.'), 'No, thank you, that is all.'],
    expect: { said: ['the new building'], barge_ins: 0, ended: 'agent_hangup' },
  }),
  en('cough', 'Noise: a cough into the answer', {
    agent: 'museum',
    voice: 'kokoro:af_alloy',
    tools: TIMES,
    caller: [TIMES_WISH, aside(2000, '(cough)', 'noise:cough'), 'No, thank you, that is all.'],
    expect: { said: ['the new building'], barge_ins: 0, ended: 'agent_hangup' },
  }),
  en('door', 'Noise: a door slams', {
    agent: 'museum',
    voice: 'kokoro:bm_george',
    tools: TIMES,
    line: SOME,
    caller: [TIMES_WISH, aside(2400, '(door)', 'noise:door'), 'No, thank you, that is all.'],
    expect: { said: ['the new building'], barge_ins: 0, ended: 'agent_hangup' },
  }),
  en('steady-noise', 'Noise: a loud fan all the time', {
    agent: 'museum',
    voice: 'kokoro:am_michael',
    tools: TIMES,
    line: { noise_dbfs: -40 },
    caller: [TIMES_WISH, 'No, thank you, that is all.'],
    expect: { said: ['the new building'], barge_ins: 0, ended: 'agent_hangup' },
  }),
]

const STORY =
  'I am calling because my neighbour told me about you, and last week when it rained so hard, the water came in through the kitchen window, and then I saw that the wall was wet, and I put a bucket there, but in the morning it was full, so please send somebody to look at it.'

const REST: SpokenCall[] = [
  en('silent', 'Silence: nobody speaks', {
    agent: 'desk',
    voice: 'kokoro:af_bella',
    caller: [{ silent: 45_000 }],
    expect: { said: ['Are you still there'], ended: 'silence_timeout' },
  }),
  en('silent-first', 'Silence: and then a wish', {
    agent: 'shop',
    voice: 'kokoro:am_liam',
    tools: ORDER,
    caller: [{ silent: 13_000 }, ORDER_WISH, { press: '12#' }, 'Thank you, goodbye.'],
    expect: { ...called('order_status', { number: 12 }), said: ['Are you still there'] },
  }),
  en('hello-human', 'Hello: a human voice, then a message', {
    agent: 'desk',
    voice: 'kokoro:af_heart',
    caller: [
      { words: 'Hello.', voice: 'file', given: '../answering/clips/test-human-01.wav' },
      'Please tell the director that the lighthouse has been repaired.',
      'The lighthouse has been repaired.',
      'No, that is all. Goodbye.',
    ],
    expect: tookMessage(['lighthouse has been repaired']),
  }),
  en('story', 'A long story without a pause', {
    agent: 'desk',
    voice: 'kokoro:bf_lily',
    line: SOME,
    caller: ['I would like to leave a message.', STORY, 'No, that is all. Goodbye.'],
    expect: tookMessage(['kitchen window', 'bucket']),
  }),
  en('story-pauses', 'A long story with pauses', {
    agent: 'desk',
    voice: 'kokoro:am_onyx',
    pause_ms: 550,
    caller: [
      'I would like to leave a message.',
      'My name is Oliver, and … last week, when it rained, … the water came in through the kitchen window, and … now the wall is wet, … so please send somebody.',
      'No, that is all. Goodbye.',
    ],
    expect: tookMessage(['kitchen window', 'send somebody']),
  }),
  en('never-again', 'Never to be called again', {
    agent: 'sales',
    voice: 'kokoro:af_nicole',
    caller: ['Please take me off your list and do not call me again.'],
    expect: called('do_not_call'),
  }),
  en('never-again-loss', 'Never to be called again, a bad line', {
    agent: 'sales',
    voice: 'kokoro:bm_lewis',
    line: BAD,
    caller: ['No. Stop calling me.'],
    expect: called('do_not_call'),
  }),
  en('tool-slow', 'Tool: slow', {
    agent: 'support',
    voice: 'kokoro:af_sarah',
    line: SOME,
    caller: [ORDER_WISH, 'No, thank you. Goodbye.'],
    tools: { order_status: { delay_ms: 6500, body: { message: 'Your order is on its way.' } } },
    expect: { ...called('order_status'), said: ['One moment, I am looking', 'This takes longer', 'on its way'] },
  }),
  en('tool-fails', 'Tool: answers with an error', {
    agent: 'support',
    voice: 'kokoro:am_eric',
    caller: [ORDER_WISH, 'No, thank you. Goodbye.'],
    tools: { order_status: { status: 500, body: { error: 'broken' } } },
    expect: {
      tools: [{ name: 'order_status', verdict: 'http_error', times: 1 }],
      said: ['did not work'],
      not_said: ['broken', 'undefined'],
      ended: 'agent_hangup',
    },
  }),
  en('tool-times-out', 'Tool: never answers', {
    agent: 'support',
    voice: 'kokoro:af_sky',
    line: BAD,
    short: true,
    caller: [ORDER_WISH, 'No, thank you. Goodbye.'],
    tools: { order_status: { fails: 'timeout' } },
    expect: {
      tools: [{ name: 'order_status', verdict: 'timeout', times: 1 }],
      said: ['This takes longer than usual', 'did not work'],
      ended: 'agent_hangup',
    },
  }),
]

const STOLIK = 'Я хочу забронировать столик на завтра.'
const VERNO = ['Да, верно.', 'Нет, спасибо, это всё.']
const STOL = { book_table: { body: { message: 'Столик забронирован.' } } }
const stolik = (party_size: number) => ({
  tools: [{ name: 'book_table', arguments: { date: 'today+1', party_size }, verdict: 'ok', times: 1 }],
  said: ['Столик забронирован'],
  ended: 'agent_hangup',
  goal_reached: true,
})
const human = (file: string, words: string): Say => ({ words, voice: 'file', given: `../russian/${file}.ul` })
const LYUBOV = human('ru_0254', 'Молодость, у всякого проходит, а любовь, другое дело.')
const MIR = human('ru_0683', 'Ну что ж, перед ним, открыт весь мир.')
const KORSO = human('ru_0581', 'Корсо, нажал на кнопку дистанционного управления, и экран погас.')
const KHOLMY = human('ru_0154', 'До сих пор, там ещё видны холмы, из рыбьих костей.')

const RUSSIAN: SpokenCall[] = [
  ru('booking', 'Столик: по частям', {
    agent: 'restoran',
    voice: 'festival:ru',
    tools: STOL,
    caller: [STOLIK, 'На четверых.', ...VERNO],
    expect: stolik(4),
  }),
  ru('booking-loss', 'Столик: с потерями', {
    agent: 'restoran',
    voice: 'festival:ru',
    tools: STOL,
    line: SOME,
    caller: [STOLIK, 'На пять человек.', ...VERNO],
    expect: stolik(5),
  }),
  ru('booking-bad-line', 'Столик: плохая линия', {
    agent: 'restoran',
    voice: 'festival:ru',
    tools: STOL,
    line: BAD,
    caller: [STOLIK, 'На шесть человек.', ...VERNO],
    expect: stolik(6),
  }),
  ru('booking-change', 'Столик: поправка', {
    agent: 'restoran',
    voice: 'festival:ru',
    tools: STOL,
    line: { codec: 'PCMA' },
    caller: [STOLIK, 'На четверых.', 'Нет, на пять человек.', ...VERNO],
    expect: stolik(5),
  }),
  ru('never-again', 'Больше не звонить', {
    agent: 'priyomnaya',
    voice: 'festival:ru',
    caller: ['Больше мне не звоните.'],
    expect: called('do_not_call'),
  }),
  ru('barge-in', 'Перебивает длинный ответ', {
    agent: 'muzey',
    voice: 'festival:ru',
    tools: CHASY,
    caller: ['Скажите, пожалуйста, часы работы.', over(2500, 'Спасибо, это всё, что я хотел узнать. До свидания.')],
    expect: { not_said: ['новому зданию'], barge_ins: 1, ended: 'agent_hangup' },
  }),
  ru('uh-huh', 'Поддакивает', {
    agent: 'muzey',
    voice: 'festival:ru',
    tools: CHASY,
    line: SOME,
    caller: ['Скажите, пожалуйста, часы работы.', aside(2500, 'Ага.'), 'Нет, спасибо, это всё.'],
    expect: { said: ['новому зданию'], barge_ins: 0, ended: 'agent_hangup' },
  }),
  ru('order-keys', 'Номер заказа на клавишах', {
    agent: 'magazin',
    voice: 'festival:ru',
    line: SOME,
    caller: ['Где мой заказ?', { press: '4711#' }, 'Спасибо, до свидания.'],
    tools: { order_status: { body: { message: 'Ваш заказ уже в пути.' } } },
    expect: { ...called('order_status', { number: 4711 }), said: ['в пути'] },
  }),
  ru('order-human', 'Номер заказа человеческим голосом', {
    agent: 'magazin',
    voice: 'festival:ru',
    pause_ms: 250,
    caller: ['Где мой заказ?', { words: 'четыре … семь … один … один', voice: 'asterisk:ru' }, 'Спасибо, до свидания.'],
    tools: { order_status: { body: { message: 'Ваш заказ уже в пути.' } } },
    expect: { ...called('order_status', { number: 4711 }), said: ['в пути'] },
  }),
  ru('message-human', 'Сообщение человеческим голосом', {
    agent: 'priyomnaya',
    voice: 'festival:ru',
    caller: [LYUBOV, KORSO, 'Нет, спасибо, это всё.'],
    expect: tookMessage(['любовь', 'экран погас']),
  }),
  ru('message-human-loss', 'Сообщение человеческим голосом, с потерями', {
    agent: 'priyomnaya',
    voice: 'festival:ru',
    line: SOME,
    caller: [MIR, KHOLMY, 'Нет, спасибо, это всё.'],
    expect: tookMessage(['весь мир', 'холмы']),
  }),
  ru('message-human-bad-line', 'Сообщение человеческим голосом, плохая линия', {
    agent: 'priyomnaya',
    voice: 'festival:ru',
    line: BAD,
    caller: [KORSO, LYUBOV, 'Нет, спасибо, это всё.'],
    expect: tookMessage(['экран погас', 'любовь']),
  }),
]

export const CALLS: SpokenCall[] = [...BOOKINGS, ...NUMBERS, ...INTERRUPTIONS, ...REST, ...RUSSIAN]
