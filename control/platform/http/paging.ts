import { z } from 'zod'

/** Query parameters are strings, and only digits become a number; arguments of a tool are already numbers. */
const digits = (schema: z.ZodInt) =>
  z.preprocess(value => (typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value), schema)

export const firstPage = { limit: 50, offset: 0 }

export const paging = {
  limit: digits(z.int().min(1).max(200)).default(firstPage.limit).describe('Number of records to return, 1–200'),
  offset: digits(z.int().min(0).max(2_147_483_647)).default(firstPage.offset).describe('Number of records to skip'),
}

export interface Page {
  limit: number
  offset: number
}

export function listOf<T extends z.ZodType>(item: T) {
  return z.object({
    items: z.array(item),
    total: z.int().describe('Number of all matching records'),
    limit: z.int(),
    offset: z.int(),
  })
}
