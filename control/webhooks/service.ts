import type { Db, Tx } from '../platform/db/connect.ts'
import { type Deps, wallDate } from '../platform/deps.ts'
import { limitReached, notFound } from '../platform/http/problem.ts'
import { time } from '../platform/http/shapes.ts'
import { uuidv7 } from '../platform/ids.ts'
import { withJobs } from '../platform/jobs/jobs.ts'
import { deliverTo } from './emit.ts'
import {
  type DeliveryFilters,
  type WebhookInput,
  WebhookInput as WebhookInputSchema,
  type WebhookPatch,
} from './schema.ts'
import { newSecret } from './signature.ts'
import {
  countDeliveries,
  countWebhooks,
  type DeliveryRow,
  deleteWebhook,
  insertWebhook,
  type LoggedDelivery,
  lockEndpoints,
  selectDeliveries,
  selectDelivery,
  selectLogged,
  selectWebhook,
  updateWebhook,
  type WebhookRow,
} from './sql.ts'

type Ports = Pick<Deps, 'sql' | 'clock' | 'sealer'>
type Save = (db: Db, answer: unknown) => Promise<void>

const MOST_ENDPOINTS = 20
const OVERLAP_MS = 24 * 3600 * 1000
const associated = (id: string) => `webhook:${id}`

export function presentWebhook(
  row: Pick<WebhookRow, 'id' | 'url' | 'events' | 'enabled' | 'disabled_reason' | 'created_at'>,
) {
  const { id, url, events, enabled, disabled_reason } = row
  return { id, url, events, enabled, disabled_reason, created_at: time(row.created_at)! }
}

/** `secret` is shown now and never again. */
export async function createWebhook(deps: Ports, ownerId: string, input: WebhookInput, save: Save = async () => {}) {
  const { url, events, enabled = true } = WebhookInputSchema.parse(input)
  const created_at = wallDate(deps)
  const id = uuidv7(created_at.getTime())
  const secret = newSecret()
  const row = { id, owner_id: ownerId, url, events, enabled, created_at }
  return deps.sql.begin(async tx => {
    await lockEndpoints(tx, ownerId)
    // Limited because every end of a call creates a delivery for each endpoint in its transaction.
    if ((await countWebhooks(tx, ownerId)) >= MOST_ENDPOINTS) throw limitReached(MOST_ENDPOINTS, 'webhook endpoints')
    await insertWebhook(tx, { ...row, secret_sealed: deps.sealer.seal(secret, associated(id)) })
    const answer = { ...presentWebhook({ ...row, disabled_reason: null }), secret }
    await save(tx, answer)
    return answer
  })
}

async function change(
  deps: Ports,
  ownerId: string,
  id: string,
  next: (row: WebhookRow) => WebhookRow,
  save: (db: Db, row: WebhookRow) => Promise<void>,
) {
  return deps.sql.begin(async tx => {
    const row = await selectWebhook(tx, ownerId, id, true)
    if (!row) throw notFound()
    const changed = next(row)
    await updateWebhook(tx, ownerId, changed)
    await save(tx, changed)
    return changed
  })
}

export async function patchWebhook(deps: Ports, ownerId: string, id: string, patch: WebhookPatch) {
  const row = await change(
    deps,
    ownerId,
    id,
    before => {
      const enabled = patch.enabled ?? before.enabled
      const disabled_reason = enabled ? null : before.disabled_reason
      return {
        ...before,
        url: patch.url ?? before.url,
        events: patch.events ?? before.events,
        enabled,
        disabled_reason,
      }
    },
    async () => {},
  )
  return presentWebhook(row)
}

/** The old secret stays valid for a day, so that the receiver can switch without a gap. */
export async function rotateSecret(deps: Ports, ownerId: string, id: string, save: Save) {
  const secret = newSecret()
  const row = await change(
    deps,
    ownerId,
    id,
    before => ({
      ...before,
      secret_sealed: deps.sealer.seal(secret, associated(id)),
      old_secret_sealed: before.secret_sealed,
      old_secret_until: new Date(deps.clock.wall() + OVERLAP_MS),
    }),
    (db, changed) => save(db, { ...presentWebhook(changed), secret }),
  )
  return { ...presentWebhook(row), secret }
}

export async function removeWebhook(deps: Ports, ownerId: string, id: string): Promise<void> {
  if (!(await deleteWebhook(deps.sql, ownerId, id))) throw notFound()
}

type Sealed = Pick<WebhookRow, 'id' | 'secret_sealed' | 'old_secret_sealed' | 'old_secret_until'>

/** Newest first. */
export function openWebhookSecrets(deps: Pick<Deps, 'sealer'>, row: Sealed, at: Date): [string, ...string[]] {
  const open = (sealed: string) => String(deps.sealer.open(sealed, associated(row.id)))
  const overlaps = row.old_secret_sealed && row.old_secret_until && row.old_secret_until > at
  return overlaps ? [open(row.secret_sealed), open(row.old_secret_sealed!)] : [open(row.secret_sealed)]
}

/** Sends the same body again as a new delivery. */
export async function replayDelivery(deps: Deps, ownerId: string, webhookId: string, deliveryId: string, save: Save) {
  const delivery = await selectDelivery(deps.sql, deliveryId)
  if (delivery?.owner_id !== ownerId || delivery.webhook_id !== webhookId) throw notFound()
  return withJobs(deps, tx => queue(deps, tx, { ...delivery, owner_id: ownerId }, save))
}

/** Sends a signed test event, without retries. */
export async function testWebhook(deps: Deps, ownerId: string, webhookId: string, save: Save) {
  return withJobs(deps, async tx => {
    if (!(await selectWebhook(tx, ownerId, webhookId))) throw notFound()
    const body = JSON.stringify({ event: 'test', created_at: wallDate(deps).toISOString(), data: {} })
    return queue(deps, tx, { owner_id: ownerId, webhook_id: webhookId, event: 'test', body }, save)
  })
}

async function queue(
  deps: Deps,
  tx: Tx,
  { owner_id, webhook_id, event, body }: Pick<DeliveryRow, 'owner_id' | 'webhook_id' | 'event' | 'body'>,
  save: Save,
) {
  const id = await deliverTo(deps, tx, owner_id, webhook_id, event, body)
  const answer = presentDelivery((await selectLogged(tx, owner_id, webhook_id, id))!)
  await save(tx, answer)
  return answer
}

export async function getDelivery(deps: Deps, ownerId: string, webhookId: string, id: string) {
  const row = await selectLogged(deps.sql, ownerId, webhookId, id)
  if (!row) throw notFound()
  return presentDelivery(row)
}

export async function listDeliveries(deps: Deps, ownerId: string, webhookId: string, filters: DeliveryFilters) {
  if (!(await selectWebhook(deps.sql, ownerId, webhookId))) throw notFound()
  const [rows, total] = await Promise.all([
    selectDeliveries(deps.sql, ownerId, webhookId, filters),
    countDeliveries(deps.sql, ownerId, webhookId, filters),
  ])
  return { items: rows.map(presentDelivery), total, limit: filters.limit, offset: filters.offset }
}

function presentDelivery({ id, event, status, created_at, next_attempt_at, log }: LoggedDelivery) {
  return {
    id,
    event,
    status,
    created_at: created_at.toISOString(),
    next_attempt_at: time(next_attempt_at),
    attempts: log.map(entry => ({ ...entry, at: new Date(entry.at).toISOString() })),
  }
}
