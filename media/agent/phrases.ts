/** Sentences that the platform speaks when no model can provide one in time. */
import type { EndedReason } from '../contract/messages.ts'

export interface Phrases {
  greeting: string
  stillThere: string
  noAnswer: string
  outOfMoney: string
  outOfTime: string
  goodbye: string
  trouble: string
  /** Spoken after the second consecutive failure, before the call ends. */
  outage: string
  /** Spoken when STT returned no text for what the caller said. */
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

/** Sentence to speak before the call ends for this reason. */
export function lastWords({ outOfMoney, outOfTime, goodbye }: Phrases, reason: EndedReason): string {
  if (reason === 'balance_exhausted') return outOfMoney
  return reason === 'max_duration' ? outOfTime : goodbye
}
