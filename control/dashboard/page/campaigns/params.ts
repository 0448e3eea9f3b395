/** Converts a campaign between its form and the API. Form paths equal API paths, so that errors map to fields. Pure. */

import type { Schemas } from '../api/types.ts'
import { instantOf, wallOf } from './wall-clock.ts'

type Params = Schemas['CampaignParams']

export interface Values {
  name: string
  project_id: string
  task: string
  params: {
    timezone: string
    /** ISO weekdays; all seven mean every day. */
    days: string[]
    window_start: string
    window_end: string
    quiet_hours: { on: boolean; start: string; end: string }
    /** Local time in the campaign's time zone; the empty string means immediately. */
    scheduled_start_at: string
    concurrency: number | string
    retries: number | string
    retry_interval_min: number | string
    max_spend: string
    resume_on_top_up: boolean
  }
}

export const weekdays = ['1', '2', '3', '4', '5', '6', '7'] as const

/** The API's defaults, shown in the form. */
export const emptyValues: Values = {
  name: '',
  project_id: '',
  task: '',
  params: {
    timezone: '',
    days: [...weekdays],
    window_start: '09:00',
    window_end: '20:00',
    quiet_hours: { on: true, start: '21:00', end: '08:00' },
    scheduled_start_at: '',
    concurrency: 5,
    retries: 2,
    retry_interval_min: 30,
    max_spend: '',
    resume_on_top_up: false,
  },
}

export function valuesOf(campaign: Pick<Schemas['Campaign'], 'name' | 'project_id' | 'task' | 'params'>): Values {
  const { name, project_id, task, params } = campaign
  const { quiet_hours: quiet, scheduled_start_at: start } = params
  const hours = { ...emptyValues.params.quiet_hours, ...quiet }
  return {
    name,
    project_id,
    task: task ?? '',
    params: {
      ...params,
      days: params.days?.map(String) ?? [...weekdays],
      quiet_hours: { ...hours, on: quiet !== null },
      scheduled_start_at: start === null ? '' : wallOf(start, params.timezone),
      max_spend: params.max_spend ?? '',
    },
  }
}

export function paramsOf({ params }: Values): Params {
  const { quiet_hours: quiet, scheduled_start_at: start, max_spend, days, timezone } = params
  return {
    ...params,
    days: days.length === weekdays.length ? null : days.map(Number).sort((a, b) => a - b),
    quiet_hours: quiet.on ? { start: quiet.start, end: quiet.end } : null,
    scheduled_start_at: start === '' ? null : instantOf(start, timezone),
    max_spend: max_spend.trim() === '' ? null : max_spend.trim().replace(',', '.'),
    concurrency: Number(params.concurrency),
    retries: Number(params.retries),
    retry_interval_min: Number(params.retry_interval_min),
  }
}

/** `fixed` omits the project and the task, which can't change after the start. */
export function inputOf(values: Values, { fixed }: { fixed: boolean }) {
  const params = paramsOf(values)
  const name = values.name.trim()
  if (fixed) return { name, params }
  return { name, params, project_id: values.project_id, task: values.task.trim() === '' ? null : values.task }
}

export const faults = ['required', 'time', 'days', 'range', 'money', 'zone', 'moderation'] as const
export type Fault = (typeof faults)[number]

const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d$/
const SPEND = /^(?!0+(?:[.,]0+)?$)\d{1,9}(?:[.,]\d{1,4})?$/

const within = (value: number | string, from: number, to: number) =>
  value !== '' && Number.isInteger(Number(value)) && Number(value) >= from && Number(value) <= to

/** Validation errors by field path. */
export function faultsOf(
  { name, project_id, params }: Values,
  isZone: (zone: string) => boolean,
): Record<string, Fault> {
  const { quiet_hours: quiet } = params
  const checks: [string, Fault, boolean][] = [
    ['name', 'required', name.trim() !== ''],
    ['project_id', 'required', project_id !== ''],
    ['params.timezone', 'zone', params.timezone !== '' && isZone(params.timezone)],
    ['params.days', 'days', params.days.length > 0],
    ['params.window_start', 'time', TIME.test(params.window_start)],
    ['params.window_end', 'time', TIME.test(params.window_end)],
    ['params.quiet_hours.start', 'time', !quiet.on || TIME.test(quiet.start)],
    ['params.quiet_hours.end', 'time', !quiet.on || TIME.test(quiet.end)],
    ['params.concurrency', 'range', within(params.concurrency, 1, 100)],
    ['params.retries', 'range', within(params.retries, 0, 5)],
    ['params.retry_interval_min', 'range', within(params.retry_interval_min, 1, 1440)],
    ['params.max_spend', 'money', params.max_spend.trim() === '' || SPEND.test(params.max_spend.trim())],
  ]
  return Object.fromEntries(checks.filter(([, , good]) => !good).map(([path, fault]) => [path, fault]))
}
