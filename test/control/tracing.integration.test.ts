/** One trace through control: from the request that places a call to the webhook that reports its end. */
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { buildApp } from '../../control/app.ts'
import { askHandlers, handleEvent } from '../../control/background/engine.ts'
import type { Deps } from '../../control/deps.ts'
import { createCampaignDialer } from '../../control/outreach/campaigns/dialer.ts'
import { createDialer } from '../../control/telephony/calls/dialer.ts'
import { deliver } from '../../control/webhooks/deliver.ts'
import type { CallRecord, PlaceCommand } from '../../media/contract/messages.ts'
import { type KeptTracing, keptTracing } from '../fakes/tracing.ts'
import { createControl, createTenant, nextPhone, request, type Tenant, type TestControl } from '../support/control.ts'
import { createReceiver, type Receiver } from '../support/receiver.ts'
import { record } from '../support/records.ts'
import { nextCallee } from './campaigns/support.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const CLIENT = `00-${TRACE}-b7ad6b7169203331-01`

let control: TestControl
let owner: Tenant
let receiver: Receiver
let tracing: KeptTracing
/** As control is where traces are on: what it offers to engines is kept. */
let deps: Deps
let app: FastifyInstance
const placed: PlaceCommand[] = []

beforeAll(async () => {
  control = await createControl()
  owner = await createTenant(control, { money: '1000' })
  receiver = await createReceiver()
  tracing = keptTracing()
  deps = {
    ...control.deps,
    tracing,
    bus: { ...control.deps.bus, place: async (command: PlaceCommand) => void placed.push(command) },
  }
  app = await buildApp(deps)
  await owner.call('POST', '/webhooks', { url: `${receiver.url}/hook?key=of-the-customer`, events: ['call.completed'] })
})
afterAll(async () => {
  await app?.close()
  await control?.close()
  await receiver?.close()
})
beforeEach(() => {
  tracing.spans.length = 0
  placed.length = 0
})

const post = (headers: Record<string, string> = {}, on = app) =>
  request(on, {
    method: 'POST',
    url: '/v1/public/calls',
    headers: { 'x-api-key': owner.key, ...headers },
    payload: { project_id: owner.projectId, phone: nextPhone() },
  })

async function offer(id: string): Promise<PlaceCommand> {
  const dialer = createDialer(deps)
  await dialer.offer(id)
  await dialer.stop()
  return placed.find(({ plan }) => plan.call_id === id)!
}

let seq = 0
const end = (call_id: string, part: { traceparent?: string; record?: Partial<CallRecord> } = {}, by = deps) =>
  handleEvent(by, {
    v: 1,
    type: 'call.ended',
    call_id,
    owner_id: owner.ownerId,
    seq: ++seq,
    at: Date.now(),
    record: record(part.record),
    ...(part.traceparent ? { traceparent: part.traceparent } : {}),
  })

/** Sends the deliveries about a call, as the job does. */
async function sendWebhooks(callId: string, attempt = 1, by = deps): Promise<void> {
  const rows = await deps.sql<{ id: string }[]>`
    select id from webhook_deliveries where owner_id = ${owner.ownerId} and body like ${`%${callId}%`}`
  for (const { id } of rows) await deliver(by, { delivery_id: id, attempt })
}

