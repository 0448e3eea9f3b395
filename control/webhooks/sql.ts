import type { Db, Tx } from '../platform/db/connect.ts'
import type { Page } from '../platform/http/paging.ts'
import type { DeliveryEvent, DeliveryFilters, WebhookEvent } from './schema.ts'

export interface WebhookRow {
  id: string
  owner_id: string
  url: string
  events: WebhookEvent[]
  enabled: boolean
  disabled_reason: string | null
  secret_sealed: string
  old_secret_sealed: string | null
  old_secret_until: Date | null
  created_at: Date
}

export async function insertWebhook(
  db: Db,
  row: Omit<WebhookRow, 'disabled_reason' | 'old_secret_sealed' | 'old_secret_until'>,
) {
  await db`insert into webhooks ${db(row, 'id', 'owner_id', 'url', 'events', 'enabled', 'secret_sealed', 'created_at')}`
}

export async function selectWebhooks(db: Db, ownerId: string, page: Page): Promise<WebhookRow[]> {
  return db<WebhookRow[]>`
    select * from webhooks where owner_id = ${ownerId}
    order by created_at desc, id desc limit ${page.limit} offset ${page.offset}`
}

/** Serialises the creation of an owner's endpoints. */
export async function lockEndpoints(tx: Tx, ownerId: string): Promise<void> {
  await tx`select 1 from accounts where id = ${ownerId} for no key update`
}

/** An owner has only a few. */
export async function countWebhooks(db: Db, ownerId: string): Promise<number> {
  const [row] = await db<{ total: number }[]>`select count(*)::int as total from webhooks where owner_id = ${ownerId}`
  return row!.total
}

export async function selectWebhook(
  db: Db,
  ownerId: string,
  id: string,
  lock = false,
): Promise<WebhookRow | undefined> {
  const [row] = await db<WebhookRow[]>`
    select * from webhooks where owner_id = ${ownerId} and id = ${id} ${lock ? db`for update` : db``}`
  return row
}

export async function updateWebhook(db: Db, ownerId: string, row: WebhookRow): Promise<void> {
  const columns = [
    'url',
    'events',
    'enabled',
    'disabled_reason',
    'secret_sealed',
    'old_secret_sealed',
    'old_secret_until',
  ] as const
  await db`update webhooks set ${db(row, ...columns)} where owner_id = ${ownerId} and id = ${row.id}`
}

export async function deleteWebhook(db: Db, ownerId: string, id: string): Promise<boolean> {
  return (await db`delete from webhooks where owner_id = ${ownerId} and id = ${id} returning 1`).length > 0
}

