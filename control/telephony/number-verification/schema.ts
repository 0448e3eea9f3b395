import { z } from 'zod'
import { PhoneLike } from '../numbers/schema.ts'

export const VerificationPath = z.object({ number: PhoneLike.describe('Phone number, with or without the plus sign') })
export const VerificationInput = z.strictObject({})

export const VerificationView = z
  .object({
    number: z.string(),
    expires_at: z.string().describe('Until then, the code that the call speaks is accepted'),
    tries_left: z.int().describe('Wrong codes until another call is needed'),
  })
  .meta({ id: 'NumberVerification' })

export const CodeInput = z.strictObject({
  code: z
    .string()
    .regex(/^\d{6}$/, 'must be six digits')
    .describe('The six digits that the call spoke'),
})
