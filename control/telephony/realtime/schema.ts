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
      'The person who will talk. With a phone, a contact is stored when the conversation starts. A name without a phone is only passed to the agent',
    ),
})
export type SessionInput = z.output<typeof SessionInput>

export const SessionView = z
  .object({
    url: z.string().describe('WebSocket URL of the LiveKit server'),
    token: z
      .string()
      .optional()
      .describe('LiveKit token for one room and one identity. A replay by Idempotency-Key does not include it'),
    expires_in: z.int().describe('Seconds during which a conversation can start'),
  })
  .meta({ id: 'RealtimeSession' })
