/**
 * A typed client of the Parley API. This folder is self-contained: copy it into your own program and install
 * `openapi-fetch`. `api.ts` is generated from the OpenAPI document.
 */
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import createClient, { type Client } from 'openapi-fetch'
import type { components, operations, paths } from './api.ts'

export { must, ParleyError, type Problem } from './problem.ts'
export type Call = components['schemas']['Call']
export type Parley = Client<paths>

type EventName = 'on_call_completed' | 'on_call_failed' | 'on_lead_created' | 'on_test'
/** The body of a webhook; `event` gives its type. */
export type WebhookEvent = operations[EventName]['requestBody']['content']['application/json']

export interface ParleyOptions {
  /** Origin of the installation, without `/v1/public`. */
  baseUrl: string
  apiKey: string
  /** How often to retry after status 429 or 503; 3 by default. */
  retries?: number
  /** Milliseconds; 30,000 by default. A response with a longer `Retry-After` is returned at once. */
  maxWaitMs?: number
  fetch?: (request: Request) => Promise<Response>
}

/**
 * Sends requests by path: `parley.POST('/v1/public/calls', { body })` resolves with `data`, or with a problem document
 * as `error`. Use `must` to throw the error instead. Each POST without an Idempotency-Key gets one, so a retry never
 * runs the operation twice.
 */
export function createParley(options: ParleyOptions): Parley {
  const { baseUrl, apiKey, retries = 3, maxWaitMs = 30_000, fetch = globalThis.fetch } = options
  return createClient<paths>({
    baseUrl,
    headers: { authorization: `Bearer ${apiKey}` },
    async fetch(request) {
      if (request.method === 'POST' && !request.headers.has('idempotency-key')) {
        request.headers.set('idempotency-key', randomUUID())
      }
      for (let attempt = 0; ; attempt++) {
        const response = await fetch(request.clone())
        const waitMs = attempt < retries ? waitOf(response, attempt) : null
        if (waitMs === null || waitMs > maxWaitMs) return response
        await response.body?.cancel()
        await sleep(waitMs, request.signal)
      }
    },
  })
}

/** Milliseconds to wait before a retry; null when a retry makes no sense. */
function waitOf(response: Response, attempt: number): number | null {
  if (response.status !== 429 && response.status !== 503) return null
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : 500 * 2 ** attempt
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, ms)
    function done() {
      signal.removeEventListener('abort', stop)
      resolve()
    }
    function stop() {
      clearTimeout(timer)
      reject(signal.reason)
    }
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

// ---- Webhooks ----

const TOLERANCE_SECONDS = 300
const SECRET_PREFIX = 'whsec_'

type GivenHeaders = Headers | Record<string, string | string[] | undefined>

export class WebhookError extends Error {
  override readonly name = 'WebhookError'
}

/**
 * Returns the event if Parley signed this body within the last 5 minutes; throws a `WebhookError` otherwise. `body` is
 * the raw request body. `nowSeconds` is the current Unix time.
 */
export function verifyWebhook(
  secret: string,
  headers: GivenHeaders,
  body: string | Uint8Array,
  nowSeconds = Date.now() / 1000,
): WebhookEvent {
  const id = headerOf(headers, 'webhook-id')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookError('webhook-timestamp is not a time')
  if (Math.abs(nowSeconds - Number(timestamp)) > TOLERANCE_SECONDS)
    throw new WebhookError('webhook-timestamp is more than 5 minutes from the current time')
  const key = Buffer.from(secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret, 'base64')
  const wanted = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest()
  const matches = headerOf(headers, 'webhook-signature')
    .split(' ')
    .filter(signature => signature.startsWith('v1,'))
    .map(signature => Buffer.from(signature.slice(3), 'base64'))
    .some(given => given.length === wanted.length && timingSafeEqual(given, wanted))
  if (!matches) throw new WebhookError('webhook-signature does not match the secret')
  return JSON.parse(Buffer.from(body).toString()) as WebhookEvent
}

function headerOf(headers: GivenHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name]
  if (typeof value !== 'string') throw new WebhookError(`${name} is missing`)
  return value
}
