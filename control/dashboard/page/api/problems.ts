/** Refusals in words of the page's language, and where in a form they belong. */
import type { TFunction } from 'i18next'
import { ParleyError, type Problem } from '../../../api/client/problem.ts'

type Words = TFunction<'words'>

/** English words come from the server, which knows more than the code; other languages have words for each code. */
export function problemText(t: Words, error: unknown): string {
  if (!(error instanceof ParleyError)) return t('problem.unreachable')
  const { code, detail } = error.problem
  return t(`problem.codes.${code}`, { detail })
}

/**
 * What a form shows beside its fields, by the path that `@mantine/form` has for them: `/tools/0/url` is `tools.0.url`. The
 * server's words are English: languages with words for a code of theirs have it in `problem.fields`.
 */
export function fieldErrors(t: Words, error: unknown): Record<string, string> {
  if (!(error instanceof ParleyError)) return {}
  const found = (error.problem.errors ?? []).map(({ pointer, code, message }) => {
    const words = t(`problem.fields.${code}` as 'problem.fields.custom', { message, defaultValue: message })
    return [pathOf(pointer), words] as const
  })
  return Object.fromEntries(found)
}

/** RFC 6901. */
const pathOf = (pointer: string) =>
  pointer
    .replace(/^#?\//, '')
    .split('/')
    .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.')

export type { Problem }
