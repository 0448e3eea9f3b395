import { z } from 'zod'

/** Of operations without fields: an empty object or nothing at all. */
export const NoBody = z.strictObject({}).nullish()

/** Answer of every DELETE. */
export const deleted = z.object({ id: z.string(), deleted: z.literal(true) }).meta({ id: 'Deleted' })

export const time = (date: Date | null) => date?.toISOString() ?? null
