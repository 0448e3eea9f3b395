/** Runs one attempt to deliver a webhook, and handles its result. */

import { FetchError } from '../../media/shared/fetch.ts'
import { noTracing, type Span } from '../../media/shared/tracing.ts'
import { cleanText } from '../platform/db/text.ts'
import { type Deps, wallDate } from '../platform/deps.ts'
import { enqueue, type JobData } from '../platform/jobs/jobs.ts'
import { openWebhookSecrets } from './service.ts'
import { signatureHeaders } from './signature.ts'
import {
  type AttemptRow,
  type DeliveryRow,
  type DueRow,
  insertArrival,
  insertAttempt,
  selectDue,
  selectWebhook,
  updateDelivery,
  updateWebhook,
} from './sql.ts'

/** The log shows only the beginning of a response; a larger one is a page and not an acknowledgement. */
const MAX_ANSWER_BYTES = 1_048_576
const SHOWN_CHARS = 1000
const GONE = 410

export async function deliver(deps: Deps, { delivery_id, attempt }: JobData['webhook.deliver']): Promise<void> {
  const delivery = await selectDue(deps.sql, delivery_id)
  if (delivery?.status !== 'pending' || delivery.attempts !== attempt - 1) return // done by another run of this job
  const { endpoint: to } = delivery
  // A test is also sent to a disabled endpoint.
  if (!to || !(to.enabled || delivery.event === 'test')) {
    await updateDelivery(deps.sql, delivery.owner_id, delivery.id, {
      ...delivery,
      status: 'canceled',
      next_attempt_at: null,
    })
    return
  }
  const endpoint = endpointOf(deps, to.id)
  if (isFull(deps, endpoint)) return park(deps, delivery, attempt)
  const started = { at: deps.clock.now() }
  endpoint.underWay.add(started)
  try {
    await settle(deps, delivery, { attempt, ...(await tracedSend(deps, to, delivery, attempt)) })
  } finally {
    endpoint.underWay.delete(started)
    endpoint.slowAt = isSlow(deps, started) ? deps.clock.now() : Number.NEGATIVE_INFINITY
  }
}

// ---- A slow receiver must not delay the others of its owner ----

const MOST_OF_A_SLOW_ENDPOINT = 2
const SLOW_MS = 1000
const SLOW_FOR_MS = 60_000

interface Endpoint {
  /** Attempts of this process, oldest first. */
  underWay: Set<{ at: number }>
  /** Time of the last attempt if it was slow; otherwise minus infinity. */
  slowAt: number
}

const endpoints = new WeakMap<Deps, Map<string, Endpoint>>()

function endpointOf(deps: Deps, webhookId: string): Endpoint {
  const known = endpoints.get(deps) ?? new Map<string, Endpoint>()
  endpoints.set(deps, known)
  for (const [id, { underWay, slowAt }] of known) {
    if (underWay.size === 0 && deps.clock.now() - slowAt > SLOW_FOR_MS) known.delete(id)
  }
  const endpoint = known.get(webhookId) ?? { underWay: new Set(), slowAt: Number.NEGATIVE_INFINITY }
  known.set(webhookId, endpoint)
  return endpoint
}

const isSlow = (deps: Deps, { at }: { at: number }) => deps.clock.now() - at > SLOW_MS

function isFull(deps: Deps, { underWay, slowAt }: Endpoint): boolean {
  if (underWay.size < MOST_OF_A_SLOW_ENDPOINT) return false
  const [oldest] = underWay
  return isSlow(deps, oldest!) || deps.clock.now() - slowAt < SLOW_FOR_MS
}

/** Repeats the attempt after a random delay, so that parked attempts do not all return at once. */
async function park(deps: Deps, { id, owner_id }: DeliveryRow, attempt: number): Promise<void> {
  const startAfter = 1 + Math.floor((Math.random() * deps.config.webhook_timeout_ms) / 1000)
  const job = { delivery_id: id, attempt }
  await deps.sql.begin(tx => enqueue(deps, tx, 'webhook.deliver', job, { startAfter, group: { id: owner_id } }))
}

