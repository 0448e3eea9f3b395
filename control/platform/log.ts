import { bareError } from '../../media/shared/bare-error.ts'

/**
 * What of an error may be logged. Postgres puts row values (phones, names) into `detail` and into messages, so of its
 * errors only the code and the names of things are kept.
 */
export function errorFields(error: unknown): Record<string, unknown> {
  const { message, ...base } = bareError(error)
  if (base['name'] !== 'PostgresError') return { ...base, ...(message === undefined ? {} : { message }) }
  const fields = error as Record<string, unknown>
  return { ...base, constraint: fields['constraint_name'], table: fields['table_name'] }
}

/** For those who log an error as it is: the bus does, and so does pg-boss, which also keeps it in its table. */
export function rethrowBare(error: unknown): never {
  if (error instanceof Error && error.name === 'PostgresError') {
    throw new Error(`postgres error ${(error as Error & { code?: string }).code}`)
  }
  throw error
}