describe('an outbound call', () => {
  test('is one trace from client to webhook', async () => {
    const { status, body } = await post({ traceparent: CLIENT })
    expect(status).toBe(201)
    const asked = tracing.one('POST /v1/public/calls')
    expect(asked).toMatchObject({ traceId: TRACE, parentId: 'b7ad6b7169203331', kind: 'server', error: null })
    expect(asked.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/v1/public/calls',
      'url.path': '/v1/public/calls',
      'url.scheme': 'http',
      'server.address': 'control.test',
      'server.port': 80,
      'http.response.status_code': 201,
    })

    const { plan } = await offer(body.id)
    const offered = tracing.one('call.place')
    expect(offered).toMatchObject({ traceId: TRACE, parentId: asked.spanId, kind: 'producer' })
    expect(plan.traceparent).toBe(offered.traceparent)

    // The engine's part, as the engine reports it.
    const engine = tracing.start('call', { parent: plan.traceparent })
    await end(body.id, { traceparent: engine.traceparent! })
    const finished = tracing.one('call.finish')
    expect(finished).toMatchObject({ traceId: TRACE, parentId: tracing.one('call').spanId, error: null })

    await sendWebhooks(body.id)
    const sent = tracing.one('POST webhook')
    expect(sent).toMatchObject({ traceId: TRACE, parentId: finished.spanId, kind: 'client', error: null })
    expect(sent.attributes).toEqual({
      'http.request.method': 'POST',
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(receiver.url).port),
      'parley.webhook.event': 'call.completed',
      'http.response.status_code': 204,
    })
    expect(receiver.received.at(-1)!.headers['traceparent']).toBe(sent.traceparent)
    expect(JSON.stringify(tracing.spans)).not.toMatch(/of-the-customer|\+\d{7}/)
  })

  test('starts a trace when the client sends none or an invalid one', async () => {
    for (const headers of [{}, { traceparent: 'nonsense' }, { traceparent: `${CLIENT}-more` }]) {
      tracing.spans.length = 0
      const { body } = await post(headers as Record<string, string>)
      const asked = tracing.one('POST /v1/public/calls')
      expect(asked).toMatchObject({ parentId: null })
      expect((await offer(body.id)).plan.traceparent).toContain(asked.traceId)
    }
  })

  test('keeps its trace through repeated jobs and engines without spans', async () => {
    const { body } = await post({ traceparent: CLIENT })
    await offer(body.id)
    await offer(body.id)
    const asked = tracing.one('POST /v1/public/calls')
    expect(tracing.spans.filter(({ name }) => name === 'call.place').map(({ parentId }) => parentId)).toEqual([
      asked.spanId,
      asked.spanId,
    ])
    await end(body.id)
    expect(tracing.one('call.finish')).toMatchObject({ traceId: TRACE, parentId: asked.spanId })
    // Told twice it is finished once.
    await end(body.id)
    expect(tracing.one('call.finish')).toBeDefined()
  })

  test('marks redeliveries and has a span for each attempt', async () => {
    const { body } = await post({ traceparent: CLIENT })
    await end(body.id)
    receiver.answer((_, response) => void response.writeHead(500).end())
    await sendWebhooks(body.id, 1)
    receiver.answer((_, response) => void response.writeHead(204).end())
    await sendWebhooks(body.id, 2)
    const [first, second] = tracing.spans.filter(({ name }) => name === 'POST webhook')
    expect(first).toMatchObject({ traceId: TRACE, error: '500', attributes: { 'http.response.status_code': 500 } })
    expect(second).toMatchObject({ traceId: TRACE, error: null, attributes: { 'http.request.resend_count': 1 } })
    expect(receiver.received.slice(-2).map(({ headers }) => headers['traceparent'])).toEqual([
      first!.traceparent,
      second!.traceparent,
    ])
  })

  test('is a child of the MCP request', async () => {
    const args = { project_id: owner.projectId, phone: nextPhone() }
    const { status } = await request(app, {
      method: 'POST',
      url: '/mcp',
      headers: {
        'x-api-key': owner.key,
        traceparent: CLIENT,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      },
      payload: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'place_call', arguments: args } },
    })
    expect(status).toBe(200)
    const [call] = await deps.sql<{ traceparent: string }[]>`
      select traceparent from calls where owner_id = ${owner.ownerId} and to_phone = ${args.phone}`
    expect(call!.traceparent).toBe(tracing.one('POST /mcp').traceparent)
    expect(tracing.one('POST /mcp')).toMatchObject({ traceId: TRACE })
  })
})

