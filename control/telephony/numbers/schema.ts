import { z } from 'zod'

export const BindDirection = z.enum(['in', 'out', 'both'])
export type BindDirection = z.output<typeof BindDirection>

/** With or without the plus sign, as in URLs. */
export const PhoneLike = z.string().regex(/^\+?[1-9]\d{6,14}$/, 'must be a phone number')

export const BindInput = z.strictObject({ number: PhoneLike, direction: BindDirection })
export const UnbindQuery = z.strictObject({
  direction: BindDirection.optional().describe('Unbind only this direction. Default: both'),
})
export const NumberPath = z.object({
  project_id: z.uuid(),
  number: PhoneLike.describe('Phone number, with or without the plus sign'),
})

export const NumberView = z
  .object({
    number: z.string(),
    trunk_id: z.uuid(),
    trunk_name: z.string(),
    verified: z
      .boolean()
      .describe('True once a verification call has shown that the number is yours; see `verify_number`'),
    status: z.enum(['bound', 'unbound']),
    bindings: z.array(z.object({ project_id: z.uuid(), direction: BindDirection })),
  })
  .meta({ id: 'Number' })
