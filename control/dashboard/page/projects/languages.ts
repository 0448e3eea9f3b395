import { spoken } from '../words/words.ts'

/** Languages offered in the selector. A project's current language is always kept, even if it is not listed. */
const CODES =
  'ru en ar az be bg bn ca cs da de el es et fa fi fr he hi hr hu hy id it ja ka kk ko ky lt lv mk ms nl no pl pt ro sk sl sr sv sw ta te tg th tr uk ur uz vi zh'

export function languageName(code: string): string {
  try {
    const name = new Intl.DisplayNames(spoken(), { type: 'language' }).of(code) ?? code
    return name === code ? code : `${name} (${code})`
  } catch {
    return code
  }
}

/** Includes `current` even if it is not in the list. */
export function languageChoices(current: string): { value: string; label: string }[] {
  const codes = CODES.split(' ')
  const all = current === '' || codes.includes(current) ? codes : [current, ...codes]
  return all.map(value => ({ value, label: languageName(value) }))
}

export function timezones(current: string): string[] {
  return [...new Set([current, 'UTC', ...Intl.supportedValuesOf('timeZone')])].sort()
}
