/** Translates API errors and maps them to form fields. */
import type { TFunction } from 'i18next'
import { ParleyError, type Problem } from '../../../api/client/problem.ts'

type Words = TFunction<'words'>

/** English uses the server's `detail`, which is more specific; other languages have a text per code. */
export function problemText(t: Words, error: unknown): string {
  if (!(error instanceof ParleyError)) return t('problem.unreachable')
  const { code, detail } = error.problem
  return t(`problem.codes.${code}`, { detail, defaultValue: detail })
}

/**
 * Returns the field errors of an API error by `@mantine/form` path: `/tools/0/url` becomes `tools.0.url`. The server's
 * messages are English; other languages translate the error code in `problem.fields`.
 */
export function fieldErrors(t: Words, error: unknown): Record<string, string> {
  if (!(error instanceof ParleyError)) return {}
  const found = (error.problem.errors ?? []).map(({ pointer, code, message }) => {
    const words = t(`problem.fields.${code}` as 'problem.fields.custom', { message, defaultValue: message })
    return [pathOf(pointer), words] as const
  })
  return Object.fromEntries(found)
}

/** Converts a JSON Pointer (RFC 6901) to a form path. */
const pathOf = (pointer: string) =>
  pointer
    .replace(/^#?\//, '')
    .split('/')
    .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.')

export type { Problem }
