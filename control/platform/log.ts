import { bareError } from '../../media/shared/bare-error.ts'

/**
 * Returns the fields of an error that may be logged. Postgres puts row values (phones, names) into `detail` and
 * messages, so only the code and the names of objects are kept.
 */
export function errorFields(error: unknown): Record<string, unknown> {
  const { message, ...base } = bareError(error)
  if (base['name'] !== 'PostgresError') return { ...base, ...(message === undefined ? {} : { message }) }
  const fields = error as Record<string, unknown>
  return { ...base, constraint: fields['constraint_name'], table: fields['table_name'] }
}

/** For callers that log the whole error: the bus does, and so does pg-boss, which also stores it in its table. */
export function rethrowBare(error: unknown): never {
  if (error instanceof Error && error.name === 'PostgresError') {
    throw new Error(`postgres error ${(error as Error & { code?: string }).code}`)
  }
  throw error
}