test('has one stored trace per campaign attempt', async () => {
  const phones = [nextCallee(), nextCallee()]
  const campaign = await owner.call('POST', '/campaigns', {
    name: 'Spring',
    project_id: owner.projectId,
    task: 'Say hello.',
    params: { timezone: 'UTC', window_start: '00:00', window_end: '00:00', quiet_hours: null },
  })
  const entries = phones.map(phone => ({ phone }))
  await owner.call('POST', `/campaigns/${campaign.body.id}/contacts?mode=append`, entries)
  // Calls as a claim makes them, of which nothing but that they are a campaign's matters here.
  const ids: string[] = []
  for (const phone of phones) {
    const { body } = await post()
    await deps.sql`
      update calls set campaign_id = ${campaign.body.id}, to_phone = ${phone}, traceparent = null where id = ${body.id}`
    ids.push(body.id)
  }
  tracing.spans.length = 0
  const dialer = createCampaignDialer(deps)
  await dialer.offer(ids)
  await dialer.offer(ids)
  await dialer.stop()
  const offers = tracing.spans.filter(({ name }) => name === 'call.place')
  expect(offers).toHaveLength(4)
  expect(new Set(offers.map(({ traceId }) => traceId)).size).toBe(2)
  expect(offers.filter(({ parentId }) => parentId === null)).toHaveLength(2)
  for (const { plan } of placed) {
    const mine = offers.filter(({ attributes }) => attributes['parley.call.id'] === plan.call_id)
    expect(mine.map(({ traceparent }) => traceparent)).toContain(plan.traceparent)
  }
})

describe('an inbound call', () => {
  const admit = (called: string, traceparent?: string) =>
    askHandlers(deps)['call.admit']({
      engine: 'e',
      boot: 'b',
      trunk_id: owner.trunkId,
      called,
      caller: nextPhone(),
      source: '127.0.0.1',
      ...(traceparent ? { traceparent } : {}),
    })

  test("continues the engine's trace", async () => {
    const engine = tracing.start('call', { kind: 'server' })
    const answer = await admit(owner.number, engine.traceparent!)
    if (!answer.admitted) throw new Error(answer.refusal)
    const { spanId, traceId } = tracing.one('call')
    expect(tracing.one('call.admit')).toMatchObject({
      traceId,
      parentId: spanId,
      error: null,
      attributes: { 'parley.result': 'admitted' },
    })
    // Its engine dies without another word.
    await end(answer.plan.call_id)
    expect(tracing.one('call.finish')).toMatchObject({ traceId, parentId: spanId })
  })

  test('has the rejection reason; works with engines without tracing', async () => {
    expect(await admit('+15550000000')).toMatchObject({ admitted: false })
    expect(tracing.one('call.admit')).toMatchObject({
      parentId: null,
      error: null,
      attributes: { 'parley.result': 'unknown_number' },
    })
    expect(await admit(owner.number)).toMatchObject({ admitted: true })
  })
})

test('marks internal errors; creates no spans for probes', async () => {
  const phone = nextPhone().slice(1)
  for (const url of ['/healthz', '/readyz', '/nowhere', `/v1/public/nowhere/${phone}`]) {
    await request(app, { method: 'GET', url })
  }
  expect(tracing.spans).toEqual([])
  await request(app, {
    method: 'DELETE',
    url: `/v1/public/do-not-call/%2B${phone}`,
    headers: { 'x-api-key': owner.key },
  })
  expect(tracing.spans.map(({ name }) => name)).toEqual(['DELETE /v1/public/do-not-call/:phone'])
  expect(tracing.spans[0]).toMatchObject({ error: null })
  expect(JSON.stringify(tracing.spans)).not.toContain(phone)
})

test('stores and sends nothing without tracing', async () => {
  const { body } = await post({ traceparent: CLIENT }, control.app)
  const [call] = await deps.sql<{ traceparent: string | null }[]>`select traceparent from calls where id = ${body.id}`
  expect(call!.traceparent).toBeNull()
  await end(body.id, {}, control.deps)
  const before = receiver.received.length
  await sendWebhooks(body.id, 1, control.deps)
  expect(receiver.received).toHaveLength(before + 1)
  expect(receiver.received.at(-1)!.headers).not.toHaveProperty('traceparent')
})
