import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Deps } from '../platform/deps.ts'
import { listOf, paging } from '../platform/http/paging.ts'
import { notFound } from '../platform/http/problem.ts'
import { route } from '../platform/http/route.ts'
import { deleted } from '../platform/http/shapes.ts'
import {
  DeliveryFilters,
  DeliveryPath,
  DeliveryView,
  WebhookCreated,
  WebhookInput,
  WebhookPatch,
  WebhookPath,
  WebhookView,
} from './schema.ts'
import {
  createWebhook,
  getDelivery,
  listDeliveries,
  patchWebhook,
  presentWebhook,
  removeWebhook,
  replayDelivery,
  rotateSecret,
  testWebhook,
} from './service.ts'
import { countWebhooks, selectWebhook, selectWebhooks } from './sql.ts'

const tag = 'Webhooks'

export function webhookRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    id: 'list_webhooks',
    method: 'GET',
    path: '/webhooks',
    scope: 'read',
    tag,
    summary: 'Webhook endpoints',
    query: z.strictObject(paging),
    answer: listOf(WebhookView),
    async handle({ ownerId, query }) {
      const [rows, total] = await Promise.all([
        selectWebhooks(deps.sql, ownerId, query),
        countWebhooks(deps.sql, ownerId),
      ])
      return { items: rows.map(presentWebhook), total, limit: query.limit, offset: query.offset }
    },
  })
  route(app, deps, {
    id: 'create_webhook',
    method: 'POST',
    path: '/webhooks',
    scope: 'write',
    tag,
    summary: 'Register a webhook endpoint',
    description: 'The answer shows the signing secret once; keep it. Try the endpoint by `test_webhook`.',
    body: WebhookInput,
    status: 201,
    answer: WebhookCreated,
    secret: 'secret',
    errors: ['limit_reached'],
    handle: ({ ownerId, body, save }) => createWebhook(deps, ownerId, body, save),
  })
  oneWebhookRoutes(app, deps)
}

function oneWebhookRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    id: 'get_webhook',
    method: 'GET',
    path: '/webhooks/:webhook_id',
    scope: 'read',
    tag,
    summary: 'One webhook endpoint',
    params: WebhookPath,
    answer: WebhookView,
    errors: ['not_found'],
    async handle({ ownerId, params }) {
      const row = await selectWebhook(deps.sql, ownerId, params.webhook_id)
      if (!row) throw notFound()
      return presentWebhook(row)
    },
  })
  route(app, deps, {
    id: 'update_webhook',
    method: 'PATCH',
    path: '/webhooks/:webhook_id',
    scope: 'write',
    tag,
    summary: 'Change a webhook endpoint',
    description:
      'Switching an endpoint on again forgets why it was switched off. Deliveries that wait go to the new address.',
    params: WebhookPath,
    body: WebhookPatch,
    answer: WebhookView,
    errors: ['not_found'],
    handle: ({ ownerId, params, body }) => patchWebhook(deps, ownerId, params.webhook_id, body),
  })
  route(app, deps, {
    id: 'delete_webhook',
    method: 'DELETE',
    path: '/webhooks/:webhook_id',
    scope: 'write',
    tag,
    summary: 'Delete a webhook endpoint with its delivery log',
    params: WebhookPath,
    answer: deleted,
    errors: ['not_found'],
    async handle({ ownerId, params }) {
      await removeWebhook(deps, ownerId, params.webhook_id)
      return { id: params.webhook_id, deleted: true as const }
    },
  })
  deliveryRoutes(app, deps)
}

function deliveryRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    id: 'rotate_webhook_secret',
    method: 'POST',
    path: '/webhooks/:webhook_id/rotate',
    scope: 'write',
    tag,
    summary: 'New secret; the old one signs along for 24 hours',
    description:
      'For 24 hours each delivery carries two signatures in `webhook-signature`, so that receivers can change over without a gap.',
    params: WebhookPath,
    answer: WebhookCreated,
    secret: 'secret',
    errors: ['not_found'],
    handle: ({ ownerId, params, save }) => rotateSecret(deps, ownerId, params.webhook_id, save),
  })
  route(app, deps, {
    id: 'list_webhook_deliveries',
    method: 'GET',
    path: '/webhooks/:webhook_id/deliveries',
    scope: 'read',
    tag,
    summary: 'Delivery log',
    description: 'Every event that was sent here, with each attempt: status, time and the beginning of the answer.',
    params: WebhookPath,
    query: DeliveryFilters,
    answer: listOf(DeliveryView),
    errors: ['not_found'],
    handle: ({ ownerId, params, query }) => listDeliveries(deps, ownerId, params.webhook_id, query),
  })
  route(app, deps, {
    id: 'get_webhook_delivery',
    method: 'GET',
    path: '/webhooks/:webhook_id/deliveries/:delivery_id',
    scope: 'read',
    tag,
    summary: 'One delivery with its attempts',
    params: DeliveryPath,
    answer: DeliveryView,
    errors: ['not_found'],
    handle: ({ ownerId, params }) => getDelivery(deps, ownerId, params.webhook_id, params.delivery_id),
  })
  route(app, deps, {
    id: 'test_webhook',
    method: 'POST',
    path: '/webhooks/:webhook_id/test',
    scope: 'write',
    tag,
    summary: 'Send a signed `test` event at once, tried once; its delivery tells how it went',
    description: 'Goes out even while the endpoint is switched off.',
    params: WebhookPath,
    status: 201,
    answer: DeliveryView,
    errors: ['not_found'],
    handle: ({ ownerId, params, save }) => testWebhook(deps, ownerId, params.webhook_id, save),
  })
  route(app, deps, {
    id: 'replay_webhook_delivery',
    method: 'POST',
    path: '/webhooks/:webhook_id/deliveries/:delivery_id/replay',
    scope: 'write',
    tag,
    summary: 'Deliver again',
    description: 'The same body as a new delivery, with an id of its own.',
    params: DeliveryPath,
    status: 201,
    answer: DeliveryView,
    errors: ['not_found'],
    handle: ({ ownerId, params, save }) => replayDelivery(deps, ownerId, params.webhook_id, params.delivery_id, save),
  })
}
