/** Webhook payloads, as the OpenAPI document publishes them. */
import { z } from 'zod'
import { EndedReason, FinalStatus } from '../../media/contract/messages.ts'
import type { DeliveryEvent } from './schema.ts'

const created_at = z.iso.datetime().describe('Time of the event')
const call_id = z.uuid()
const campaign_id = z.uuid().optional().describe('Campaign of the call')

export const payloads: Record<DeliveryEvent, z.ZodType> = {
  'call.completed': z.object({
    event: z.literal('call.completed'),
    call_id,
    campaign_id,
    created_at,
    goal_reached: z.boolean().describe('Also false when the project has no goal'),
    data: z.object({
      summary: z.string(),
      extracted: z.record(z.string(), z.unknown()).describe("Data that matches the project's `extraction`"),
    }),
  }),
  'call.failed': z.object({
    event: z.literal('call.failed'),
    call_id,
    campaign_id,
    created_at,
    data: z.object({ status: FinalStatus, ended_reason: EndedReason, sip_code: z.int().nullable() }),
  }),
  'lead.created': z.object({
    event: z.literal('lead.created'),
    lead_id: z.uuid(),
    job_id: z.uuid().nullable().describe('Lead search that found the lead. Null: a caller became a lead'),
    created_at,
    phone: z.string().nullable().describe('E.164. Null when the company has no phone number'),
    score: z.int().nullable().describe('0 to 100'),
    data: z.object({
      call_id: call_id.optional().describe('Call in which the caller became a lead'),
      campaign_id,
      company: z.string().optional().describe('Company name'),
    }),
  }),
  'account.stopped': z.object({
    event: z.literal('account.stopped'),
    created_at,
    data: z.object({
      reason: z.enum(['new_countries', 'spending']),
      countries: z.array(z.string()).nullable().describe('Countries called for the first time (ISO 3166)'),
      spent: z.string().nullable().describe('Amount of the last hour'),
      usual: z.string().nullable().describe('Amount of the usual hour'),
    }),
  }),
  test: z.object({ event: z.literal('test'), created_at, data: z.object({}) }),
}

const CALL = '0195f2c4-7a10-7c3e-9b1d-5e8f2a6c4d01'
const AT = '2026-03-02T09:15:42.318Z'

export const payloadExamples: Record<DeliveryEvent, unknown> = {
  'call.completed': {
    event: 'call.completed',
    call_id: CALL,
    created_at: AT,
    goal_reached: true,
    data: { summary: 'Anna booked a table for four on Friday at seven.', extracted: { guests: 4, time: '19:00' } },
  },
  'call.failed': {
    event: 'call.failed',
    call_id: CALL,
    created_at: AT,
    data: { status: 'no_answer', ended_reason: 'no_answer', sip_code: 480 },
  },
  'lead.created': {
    event: 'lead.created',
    lead_id: '0195f2c4-8b22-7d4f-8c2e-6f903b7d5e12',
    job_id: null,
    created_at: AT,
    phone: '+14155550123',
    score: null,
    data: { call_id: CALL },
  },
  'account.stopped': {
    event: 'account.stopped',
    created_at: AT,
    data: { reason: 'new_countries', countries: ['CI', 'CU', 'LT', 'MV', 'SC'], spent: null, usual: null },
  },
  test: { event: 'test', created_at: AT, data: {} },
}

const summaries: Record<DeliveryEvent, string> = {
  'call.completed': 'An answered call has ended',
  'call.failed': 'A call was not answered, was canceled or was interrupted',
  'lead.created': 'A lead was enriched, or a caller became a lead',
  'account.stopped': 'Outgoing calls were stopped for unusual activity',
  test: 'Test event sent by `test_webhook`',
}

const signed = [
  ['webhook-id', 'Id of the delivery, the same in all attempts. Process each id only once'],
  ['webhook-timestamp', 'Unix time in seconds. Reject deliveries older than five minutes'],
  [
    'webhook-signature',
    'Standard Webhooks: `v1,` and the base64 HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>`. The key is the bytes ' +
      'that follow `whsec_` in the secret in base64. During a rotation, one signature per secret, separated by a space',
  ],
  [
    'x-svc-signature',
    '`sha256=` and the hex HMAC-SHA256 of the raw body. The key is the whole text of the newest secret, including `whsec_`',
  ],
] as const

/** The `webhooks` section of OpenAPI 3.1. */
export function webhookDocuments(): Record<string, unknown> {
  const parameters = signed.map(([name, description]) => ({
    name,
    in: 'header',
    required: true,
    description,
    schema: { type: 'string' },
  }))
  const documents = (Object.keys(payloads) as DeliveryEvent[]).map(event => {
    const { $schema: _, ...schema } = z.toJSONSchema(payloads[event], { io: 'input' })
    const post = {
      operationId: `on_${event.replace('.', '_')}`,
      summary: summaries[event],
      tags: ['Webhooks'],
      parameters,
      requestBody: { required: true, content: { 'application/json': { schema, example: payloadExamples[event] } } },
      responses: {
        '2XX': {
          description:
            'Accepted. Any other status, or no response within 10 s, is retried. Redirects are not followed.',
        },
        '410': { description: 'No longer wanted: the endpoint is disabled.' },
      },
    }
    return [event, { post }]
  })
  return Object.fromEntries(documents)
}
