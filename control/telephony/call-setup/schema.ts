/** Input schemas of calls: placing a call, and the filters of lists. */
import { z } from 'zod'
import { Direction } from '../../../media/contract/plan.ts'
import { SOFTPHONE_USERNAME } from '../../../media/contract/softphones.ts'
import { paging } from '../../platform/http/paging.ts'
import { Phone } from '../../platform/phone.ts'

export const CallStatus = z.enum([
  'queued',
  'dialing',
  'ringing',
  'in_progress',
  'completed',
  'no_answer',
  'busy',
  'failed',
  'canceled',
])
export type CallStatus = z.output<typeof CallStatus>

const MAX_VARS = 100

const Callee = z
  .string()
  .regex(
    new RegExp(`^(?:\\+[1-9]\\d{6,14}|${SOFTPHONE_USERNAME.source.slice(1, -1)})$`),
    'must be a plus sign and 7 to 15 digits, or the user name of a softphone',
  )
  .refine(text => SOFTPHONE_USERNAME.test(text) || Phone.safeParse(text).success, {
    error: 'is not a possible phone number',
    params: { code: 'phone' },
  })
  .meta({
    format: 'phone',
    description: 'The phone number to call, in E.164 format, or the user name of a softphone of the account',
  })

export const CallInput = z.strictObject({
  project_id: z.uuid(),
  phone: Callee,
  task: z.string().max(8000).optional().describe('Task of the agent in this call. `{{var}}` is filled from `vars`'),
  vars: z
    .record(z.string().regex(/^[A-Za-z0-9_]{1,64}$/), z.union([z.string().max(4000), z.number(), z.boolean()]))
    .refine(vars => Object.keys(vars).length <= MAX_VARS, { error: `at most ${MAX_VARS} vars` })
    .meta({ maxProperties: MAX_VARS })
    .optional()
    .describe('Values of `{{var}}` in prompt, greeting and task. A missing value is empty'),
})
export type CallInput = z.output<typeof CallInput>

export const CallFilters = z.strictObject({
  project_id: z.uuid().optional(),
  direction: Direction.optional(),
  status: CallStatus.optional(),
  campaign_id: z.uuid().optional(),
  ...paging,
})
export type CallFilters = z.output<typeof CallFilters>
