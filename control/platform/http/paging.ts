import { z } from 'zod'

/** A query string is text; only digits are a number there. A tool's arguments have numbers already. */
const digits = (schema: z.ZodInt) =>
  z.preprocess(value => (typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value), schema)

export const firstPage = { limit: 50, offset: 0 }

export const paging = {
  limit: digits(z.int().min(1).max(200)).default(firstPage.limit).describe('Page size'),
  offset: digits(z.int().min(0).max(2_147_483_647))
    .default(firstPage.offset)
    .describe('Records left out before the page'),
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
