import { z } from 'zod'

export const BindDirection = z.enum(['in', 'out', 'both'])
export type BindDirection = z.output<typeof BindDirection>

/** With the plus or without, as numbers stand in addresses. */
export const PhoneLike = z.string().regex(/^\+?[1-9]\d{6,14}$/, 'must be a phone number')

export const BindInput = z.strictObject({ number: PhoneLike, direction: BindDirection })
export const UnbindQuery = z.strictObject({
  direction: BindDirection.optional().describe('Only this direction; without it both'),
})
export const NumberPath = z.object({
  project_id: z.uuid(),
  number: PhoneLike.describe('With the plus or without'),
})

export const NumberView = z
  .object({
    number: z.string(),
    trunk_id: z.uuid(),
    trunk_name: z.string(),
    status: z.enum(['bound', 'unbound']),
    bindings: z.array(z.object({ project_id: z.uuid(), direction: BindDirection })),
  })
  .meta({ id: 'Number' })
