/** The client that customers copy, against a listening server. */
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from 'vitest'
import {
  type Call,
  createParley,
  must,
  ParleyError,
  verifyWebhook,
  type WebhookEvent,
} from '../../control/api/client/client.ts'
import { newSecret, signatureHeaders } from '../../control/webhooks/signature.ts'
import { createControl, createTenant, nextPhone, type Tenant, type TestControl } from '../support/control.ts'

let control: TestControl
let tenant: Tenant
let baseUrl: string
/** Requests of the client, in order. */
let requests: Request[] = []
/** Scripted responses that are returned before those of the server. */
let before: Response[] = []

beforeAll(async () => {
  control = await createControl()
  baseUrl = await control.app.listen({ port: 0, host: '127.0.0.1' })
  tenant = await createTenant(control, { money: '1000' })
})
afterAll(() => control?.close())

function client(options: { apiKey?: string; retries?: number; maxWaitMs?: number } = {}) {
  requests = []
  before = []
  return createParley({
    baseUrl,
    apiKey: tenant.key,
    ...options,
    fetch: async request => {
      requests.push(request.clone())
      return before.shift() ?? fetch(request)
    },
  })
}
const keys = () => requests.map(request => request.headers.get('idempotency-key'))
const refusal = (status: number, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify({ code: 'rate_limited' }), {
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
  })

test('places a call, lists and reads it', async () => {
  const parley = client()
  const phone = nextPhone()
  const call = await must(parley.POST('/v1/public/calls', { body: { project_id: tenant.projectId, phone } }))
  expectTypeOf(call).toEqualTypeOf<Call>()
  expect(call).toMatchObject({ status: 'queued', to: phone })
  const { data } = await parley.GET('/v1/public/calls', {
    params: { query: { project_id: tenant.projectId, status: 'queued', limit: 200 } },
  })
  expect(data?.items).toContainEqual(call)
  const path = { call_id: call.id }
  const detail = await must(parley.GET('/v1/public/calls/{call_id}', { params: { path } }))
  expectTypeOf<(typeof detail.transcript)[number]['heard_text']>().toEqualTypeOf<string>()
  expect(detail).toMatchObject({ ...call, transcript: [], summary: null })
  const ended = await must(parley.POST('/v1/public/calls/{call_id}/hangup', { params: { path } }))
  expect(ended).toMatchObject({ id: call.id, status: 'canceled' })
})

test('gives problems back, or throws them', async () => {
  const parley = client()
  const body = { project_id: tenant.projectId, phone: '+1000000' }
  const { error, data } = await parley.POST('/v1/public/calls', { body })
  expect(data).toBeUndefined()
  expectTypeOf(error!.code).toEqualTypeOf<ParleyError['code']>()
  expect(error).toMatchObject({ code: 'validation_failed', errors: [{ pointer: '/phone' }] })
  const thrown = await must(parley.POST('/v1/public/calls', { body })).catch((reason: unknown) => reason)
  expect(thrown).toBeInstanceOf(ParleyError)
  expect(thrown).toMatchObject({ code: 'validation_failed', problem: { status: 400 } })
  const stranger = client({ apiKey: 'svc_nobody' })
  await expect(must(stranger.GET('/v1/public/balance'))).rejects.toMatchObject({ code: 'unauthorized' })
  before = [new Response('<h1>Bad gateway</h1>', { status: 502, headers: { 'content-type': 'text/html' } })]
  await expect(must(stranger.GET('/v1/public/balance'))).rejects.toThrow('HTTP 502')
})

describe('an Idempotency-Key', () => {
  const add = (phone: string, key?: string) => ({
    body: { phone },
    ...(key === undefined ? {} : { params: { header: { 'idempotency-key': key } } }),
  })

  test('is made for each POST, another each time, and for nothing else', async () => {
    const parley = client()
    await must(parley.POST('/v1/public/do-not-call', add(nextPhone())))
    await must(parley.POST('/v1/public/do-not-call', add(nextPhone())))
    await must(parley.GET('/v1/public/balance'))
    const [first, second, third] = keys()
    expect(first).toMatch(/^[0-9a-f-]{36}$/)
    expect(second).toMatch(/^[0-9a-f-]{36}$/)
    expect(second).not.toBe(first)
    expect(third).toBeNull()
  })

  test('of one’s own is sent, and the answer repeated', async () => {
    const parley = client()
    const phone = nextPhone()
    const one = await parley.POST('/v1/public/do-not-call', add(phone, 'mine'))
    const two = await parley.POST('/v1/public/do-not-call', add(phone, 'mine'))
    expect(keys()).toEqual(['mine', 'mine'])
    expect(two.data).toEqual(one.data)
    expect([one, two].map(({ response }) => response.headers.get('idempotent-replayed'))).toEqual([null, 'true'])
  })

  test('is the same in every try, so a call is placed once', async () => {
    const parley = client()
    // The first response is lost: the server ran the operation, and the client gets status 503.
    const body = { project_id: tenant.projectId, phone: nextPhone() }
    let lost = true
    const flaky = createParley({
      baseUrl,
      apiKey: tenant.key,
      fetch: async request => {
        requests.push(request.clone())
        const answer = await fetch(request)
        if (!lost) return answer
        lost = false
        return refusal(503, { 'retry-after': '0' })
      },
    })
    const call = await must(flaky.POST('/v1/public/calls', { body }))
    expect(new Set(keys()).size).toBe(1)
    expect(requests).toHaveLength(2)
    const { items } = await must(parley.GET('/v1/public/calls', { params: { query: { limit: 200 } } }))
    expect(items.filter(one => one.to === body.phone).map(one => one.id)).toEqual([call.id])
  })
})

