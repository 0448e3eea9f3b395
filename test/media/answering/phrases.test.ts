/** Detection by words alone, in both languages, including errors of a small STT model. */
import { describe, expect, it } from 'vitest'
import { readWords } from '../../../media/answering/phrases.ts'

describe('sure words', () => {
  it.each([
    ['voicemail', "Hi, you've reached Mark, I can't"],
    ['voicemail', 'Your call has been forwarded to an automatic'],
    ['voicemail', 'Please live a massage after the tune.'],
    ['voicemail', 'At the tone, please record your message.'],
    ['voicemail', 'The person you are trying to reach is'],
    ['voicemail', 'You have reached the mail box of'],
    ['voicemail', 'Сейчас я не могу ответить'],
    ['voicemail', 'Пожалуйста, оставьте сообщение после звукового сигнала'],
    ['voicemail', 'Вас приветствует автоответчик'],
    ['screening', 'if you record your name and reason for calling'],
    ['screening', 'Please state your name after the tone'],
    ['screening', 'The person you are calling is using a screening service'],
    ['screening', 'Здравствуйте, это голосовой помощник абонента'],
    ['ivr', 'For English, press one.'],
    ['ivr', 'Please listen carefully, as our menu'],
    ['ivr', 'Your call may be recorded for quality'],
    ['ivr', 'Please stay on the line'],
    ['ivr', 'Все разговоры с оператором записываются.'],
    ['ivr', 'The number you have dialed is not in service'],
    ['ivr', 'Абонент временно недоступен'],
    ['ivr', 'Телефон абонента выключен или находится вне зоны действия сети'],
    ['ivr', 'Набранный вами номер не существует'],
    ['ivr', 'Для соединения с оператором нажмите ноль'],
  ])('of %s: %s', (kind, text) => {
    expect(readWords(text).sure).toBe(kind)
  })

  it('detect a mailbox that accepts no message', () => {
    expect(readWords('The mailbox is full and cannot accept any messages at this time.')).toMatchObject({
      sure: 'voicemail',
      noMessage: true,
    })
    expect(readWords('Please leave a message.').noMessage).toBe(false)
  })
})

/** Every one of these would lose a person. */
describe('a person', () => {
  it.each([
    'Hello?',
    'Yes, speaking.',
    'Good afternoon, Smith and Sons, Mary speaking, how can I help you?',
    "Who's calling, please?",
    'May I have your name please?',
    'May I ask the reason for your call?',
    "He can't come to the phone right now, who's calling?",
    "She's not available at the moment. Can I take a message?",
    "She's out of the office today.",
    'Would you like to leave a message?',
    "I can't talk right now, can I call you back?",
    "Sorry, I can't take this call in here.",
    'Could you hold, please?',
    'One moment, please.',
    'What is this about?',
    'Why are you calling me?',
    'Is this a recorded message?',
    'Take me off your list.',
    'Who am I talking to?',
    'Алло, кто это?',
    'Да, слушаю вас.',
    'Компания Ромашка, Анна, чем могу помочь?',
    'Его нет, что ему передать?',
    'Вы не туда попали.',
    'Я за рулём, перезвоните мне вечером.',
    '',
  ])('says no sure words of a machine: %s', text => {
    expect(readWords(text).sure).toBeNull()
  })

  it.each(['Hello? Hello?', 'Um, hi.', 'Yes, good morning!', 'Алло! Да?'])('only greets: %s', text => {
    expect(readWords(text).greetingOnly).toBe(true)
  })
})

/** Patterns of sayings on public pages about greetings, looked up after the lists were first written. */
describe('sayings from elsewhere', () => {
  const machines: [string, string][] = [
    ['voicemail', "Hello, this is Northwind. I'm out of the office. Please leave a voice message at the beep."],
    ['voicemail', 'You have reached six, oh, two, one, one.'],
    ['voicemail', 'Mum and Dad are out, leave a message.'],
    ['voicemail', "Hello, you have reached Jane Porter. I'm currently away from my desk."],
    ['voicemail', 'so please leave your name, number and short message.'],
    ['voicemail', "I'm sorry I missed your call."],
    ['ivr', "If you know your party's extension, please dial it now."],
    ['ivr', 'Please hold while we connect your call, or press zero.'],
    ['ivr', 'Чтобы попасть в отдел продаж, просто нажмите один.'],
  ]
  it.each(machines)('are found as %s: %s', (kind, text) => {
    expect(readWords(text).sure).toBe(kind)
  })

  it.each([
    'Good morning, Hill Construction Company. This is George. How I can help you?',
    'Good morning and welcome to the hotel, my name is John. Thank you for calling, how may I help you?',
    'May I please put you on hold?',
    'Are you a real person?',
  ])('are a person: %s', text => {
    expect(readWords(text).sure).toBeNull()
  })
})
