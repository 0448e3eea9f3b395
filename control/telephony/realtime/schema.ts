import { z } from 'zod'
import { Phone } from '../../platform/phone.ts'
import { CallInput } from '../call-setup/schema.ts'

export const SessionInput = z.strictObject({
  project_id: z.uuid(),
  task: CallInput.shape.task,
  vars: CallInput.shape.vars,
  contact: z
    .strictObject({ name: z.string().max(200).regex(/\S/, 'must not be blank').optional(), phone: Phone.optional() })
    .optional()
    .describe(
      'Who will talk. With a phone it is kept as a contact once they talk; a name alone is only told to the agent',
    ),
})
export type SessionInput = z.output<typeof SessionInput>

export const SessionView = z
  .object({
    url: z.string().describe('Websocket address of the LiveKit server'),
    token: z
      .string()
      .optional()
      .describe('LiveKit token for one room and one identity; a replay by Idempotency-Key comes without it'),
    expires_in: z.int().describe('Seconds in which a dialogue may begin'),
  })
  .meta({ id: 'RealtimeSession' })
