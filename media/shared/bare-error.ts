/**
 * What of an error may be logged: what went wrong and where. Libraries hang on their errors what they were doing, and the
 * parser of JSON quotes what it could not read: neither is kept.
 */
export function bareError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: typeof error }
  const frames = error.stack
    ?.split('\n')
    .filter(line => line.startsWith('    at '))
    .slice(0, 8)
    .join('\n')
  const base = { name: error.name, code: (error as NodeJS.ErrnoException).code, frames }
  return error.name === 'SyntaxError' ? base : { ...base, message: error.message }
}
