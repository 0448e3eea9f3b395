import { isPossiblePhoneNumber } from 'libphonenumber-js'
import { z } from 'zod'

/** `isPossible`, not `isValid`: whether a range is in service is the carrier's to say, and its tables age. */
export const Phone = z
  .string()
  .regex(/^\+[1-9]\d{6,14}$/, 'must be a plus and 7 to 15 digits')
  .refine(text => isPossiblePhoneNumber(text), { error: 'is not a possible phone number', params: { code: 'phone' } })
  .describe('E.164')

/** What SIP calls a number: with the plus or without. Null when it is something else (`anonymous`, an extension). */
export function toE164(text: string): string | null {
  const digits = /^\+?([1-9]\d{6,14})$/.exec(text)?.[1]
  return digits ? `+${digits}` : null
}