export async function selectSubscribed(db: Db, ownerId: string, event: WebhookEvent): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from webhooks where owner_id = ${ownerId} and enabled and ${event} = any(events) order by id`
  return rows.map(row => row.id)
}

export interface DeliveryRow {
  id: string
  owner_id: string
  webhook_id: string
  event: DeliveryEvent
  body: string
  status: 'pending' | 'delivered' | 'failed' | 'canceled'
  attempts: number
  next_attempt_at: Date | null
  created_at: Date
  /** Trace context of the event; null when it was not traced. */
  traceparent: string | null
}

export type NewDelivery = Pick<DeliveryRow, 'id' | 'owner_id' | 'webhook_id' | 'event' | 'body' | 'created_at'> &
  Partial<Pick<DeliveryRow, 'traceparent'>>

export async function insertDelivery(db: Db, row: NewDelivery): Promise<void> {
  await db`
    insert into webhook_deliveries (id, owner_id, webhook_id, event, body, status, next_attempt_at, created_at, traceparent)
    values (${row.id}, ${row.owner_id}, ${row.webhook_id}, ${row.event}, ${row.body}, 'pending',
            ${row.created_at}, ${row.created_at}, ${row.traceparent ?? null})`
}

type Endpoint = Pick<WebhookRow, 'id' | 'url' | 'enabled' | 'secret_sealed' | 'old_secret_sealed' | 'old_secret_until'>

/** `endpoint`: the receiver; null when it was deleted. */
export type DueRow = DeliveryRow & { endpoint: Endpoint | null }

/** Has no owner parameter: only jobs use this id. */
export async function selectDue(db: Db, deliveryId: string): Promise<DueRow | undefined> {
  type Json = Omit<Endpoint, 'old_secret_until'> & { old_secret_until: string | null }
  const [row] = await db<(DeliveryRow & { endpoint: Json | null })[]>`
    select webhook_deliveries.*, case when webhooks.id is not null then json_build_object(
      'id', webhooks.id, 'url', url, 'enabled', enabled, 'secret_sealed', secret_sealed,
      'old_secret_sealed', old_secret_sealed, 'old_secret_until', old_secret_until) end as endpoint
    from webhook_deliveries
    left join webhooks on webhooks.owner_id = webhook_deliveries.owner_id and webhooks.id = webhook_id
    where webhook_deliveries.id = ${deliveryId}`
  if (!row?.endpoint) return row as DueRow | undefined
  const { old_secret_until: until, ...endpoint } = row.endpoint
  return { ...row, endpoint: { ...endpoint, old_secret_until: until === null ? null : new Date(until) } }
}

/** Has no owner parameter: the caller checks the owner. */
export async function selectDelivery(db: Db, id: string): Promise<DeliveryRow | undefined> {
  const [row] = await db<DeliveryRow[]>`select * from webhook_deliveries where id = ${id}`
  return row
}

export async function updateDelivery(
  db: Db,
  ownerId: string,
  id: string,
  change: Pick<DeliveryRow, 'status' | 'attempts' | 'next_attempt_at'>,
): Promise<void> {
  await db`
    update webhook_deliveries set ${db(change, 'status', 'attempts', 'next_attempt_at')}
    where owner_id = ${ownerId} and id = ${id}`
}

export interface AttemptRow {
  attempt: number
  at: Date
  http_status: number | null
  error: string | null
  ms: number
  response: string | null
}

/** False when this attempt is already stored. */
export async function insertAttempt(db: Db, deliveryId: string, row: AttemptRow): Promise<boolean> {
  const rows = await db`
    insert into webhook_attempts (delivery_id, attempt, at, http_status, error, ms, response)
    values (${deliveryId}, ${row.attempt}, ${row.at}, ${row.http_status}, ${row.error}, ${row.ms}, ${row.response})
    on conflict do nothing returning 1`
  return rows.length > 0
}

/** Stores a successful attempt and the end of its delivery in one statement, because nearly all are successful. */
export async function insertArrival(db: Db, ownerId: string, deliveryId: string, row: AttemptRow): Promise<void> {
  await db`
    with attempt as (
      insert into webhook_attempts (delivery_id, attempt, at, http_status, error, ms, response)
      values (${deliveryId}, ${row.attempt}, ${row.at}, ${row.http_status}, null, ${row.ms}, ${row.response})
      on conflict do nothing returning 1)
    update webhook_deliveries set status = 'delivered', attempts = ${row.attempt}, next_attempt_at = null
    where owner_id = ${ownerId} and id = ${deliveryId} and exists (select 1 from attempt)`
}

export type LoggedDelivery = DeliveryRow & { log: (Omit<AttemptRow, 'at'> & { at: string })[] }

const logged = (db: Db) => db`
  webhook_deliveries.*, coalesce(
    (select json_agg(json_build_object('attempt', attempt, 'at', at, 'http_status', http_status, 'error', error,
                                       'ms', ms, 'response', response) order by attempt)
     from webhook_attempts where delivery_id = webhook_deliveries.id), '[]') as log`

const where = (db: Db, ownerId: string, webhookId: string, { event, status }: DeliveryFilters) => db`
  owner_id = ${ownerId} and webhook_id = ${webhookId}
  ${event ? db`and event = ${event}` : db``}
  ${status ? db`and status = ${status}` : db``}`

export async function selectDeliveries(
  db: Db,
  ownerId: string,
  webhookId: string,
  filters: DeliveryFilters,
): Promise<LoggedDelivery[]> {
  return db<LoggedDelivery[]>`
    select ${logged(db)} from webhook_deliveries where ${where(db, ownerId, webhookId, filters)}
    order by created_at desc, id desc limit ${filters.limit} offset ${filters.offset}`
}

/** Counts rows: the log of an endpoint covers only a few weeks. */
export async function countDeliveries(
  db: Db,
  ownerId: string,
  webhookId: string,
  filters: DeliveryFilters,
): Promise<number> {
  const [row] = await db<{ total: number }[]>`
    select count(*)::int as total from webhook_deliveries where ${where(db, ownerId, webhookId, filters)}`
  return row!.total
}

export async function selectLogged(
  db: Db,
  ownerId: string,
  webhookId: string,
  id: string,
): Promise<LoggedDelivery | undefined> {
  const [row] = await db<LoggedDelivery[]>`
    select ${logged(db)} from webhook_deliveries
    where owner_id = ${ownerId} and webhook_id = ${webhookId} and id = ${id}`
  return row
}

/** Across all owners; pending deliveries are kept. */
export async function deleteOldDeliveries(db: Db, before: Date): Promise<void> {
  await db`delete from webhook_deliveries where created_at < ${before} and status <> 'pending'`
}
