import type { TFunction } from 'i18next'
import type { Schemas } from '../api/types.ts'
import { spoken } from '../words/words.ts'

/** 1 January 2024 was a Monday. */
export const weekdayName = (day: string | number, weekday: 'short' | 'long' = 'short') =>
  new Intl.DateTimeFormat(spoken(), { weekday, timeZone: 'UTC' }).format(Date.UTC(2024, 0, Number(day)))

/** Formats the calling hours as `Mon, Tue · 10:00–19:00 · Europe/Moscow`. */
export function hoursText(t: TFunction<'campaigns'>, params: Schemas['CampaignParams']): string {
  const { days, window_start, window_end, timezone } = params
  const on = days === null ? t('settings.everyDay') : days.map(day => weekdayName(day)).join(', ')
  const hours = window_start === window_end ? t('settings.allDay') : `${window_start}–${window_end}`
  return [on, hours, timezone].join(' · ')
}

/** Formats a time in a time zone, in the language of the page. */
export const timeIn = (iso: string, timeZone: string) =>
  new Intl.DateTimeFormat(spoken(), { dateStyle: 'medium', timeStyle: 'short', timeZone }).format(new Date(iso))
