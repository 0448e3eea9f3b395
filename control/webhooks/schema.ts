import { z } from 'zod'
import { paging } from '../platform/http/paging.ts'
import { isFetchable } from '../platform/http/shapes.ts'

export const WebhookEvent = z.enum(['call.completed', 'call.failed', 'lead.created', 'account.stopped'])
export type WebhookEvent = z.output<typeof WebhookEvent>
/** Type of a delivery: an event, or a test that its owner requested. */
export const DeliveryEvent = z.enum([...WebhookEvent.options, 'test'])
export type DeliveryEvent = z.output<typeof DeliveryEvent>

const fields = {
  url: z
    .string()
    .max(2048)
    .refine(isFetchable, { error: 'must be an http(s) URL without credentials' })
    .meta({ format: 'http-url', description: 'http(s) URL without credentials' }),
  events: z
    .array(WebhookEvent)
    .min(1)
    .refine(events => new Set(events).size === events.length, { error: 'must not repeat' })
    .meta({ uniqueItems: true }),
  enabled: z.boolean(),
}
export const WebhookPatch = z.strictObject(fields).partial()
export type WebhookPatch = z.output<typeof WebhookPatch>
export const WebhookInput = z.strictObject({ ...fields, enabled: fields.enabled.optional() })
export type WebhookInput = z.output<typeof WebhookInput>

export const WebhookView = z
  .object({
    id: z.uuid(),
    url: z.string(),
    events: z.array(WebhookEvent),
    enabled: z.boolean(),
    disabled_reason: z.string().nullable(),
    created_at: z.string(),
  })
  .meta({ id: 'Webhook' })
export const WebhookCreated = WebhookView.extend({
  secret: z.string().optional().describe('Shown only once: a replay by Idempotency-Key does not include it'),
}).meta({ id: 'WebhookCreated' })

const DeliveryStatus = z.enum(['pending', 'delivered', 'failed', 'canceled'])
export const DeliveryFilters = z.strictObject({
  event: DeliveryEvent.optional(),
  status: DeliveryStatus.optional(),
  ...paging,
})
export type DeliveryFilters = z.output<typeof DeliveryFilters>

export const DeliveryView = z
  .object({
    id: z.uuid().describe('`webhook-id` of all attempts'),
    event: DeliveryEvent,
    status: DeliveryStatus,
    created_at: z.string(),
    next_attempt_at: z.string().nullable(),
    attempts: z.array(
      z.object({
        attempt: z.int(),
        at: z.string(),
        http_status: z.int().nullable(),
        error: z.string().nullable(),
        ms: z.int(),
        response: z.string().nullable().describe('First 1000 characters of the response'),
      }),
    ),
  })
  .meta({ id: 'WebhookDelivery' })

export const WebhookPath = z.object({ webhook_id: z.uuid() })
export const DeliveryPath = z.object({ webhook_id: z.uuid(), delivery_id: z.uuid() })
