import { z } from 'zod'

/** Body of operations without fields: an empty object or nothing. */
export const NoBody = z.strictObject({}).nullish()

/** Response of every DELETE. */
export const deleted = z.object({ id: z.string(), deleted: z.literal(true) }).meta({ id: 'Deleted' })

export const time = (date: Date | null) => date?.toISOString() ?? null

/**
 * Checks the form of a URL that a customer gives us to fetch. The Fetch port decides whether the address is allowed.
 */
export function isFetchable(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  return /^https?:$/.test(protocol) && username === '' && password === ''
}
