/**
 * A typed client of the Parley API. This folder stands alone: copy it, with `openapi-fetch` installed, into a program of
 * your own. `api.ts` is generated from the OpenAPI document.
 */
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import createClient, { type Client } from 'openapi-fetch'
import type { components, operations, paths } from './api.ts'

export { must, ParleyError, type Problem } from './problem.ts'
export type Call = components['schemas']['Call']
export type Parley = Client<paths>

type EventName = 'on_call_completed' | 'on_call_failed' | 'on_lead_created' | 'on_test'
/** What a webhook delivers; `event` tells which it is. */
export type WebhookEvent = operations[EventName]['requestBody']['content']['application/json']

export interface ParleyOptions {
  /** Without `/v1/public`. */
  baseUrl: string
  apiKey: string
  /** How often an answer of 429 or 503 is tried again. */
  retries?: number
  /** An answer that asks for a longer wait than this is given back at once. */
  maxWaitMs?: number
  fetch?: (request: Request) => Promise<Response>
}

/**
 * Requests by path: `parley.POST('/v1/public/calls', { body })` resolves with `data`, or with a problem document as
 * `error`; see `must` for those who would rather have it thrown. Each POST gets an Idempotency-Key unless it has one, so
 * trying again never does it twice.
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

/** Milliseconds; null: another try makes no sense. */
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

// ---- webhooks ----

const TOLERANCE_SECONDS = 300
const SECRET_PREFIX = 'whsec_'

type GivenHeaders = Headers | Record<string, string | string[] | undefined>

export class WebhookError extends Error {
  override readonly name = 'WebhookError'
}

/**
 * The event, if Parley signed this very body not long ago; throws a `WebhookError` otherwise. `body` is the raw text, as it
 * came. `nowSeconds` is the time to judge by.
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
  if (Math.abs(nowSeconds - Number(timestamp)) > TOLERANCE_SECONDS) throw new WebhookError('the delivery is too old')
  const key = Buffer.from(secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret, 'base64')
  const wanted = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest()
  const matches = headerOf(headers, 'webhook-signature')
    .split(' ')
    .filter(signature => signature.startsWith('v1,'))
    .map(signature => Buffer.from(signature.slice(3), 'base64'))
    .some(given => given.length === wanted.length && timingSafeEqual(given, wanted))
  if (!matches) throw new WebhookError('the signature is not of this secret')
  return JSON.parse(Buffer.from(body).toString()) as WebhookEvent
}

function headerOf(headers: GivenHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name]
  if (typeof value !== 'string') throw new WebhookError(`${name} is missing`)
  return value
}
