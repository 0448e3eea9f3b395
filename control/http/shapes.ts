import { z } from 'zod'

/** Answer of every DELETE. */
export const deleted = z.object({ id: z.string(), deleted: z.literal(true) }).meta({ id: 'Deleted' })

export const time = (date: Date | null) => date?.toISOString() ?? null
