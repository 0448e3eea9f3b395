/** Maps API errors of a trunk to its form fields, and fields to their collapsed sections. */
import type { TFunction } from 'i18next'
import { fieldErrors } from '../api/problems.ts'
import { ParleyError } from '../api/queries.ts'
import type { TrunkValues } from './values.ts'

export const parts = ['login', 'servers', 'sound', 'limits', 'presentation', 'transfers'] as const
export type Part = (typeof parts)[number]

const partOf: Partial<Record<string, Part>> = {
  realm: 'login',
  from_user: 'login',
  from_domain: 'login',
  outbound_proxy: 'login',
  hosts: 'servers',
  options_interval_seconds: 'servers',
  allowed_ips: 'servers',
  codecs: 'sound',
  srtp: 'sound',
  max_calls: 'limits',
  max_cps: 'limits',
  number_format: 'presentation',
  region: 'presentation',
  pai: 'presentation',
  privacy: 'presentation',
  transfer: 'transfers',
  fallback_number: 'transfers',
  refusal_announcement: 'transfers',
  refusal_language: 'transfers',
}

/** Returns the collapsed sections that contain errors. */
export const partsWith = (errors: Record<string, unknown>): Part[] =>
  Object.keys(errors).flatMap(path => partOf[path.split('.')[0]!] ?? [])

const words = [
  'credentials',
  'malformed',
  'own_number',
  'number_listed',
  'prefix_too_short',
  'private_address',
  'phone',
  'region',
] as const
const forms = ['invalid_format', 'too_small', 'too_big'] as const
type Known = (typeof words)[number] | (typeof forms)[number]
const known = new Set<string>([...words, ...forms])
const isKnown = (code: string | undefined): code is Known => code !== undefined && known.has(code)

/** Translates known error codes. Errors of list items are reported at the list field. */
export function refusalsOf(t: TFunction<'trunks'>, common: TFunction<'words'>, error: unknown): Record<string, string> {
  const problems = error instanceof ParleyError ? (error.problem.errors ?? []) : []
  const codes = new Map(problems.map(({ pointer, code }) => [pointer.slice(1).replaceAll('/', '.'), code]))
  const errors = Object.entries(fieldErrors(common, error)).map(([path, message]) => {
    const code = codes.get(path)
    const field = path.replace(/^(numbers|allowed_ips|codecs)\.\d+$/, '$1')
    return [field, isKnown(code) ? t(`problems.${code}`) : message] as const
  })
  return Object.fromEntries(errors)
}

/** Validation that needs no server. */
export function checks(t: TFunction<'trunks'>) {
  const needed = (value: string) => (value.trim() === '' ? t('problems.needed') : null)
  return {
    name: needed,
    host: needed,
    username: (value: string, { mode }: TrunkValues) => (mode === 'ip' ? null : needed(value)),
    codecs: (value: string[]) => (value.length === 0 ? t('problems.codecs') : null),
    hosts: { host: needed },
  }
}
