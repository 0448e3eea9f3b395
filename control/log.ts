/**
 * What of an error may be logged. Postgres puts row values (phones, names) into `detail` and into messages, so of its
 * errors only the code and the names of things are kept.
 */
export function errorFields(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: typeof error }
  const fields = error as Error & Record<string, unknown>
  const frames = error.stack
    ?.split('\n')
    .filter(line => line.startsWith('    at '))
    .slice(0, 8)
    .join('\n')
  const base = { name: error.name, code: fields['code'], frames }
  if (error.name === 'PostgresError')
    return { ...base, constraint: fields['constraint_name'], table: fields['table_name'] }
  return { ...base, message: error.message }
}

/** For those who log an error as it is: the bus does, and so does pg-boss, which also keeps it in its table. */
export function rethrowBare(error: unknown): never {
  if (error instanceof Error && error.name === 'PostgresError') {
    throw new Error(`postgres error ${(error as Error & { code?: string }).code}`)
  }
  throw error
}