type Sent = Omit<AttemptRow, 'attempt'>
type Recipient = NonNullable<DueRow['endpoint']>

/** Creates a span with the semantic conventions for HTTP, without the path, which may contain a key. */
async function tracedSend(deps: Deps, to: Recipient, delivery: DeliveryRow, attempt: number): Promise<Sent> {
  const { hostname, port, protocol } = new URL(to.url)
  const span = (deps.tracing ?? noTracing).start('POST webhook', {
    kind: 'client',
    parent: delivery.traceparent,
    attributes: {
      'http.request.method': 'POST',
      'server.address': hostname,
      'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
      'parley.webhook.event': delivery.event,
      ...(attempt > 1 ? { 'http.request.resend_count': attempt - 1 } : {}),
    },
  })
  let error: string | undefined = 'internal_error'
  try {
    const sent = await send(deps, to, delivery, span)
    if (sent.http_status !== null) span.set({ 'http.response.status_code': sent.http_status })
    error = sent.error === 'http_error' ? String(sent.http_status) : (sent.error ?? undefined)
    return sent
  } finally {
    span.end({ error })
  }
}

async function send(deps: Deps, to: Recipient, delivery: DeliveryRow, { traceparent }: Span): Promise<Sent> {
  const at = wallDate(deps)
  const started = deps.clock.now()
  const outcome = (http_status: number | null, error: string | null, response: string | null = null) => {
    return { at, http_status, error, ms: Math.round(deps.clock.now() - started), response }
  }
  try {
    const response = await deps.fetch({
      url: to.url,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Parley-Webhooks/1',
        ...(traceparent === null ? {} : { traceparent }),
        ...signatureHeaders({ ...delivery, atMs: at.getTime() }, openWebhookSecrets(deps, to, at)),
      },
      body: delivery.body,
      timeoutMs: deps.config.webhook_timeout_ms,
      maxBytes: MAX_ANSWER_BYTES,
      maxRedirects: 0,
      signal: AbortSignal.timeout(deps.config.webhook_timeout_ms + 1000),
    })
    const ok = response.status >= 200 && response.status < 300
    return outcome(response.status, ok ? null : 'http_error', excerpt(response.body))
  } catch (error) {
    if (error instanceof FetchError) return outcome(null, error.code)
    throw error
  }
}

/** Cut at a whole character; binary data shows as replacement characters. */
function excerpt(body: Buffer): string | null {
  return cleanText(body.toString('utf8').slice(0, SHOWN_CHARS)) || null
}

/** Stores the attempt and its consequence together: the next attempt is queued, or the delivery ends. */
async function settle(deps: Deps, delivery: DeliveryRow, attempt: AttemptRow): Promise<void> {
  const { id, owner_id, webhook_id } = delivery
  if (attempt.error === null) return insertArrival(deps.sql, owner_id, id, attempt)
  const delays = deps.config.webhook_retry_seconds
  const delay = delivery.event === 'test' ? undefined : delays[attempt.attempt - 1]
  await deps.sql.begin(async tx => {
    if (!(await insertAttempt(tx, id, attempt))) return
    const done = (status: DeliveryRow['status'], next_attempt_at: Date | null = null) =>
      updateDelivery(tx, owner_id, id, { status, attempts: attempt.attempt, next_attempt_at })
    if (attempt.http_status === GONE) {
      const webhook = await selectWebhook(tx, owner_id, webhook_id, true)
      if (webhook) await updateWebhook(tx, owner_id, { ...webhook, enabled: false, disabled_reason: 'gone' })
      return done('failed')
    }
    if (delay === undefined) return done('failed')
    const next = new Date(deps.clock.wall() + delay * 1000)
    await done('pending', next)
    const job = { delivery_id: id, attempt: attempt.attempt + 1 }
    await enqueue(deps, tx, 'webhook.deliver', job, { startAfter: delay, group: { id: owner_id } })
  })
}
