import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'

export type Key = Schemas['Key']
export type Webhook = Schemas['Webhook']
export type Delivery = Schemas['WebhookDelivery']

export const scopes = ['read', 'write'] as const satisfies readonly Key['scopes'][number][]
export const webhookEvents = [
  'call.completed',
  'call.failed',
  'lead.created',
  'account.stopped',
] as const satisfies readonly Webhook['events'][number][]
export const deliveryEvents = [...webhookEvents, 'test'] as const satisfies readonly Delivery['event'][]
/** i18next treats a dot in a key as nesting. */
export const eventWords = {
  'call.completed': 'callCompleted',
  'call.failed': 'callFailed',
  'lead.created': 'leadCreated',
  'account.stopped': 'accountStopped',
} as const satisfies Record<Webhook['events'][number], string>
export const deliveryStatuses = [
  'pending',
  'delivered',
  'failed',
  'canceled',
] as const satisfies readonly Delivery['status'][]

export const PAGE = 20
/** Polling interval in ms: a pending delivery settles within seconds or waits for its next attempt. */
const LOOK_AGAIN_MS = 2000

export const keysQuery = (offset: number) =>
  queryOptions({
    queryKey: ['keys', offset],
    queryFn: ({ signal }) => must(api.GET('/v1/public/keys', { params: { query: { limit: PAGE, offset } }, signal })),
    placeholderData: keepPreviousData,
  })

export const webhooksQuery = (offset: number) =>
  queryOptions({
    queryKey: ['webhooks', 'list', offset],
    queryFn: ({ signal }) =>
      must(api.GET('/v1/public/webhooks', { params: { query: { limit: PAGE, offset } }, signal })),
    placeholderData: keepPreviousData,
  })

export const webhookQuery = (webhook_id: string) =>
  queryOptions({
    queryKey: ['webhooks', webhook_id],
    queryFn: ({ signal }) =>
      must(api.GET('/v1/public/webhooks/{webhook_id}', { params: { path: { webhook_id } }, signal })),
  })

export interface DeliveryFilters {
  event: Delivery['event'] | undefined
  status: Delivery['status'] | undefined
  offset: number
}

export const deliveriesQuery = (webhook_id: string, filters: DeliveryFilters) =>
  queryOptions({
    queryKey: ['webhooks', webhook_id, 'deliveries', filters],
    queryFn: ({ signal }) =>
      must(
        api.GET('/v1/public/webhooks/{webhook_id}/deliveries', {
          params: { path: { webhook_id }, query: { ...filters, limit: PAGE } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (state.data?.items.some(isUnderWay) ? LOOK_AGAIN_MS : false),
  })

export const deliveryQuery = (webhook_id: string, delivery_id: string) =>
  queryOptions({
    queryKey: ['webhooks', webhook_id, 'deliveries', delivery_id],
    queryFn: ({ signal }) =>
      must(
        api.GET('/v1/public/webhooks/{webhook_id}/deliveries/{delivery_id}', {
          params: { path: { webhook_id, delivery_id } },
          signal,
        }),
      ),
    refetchInterval: ({ state }) => (state.data?.status === 'pending' ? LOOK_AGAIN_MS : false),
  })

/** Whether the next attempt is due soon; deliveries that wait for hours are not polled. */
function isUnderWay({ status, next_attempt_at }: Delivery): boolean {
  if (status !== 'pending') return false
  return next_attempt_at === null || Date.parse(next_attempt_at) < Date.now() + 10_000
}
