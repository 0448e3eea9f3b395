import { z } from 'zod'
import { paging } from '../../platform/http/paging.ts'
import { Phone } from '../../platform/phone.ts'
import { PhoneLike } from '../numbers/schema.ts'

export const DoNotCallFilters = z.strictObject({
  q: z
    .string()
    .regex(/^\+?\d{1,15}$/, 'must be the first digits of a number')
    .optional()
    .describe('First digits of the number, with or without the plus sign'),
  ...paging,
})
export type DoNotCallFilters = z.output<typeof DoNotCallFilters>

export const DoNotCallInput = z.strictObject({ phone: Phone, note: z.string().trim().min(1).max(500).optional() })
export type DoNotCallInput = z.output<typeof DoNotCallInput>

export const DoNotCallView = z
  .object({
    phone: z.string().describe('E.164'),
    source: z.enum(['api', 'caller']).describe('`api`: added by you; `caller`: requested in a call'),
    note: z.string().nullable(),
    created_at: z.string(),
  })
  .meta({ id: 'DoNotCallEntry' })

export const DoNotCallPath = z.object({ phone: PhoneLike.describe('Phone number, with or without the plus sign') })
