/** Phrases of the scripted policy; the words in between come from the project's own tools. */
export interface Lines {
  ask(label: string): string
  confirm(parts: string): string
  whatToChange: string
  canDo(list: string): string
  whatElse: string
  whatCanIDo: string
  goodbye: string
  takeMessage: string
  noted: string
  failed: string
  unknown: string
  done: string
  noAgain: string
  hello: string
  or: string
  and: string
  yes: string
  no: string
}

/** A label that is a question is asked unchanged. */
const question = (label: string, stock: (label: string) => string) =>
  /\?\s*$/.test(label) ? label : stock(label.replace(/[.!\s]+$/, ''))
const lowerFirst = (text: string) => (/^\p{Lu}\p{Ll}/u.test(text) ? text[0]!.toLowerCase() + text.slice(1) : text)

const ENGLISH: Lines = {
  ask: label => question(label, bare => `What is the ${lowerFirst(bare).replace(/^(?:the|a|an) /, '')}?`),
  confirm: parts => `Let me read that back: ${parts}. Is that correct?`,
  whatToChange: 'What should I change?',
  canDo: list => `I can help you with this: ${list}. What would you like?`,
  whatElse: 'Is there anything else?',
  whatCanIDo: 'What can I do for you?',
  goodbye: 'Thank you for calling. Goodbye.',
  takeMessage:
    'I am not able to help with that myself. Please tell me your message, and somebody will get back to you.',
  noted: 'Thank you, I have noted that.',
  failed: 'I am sorry, that did not work.',
  unknown: 'I am sorry, I do not know that.',
  done: 'That is done.',
  noAgain: 'I understand, we will not call you again. Goodbye.',
  hello: 'Hello!',
  or: ', or ',
  and: ', ',
  yes: 'yes',
  no: 'no',
}

const RUSSIAN: Lines = {
  ask: label => question(label, bare => `Назовите, пожалуйста: ${lowerFirst(bare)}.`),
  confirm: parts => `Проверим: ${parts}. Всё верно?`,
  whatToChange: 'Что исправить?',
  canDo: list => `Я могу помочь с таким: ${list}. Что вам нужно?`,
  whatElse: 'Что-нибудь ещё?',
  whatCanIDo: 'Чем могу помочь?',
  goodbye: 'Спасибо за звонок. До свидания.',
  takeMessage: 'С этим я сам помочь не могу. Оставьте сообщение, и вам перезвонят.',
  noted: 'Спасибо, я записал.',
  failed: 'Извините, не получилось.',
  unknown: 'Извините, этого я не знаю.',
  done: 'Готово.',
  noAgain: 'Понял, больше звонить не будем. До свидания.',
  hello: 'Здравствуйте!',
  or: ' или ',
  and: ', ',
  yes: 'да',
  no: 'нет',
}

export const linesFor = (language: string): Lines => (language.toLowerCase().startsWith('ru') ? RUSSIAN : ENGLISH)
