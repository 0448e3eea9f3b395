import { z } from 'zod'

/** Of operations without fields: an empty object or nothing at all. */
export const NoBody = z.strictObject({}).nullish()

/** Answer of every DELETE. */
export const deleted = z.object({ id: z.string(), deleted: z.literal(true) }).meta({ id: 'Deleted' })

export const time = (date: Date | null) => date?.toISOString() ?? null

/** An address that a customer may have us go to; whether it leads anywhere is the Fetch port's to judge. */
export function isFetchable(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  return /^https?:$/.test(protocol) && username === '' && password === ''
}
