import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Deps } from '../platform/deps.ts'
import { listOf, paging } from '../platform/http/paging.ts'
import { notFound } from '../platform/http/problem.ts'
import { deletionRoute, route } from '../platform/http/route.ts'
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
    summary: 'List webhook endpoints',
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
    summary: 'Create a webhook endpoint',
    description:
      'The response contains the signing secret; it is never shown again. Use `test_webhook` to test the endpoint.',
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
    summary: 'Retrieve a webhook endpoint',
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
    summary: 'Update a webhook endpoint',
    description: 'Enabling an endpoint clears the reason why it was disabled. Pending deliveries go to the new URL.',
    params: WebhookPath,
    body: WebhookPatch,
    answer: WebhookView,
    errors: ['not_found'],
    handle: ({ ownerId, params, body }) => patchWebhook(deps, ownerId, params.webhook_id, body),
  })
  deletionRoute(app, deps, {
    id: 'delete_webhook',
    path: '/webhooks/:webhook_id',
    scope: 'write',
    tag,
    summary: 'Delete a webhook endpoint and its delivery log',
    params: WebhookPath,
    remove: ({ ownerId, params }) => removeWebhook(deps, ownerId, params.webhook_id),
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
    summary: 'Rotate the signing secret; the old one stays valid for 24 hours',
    description:
      'For 24 hours, each delivery has two signatures in `webhook-signature`, so that receivers can switch without a gap.',
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
    summary: 'List the deliveries of an endpoint',
    description:
      'Returns every event sent to the endpoint, with each attempt: status, time and the beginning of the response.',
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
    summary: 'Retrieve a delivery with its attempts',
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
    summary: 'Send a signed `test` event',
    description: 'Sends the event once, without retries, also to a disabled endpoint. The delivery shows the result.',
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
    summary: 'Replay a delivery',
    description: 'Sends the same body as a new delivery with its own id.',
    params: DeliveryPath,
    status: 201,
    answer: DeliveryView,
    errors: ['not_found'],
    handle: ({ ownerId, params, save }) => replayDelivery(deps, ownerId, params.webhook_id, params.delivery_id, save),
  })
}
