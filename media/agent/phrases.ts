/** The few sentences that the platform itself may have to say, when no model can be asked in time. */
import type { EndedReason } from '../contract/messages.ts'

export interface Phrases {
  greeting: string
  stillThere: string
  noAnswer: string
  outOfMoney: string
  outOfTime: string
  goodbye: string
  trouble: string
  /** The second failure in a row, before the call is ended. */
  outage: string
  /** Something was said that could not be understood. */
  unclear: string
  oneMoment: string
  stillWorking: string
}

const ENGLISH: Phrases = {
  greeting: 'Hello! How can I help you?',
  stillThere: 'Are you still there?',
  noAnswer: 'I can not hear you, so I will hang up now. Goodbye.',
  outOfMoney: 'I am sorry, our time is up. Goodbye.',
  outOfTime: 'I am sorry, we have reached the end of the time for this call. Goodbye.',
  goodbye: 'Goodbye.',
  trouble: 'I am sorry, something went wrong on our side. Could you say that again?',
  outage: 'I am sorry, we have a technical problem. Please call again later. Goodbye.',
  unclear: 'Sorry, I did not catch that. Could you say it again?',
  oneMoment: 'One moment, please.',
  stillWorking: 'I am still working on it, one moment.',
}

const RUSSIAN: Phrases = {
  greeting: 'Здравствуйте! Чем могу помочь?',
  stillThere: 'Вы меня слышите?',
  noAnswer: 'Я вас не слышу, поэтому завершаю звонок. До свидания.',
  outOfMoney: 'Извините, время разговора закончилось. До свидания.',
  outOfTime: 'Извините, время этого звонка вышло. До свидания.',
  goodbye: 'До свидания.',
  trouble: 'Извините, у нас что-то пошло не так. Повторите, пожалуйста.',
  outage: 'Извините, у нас технические неполадки. Позвоните, пожалуйста, позже. До свидания.',
  unclear: 'Извините, я не расслышал. Повторите, пожалуйста.',
  oneMoment: 'Одну минуту, пожалуйста.',
  stillWorking: 'Я всё ещё проверяю, одну минуту.',
}

export const phrasesFor = (language: string): Phrases => (language.toLowerCase().startsWith('ru') ? RUSSIAN : ENGLISH)

/** What is said before the call is ended so. */
export function lastWords({ outOfMoney, outOfTime, goodbye }: Phrases, reason: EndedReason): string {
  if (reason === 'balance_exhausted') return outOfMoney
  return reason === 'max_duration' ? outOfTime : goodbye
}