describe('an answer of 429 or 503', () => {
  test('is tried again after as long as it says', async () => {
    const parley = client()
    before = [refusal(429, { 'retry-after': '1' }), refusal(503, { 'retry-after': '0' })]
    const startedAt = performance.now()
    await must(parley.GET('/v1/public/balance'))
    expect(requests).toHaveLength(3)
    expect(performance.now() - startedAt).toBeGreaterThan(990)
  })

  test('is given back after so many tries', async () => {
    const parley = client({ retries: 2 })
    before = Array.from({ length: 5 }, () => refusal(429, { 'retry-after': '0' }))
    const { response, error } = await parley.GET('/v1/public/balance')
    expect([response.status, error?.code, requests.length]).toEqual([429, 'rate_limited', 3])
  })

  test('is given back at once when the wait would be too long, or when it is another answer', async () => {
    const parley = client({ maxWaitMs: 5000 })
    before = [refusal(503, { 'retry-after': '6' })]
    expect((await parley.GET('/v1/public/balance')).response.status).toBe(503)
    before = [refusal(500)]
    expect((await parley.GET('/v1/public/balance')).response.status).toBe(500)
    expect(requests).toHaveLength(2)
  })

  test('is waited for no longer than the caller does', async () => {
    const parley = client()
    before = [refusal(429, { 'retry-after': '20' })]
    const signal = AbortSignal.timeout(50)
    await expect(parley.GET('/v1/public/balance', { signal })).rejects.toMatchObject({ name: 'TimeoutError' })
    expect(requests).toHaveLength(1)
  })
})

describe('a webhook', () => {
  const secret = newSecret()
  const body = JSON.stringify({ event: 'test', created_at: '2026-03-02T09:15:42.318Z', data: { text: 'Привет' } })
  const signed = (secrets: [string, ...string[]] = [secret], atMs = Date.now()) =>
    signatureHeaders({ id: 'd1', body, atMs }, secrets)

  test('that we signed is taken, as text and as bytes, from either kind of headers', () => {
    const event: WebhookEvent = verifyWebhook(secret, signed(), body)
    expect(event).toEqual(JSON.parse(body))
    expect(verifyWebhook(secret, new Headers(signed()), Buffer.from(body))).toEqual(event)
    if (event.event === 'call.completed') expectTypeOf(event.data.summary).toEqualTypeOf<string>()
    if (event.event === 'call.failed') expectTypeOf(event.data.sip_code).toEqualTypeOf<number | null>()
  })

  test('is taken by the old secret and by the new one while they change over', () => {
    const next = newSecret()
    for (const one of [secret, next]) expect(verifyWebhook(one, signed([next, secret]), body)).toBeDefined()
  })

  test('that somebody else’s library signed is taken', () => {
    const at = new Date()
    const signature = new StandardWebhook(secret).sign('d2', at, body)
    const headers = {
      'webhook-id': 'd2',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': `v1a,AAAA ${signature}`,
    }
    expect(verifyWebhook(secret, headers, body)).toBeDefined()
  })

  test.each<[string, () => unknown]>([
    ['another body', () => verifyWebhook(secret, signed(), `${body} `)],
    ['another secret', () => verifyWebhook(newSecret(), signed(), body)],
    ['another id', () => verifyWebhook(secret, { ...signed(), 'webhook-id': 'd3' }, body)],
    [
      'another time',
      () =>
        verifyWebhook(secret, { ...signed(), 'webhook-timestamp': String(Math.floor(Date.now() / 1000) - 5) }, body),
    ],
    ['an old delivery', () => verifyWebhook(secret, signed([secret], Date.now() - 301_000), body)],
    ['one from the future', () => verifyWebhook(secret, signed([secret], Date.now() + 301_000), body)],
    ['a time that is none', () => verifyWebhook(secret, { ...signed(), 'webhook-timestamp': 'now' }, body)],
    ['a signature that is none', () => verifyWebhook(secret, { ...signed(), 'webhook-signature': 'v1,' }, body)],
    ['no signature', () => verifyWebhook(secret, { ...signed(), 'webhook-signature': undefined }, body)],
    [
      'two signatures in two headers',
      () => verifyWebhook(secret, { ...signed(), 'webhook-signature': ['a', 'b'] }, body),
    ],
  ])('%s is refused', (_, verify) => {
    expect(verify).toThrow(expect.objectContaining({ name: 'WebhookError' }))
  })
})
