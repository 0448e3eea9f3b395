/** What is delivered to customers' addresses, as the OpenAPI document publishes it. */
import { z } from 'zod'
import { EndedReason, FinalStatus } from '../../media/contract/messages.ts'
import type { DeliveryEvent } from './schema.ts'

const created_at = z.iso.datetime().describe('When it became true')
const call_id = z.uuid()
const campaign_id = z.uuid().optional().describe('The campaign that the call is of')

export const payloads: Record<DeliveryEvent, z.ZodType> = {
  'call.completed': z.object({
    event: z.literal('call.completed'),
    call_id,
    campaign_id,
    created_at,
    goal_reached: z.boolean().describe('False also when the project has no goal'),
    data: z.object({
      summary: z.string(),
      extracted: z.record(z.string(), z.unknown()).describe("As the project's `extraction` asks"),
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
    job_id: z.uuid().nullable().describe('The lead search that found it; null: a caller became a lead'),
    created_at,
    phone: z.string().nullable().describe('E.164; null: the company told none'),
    score: z.int().nullable().describe('0 to 100'),
    data: z.object({
      call_id: call_id.optional().describe('The call that made a lead of a caller'),
      campaign_id,
      company: z.string().optional().describe('What the lead search found'),
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
  test: { event: 'test', created_at: AT, data: {} },
}

const summaries: Record<DeliveryEvent, string> = {
  'call.completed': 'An answered call has ended',
  'call.failed': 'A call was not answered, was canceled or broke off',
  'lead.created': 'A lead was enriched, or a caller became a lead',
  test: 'The ping that `test_webhook` sends',
}

const signed = [
  ['webhook-id', 'The same in all attempts of one delivery: take it only once'],
  ['webhook-timestamp', 'Seconds since 1970; refuse what is older than five minutes'],
  [
    'webhook-signature',
    'Standard Webhooks: `v1,` and the base64 of HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<body>`, by the bytes ' +
      'that the secret holds in base64 after `whsec_`; while a secret is being rotated, one for each, separated by a space',
  ],
  [
    'x-svc-signature',
    '`sha256=` and the hex of HMAC-SHA256 over the raw body, by the whole text of the newest secret, `whsec_` included',
  ],
] as const

/** The `webhooks` of OpenAPI 3.1. */
export function webhookDocuments(): Record<string, unknown> {
  const parameters = signed.map(([name, description]) => ({
    ...{ name, in: 'header', required: true, description },
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
          description: 'Taken. Anything else, or nothing within 10 s, is tried again; redirects are not followed.',
        },
        '410': { description: 'Not wanted any more: the endpoint is switched off.' },
      },
    }
    return [event, { post }]
  })
  return Object.fromEntries(documents)
}
