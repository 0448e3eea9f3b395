/**
 * Returns the fields of an error that may be logged: name, code, message and stack frames. Libraries attach request
 * data to their errors, and JSON's parser quotes its input in the message; both are dropped.
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
