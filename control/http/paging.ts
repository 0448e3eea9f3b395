import { z } from 'zod'

/** A query string is text; only digits are a number there. */
const digits = (schema: z.ZodInt) => z.coerce.number({ error: 'must be a whole number' }).pipe(schema)

export const paging = {
  limit: digits(z.int().min(1).max(200)).default(50),
  offset: digits(z.int().min(0).max(2_147_483_647)).default(0),
}

export interface Page {
  limit: number
  offset: number
}

export function listOf<T extends z.ZodType>(item: T) {
  return z.object({
    items: z.array(item),
    total: z.int().describe('Records in the whole selection'),
    limit: z.int(),
    offset: z.int(),
  })
}
