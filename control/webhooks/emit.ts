import type { Tx } from '../platform/db/connect.ts'
import { type Deps, wallDate } from '../platform/deps.ts'
import { uuidv7 } from '../platform/ids.ts'
import { enqueue } from '../platform/jobs/jobs.ts'
import type { DeliveryEvent, WebhookEvent } from './schema.ts'
import { insertDelivery, selectSubscribed } from './sql.ts'

/**
 * Call in the transaction that makes the event true, so that no event is sent that did not happen, and none is lost.
 */
export async function emitWebhook(
  deps: Pick<Deps, 'boss' | 'clock'>,
  tx: Tx,
  ownerId: string,
  event: WebhookEvent,
  payload: Record<string, unknown>,
  traceparent: string | null = null,
): Promise<void> {
  for (const webhookId of await selectSubscribed(tx, ownerId, event)) {
    await deliverTo(deps, tx, ownerId, webhookId, event, JSON.stringify({ event, ...payload }), traceparent)
  }
}

export async function deliverTo(
  deps: Pick<Deps, 'boss' | 'clock'>,
  tx: Tx,
  ownerId: string,
  webhookId: string,
  event: DeliveryEvent,
  body: string,
  traceparent: string | null = null,
): Promise<string> {
  const created_at = wallDate(deps)
  const id = uuidv7(created_at.getTime())
  await insertDelivery(tx, { id, owner_id: ownerId, webhook_id: webhookId, event, body, created_at, traceparent })
  await enqueue(deps, tx, 'webhook.deliver', { delivery_id: id, attempt: 1 }, { group: { id: ownerId } })
  return id
}
