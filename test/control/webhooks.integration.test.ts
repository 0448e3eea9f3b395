import { createHmac } from 'node:crypto'
import { verify as verifyLikeGitHub } from '@octokit/webhooks-methods'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { uuidv7 } from '../../control/platform/ids.ts'
import { startWorkers, type Workers } from '../../control/platform/jobs/jobs.ts'
import { finish } from '../../control/telephony/calls/finish.ts'
import { deliver } from '../../control/webhooks/deliver.ts'
import { insertDelivery } from '../../control/webhooks/sql.ts'
import { createSafeFetch } from '../../infra/adapters/safe-fetch.ts'
import { FetchError, type FetchRequest } from '../../media/shared/fetch.ts'
import { createControl, createTenant, nextPhone, type Tenant, type TestControl } from '../support/control.ts'
import { createReceiver, plainFetch, type Received, type Receiver } from '../support/receiver.ts'
import { record, unanswered } from '../support/records.ts'
import { until } from '../support/world.ts'

let control: TestControl
let workers: Workers
let requests: FetchRequest[] = []
let receiver: Receiver

const fetchNoted = (request: FetchRequest) => {
  requests.push(request)
  return plainFetch(request)
}

beforeAll(async () => {
  control = await createControl({
    fetch: fetchNoted,
    config: { webhook_retry_seconds: [0, 0, 0, 0, 0], webhook_timeout_ms: 300 },
  })
  workers = await startWorkers(control.deps, {
    'call.place': async () => {},
    'campaign.place': async () => {},
    'trunks.publish': async () => {},
    'softphone.publish': async () => {},
    'knowledge.index': async () => {},
    'knowledge.forget': async () => {},
    'leads.search': async () => {},
    'account.erase': async () => {},
    'webhook.deliver': data => deliver(control.deps, data),
  })
})
afterAll(async () => {
  await workers?.stop()
  await control?.close()
})
beforeEach(async () => {
  requests = []
  receiver = await createReceiver()
})
afterEach(() => receiver.close())

async function subscribe(events: string[] = ['call.completed', 'call.failed'], owner?: Tenant) {
  const tenant = owner ?? (await createTenant(control))
  const { body } = await tenant.call('POST', '/webhooks', { url: `${receiver.url}/hook`, events })
  return { tenant, id: body.id as string, secret: body.secret as string }
}
async function ended(owner: Tenant, how = record()): Promise<string> {
  const { body } = await owner.call('POST', '/calls', { project_id: owner.projectId, phone: nextPhone() })
  await finish(control.deps, body.id, how)
  return body.id
}
const log = async (owner: Tenant, id: string) => (await owner.call('GET', `/webhooks/${id}/deliveries`)).body
const settled = (owner: Tenant, id: string) =>
  until(async () => {
    const { items } = await log(owner, id)
    return items.length > 0 && items.every((one: { status: string }) => one.status !== 'pending') && items
  }, 'the delivery to settle')

describe('payloads', () => {
  test('call.completed, to the letter, signed in both ways', async () => {
    const { tenant, secret, id } = await subscribe()
    const end = record({ summary: 'Fine', extracted: { a: 1 }, goal_reached: true })
    const callId = await ended(tenant, end)
    const [got] = await receiver.arrived(1)
    expect(JSON.parse(got!.body)).toEqual({
      event: 'call.completed',
      call_id: callId,
      created_at: new Date(end.ended_at).toISOString(),
      goal_reached: true,
      data: { summary: 'Fine', extracted: { a: 1 } },
    })
    expect(got!.headers['content-type']).toBe('application/json')
    expect(got!.headers['x-svc-signature']).toBe(
      `sha256=${createHmac('sha256', secret).update(got!.body).digest('hex')}`,
    )
    expect(got!.headers['webhook-signature']).toBe(standard(got!, secret))
    expect(Math.abs(Number(got!.headers['webhook-timestamp']) - Date.now() / 1000)).toBeLessThan(5)
    const [delivery] = await settled(tenant, id)
    expect(delivery).toMatchObject({ id: got!.headers['webhook-id'], event: 'call.completed', status: 'delivered' })
    expect(delivery.attempts).toMatchObject([{ attempt: 1, http_status: 204, error: null }])
  })

  test('has no null in required fields', async () => {
    const { tenant } = await subscribe()
    await ended(tenant)
    const [got] = await receiver.arrived(1)
    expect(JSON.parse(got!.body)).toMatchObject({ goal_reached: false, data: { summary: '', extracted: {} } })
  })

  test('call.failed for a call never answered, and for one that broke', async () => {
    const { tenant } = await subscribe()
    await ended(tenant, unanswered({ status: 'busy', ended_reason: 'busy', sip_code: 486 }))
    await ended(tenant, record({ status: 'failed', ended_reason: 'media_timeout' }))
    const bodies = (await receiver.arrived(2)).map(got => JSON.parse(got.body))
    expect(bodies.map(body => [body.event, body.data])).toEqual(
      expect.arrayContaining([
        ['call.failed', { status: 'busy', ended_reason: 'busy', sip_code: 486 }],
        ['call.failed', { status: 'failed', ended_reason: 'media_timeout', sip_code: 200 }],
      ]),
    )
  })

  test('sends only subscribed events, to every enabled endpoint', async () => {
    const failed = await subscribe(['call.failed'])
    const both = await subscribe(undefined, failed.tenant)
    const off = await subscribe(undefined, failed.tenant)
    await off.tenant.call('PATCH', `/webhooks/${off.id}`, { enabled: false })
    await ended(failed.tenant)
    await settled(both.tenant, both.id)
    expect((await log(failed.tenant, failed.id)).total).toBe(0)
    expect((await log(off.tenant, off.id)).total).toBe(0)
  })

  test('follows no redirects, and limits size and time', async () => {
    const { tenant, id } = await subscribe()
    receiver.answer((_, response, index) =>
      response.writeHead(index === 0 ? 302 : 200, { location: `${receiver.url}/elsewhere` }).end(),
    )
    await ended(tenant)
    const [delivery] = await settled(tenant, id)
    expect(delivery.attempts).toMatchObject([
      { http_status: 302, error: 'http_error' },
      { http_status: 200, error: null },
    ])
    expect(receiver.received.map(got => got.path)).toEqual(['/hook', '/hook'])
    expect(requests[0]).toMatchObject({ maxRedirects: 0, timeoutMs: 300, maxBytes: 1_048_576 })
  })
})

function standard(got: Received, ...secrets: string[]): string {
  const text = `${got.headers['webhook-id']}.${got.headers['webhook-timestamp']}.${got.body}`
  const sign = (secret: string) =>
    createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
      .update(text)
      .digest('base64')
  return secrets.map(secret => `v1,${sign(secret)}`).join(' ')
}

describe('failed deliveries', () => {
  test('is sent six times with one id and body, then fails', async () => {
    const { tenant, id } = await subscribe()
    receiver.answer((_, response) => response.writeHead(500).end('no'))
    await ended(tenant)
    const [delivery] = await settled(tenant, id)
    expect(delivery).toMatchObject({ status: 'failed', next_attempt_at: null })
    expect(delivery.attempts.map((one: { attempt: number }) => one.attempt)).toEqual([1, 2, 3, 4, 5, 6])
    expect(receiver.received).toHaveLength(6)
    expect(new Set(receiver.received.map(got => got.headers['webhook-id'])).size).toBe(1)
    expect(new Set(receiver.received.map(got => got.body)).size).toBe(1)
  })

  test('is retried at the published delays', async () => {
    const { tenant, id } = await subscribe()
    let sent = 0
    const deps = {
      ...control.deps,
      config: { ...control.deps.config, webhook_retry_seconds: [60, 300, 1800, 7200, 21_600] },
      fetch: () => {
        sent++
        return Promise.reject(new FetchError('network', 'down'))
      },
    }
    await tenant.call('PATCH', `/webhooks/${id}`, { enabled: false }) // the workers of this file leave it alone
    const { insertDelivery } = await import('../../control/webhooks/sql.ts')
    const delivery = { id: crypto.randomUUID(), owner_id: tenant.ownerId, webhook_id: id, body: '{}' }
    await insertDelivery(deps.sql, { ...delivery, event: 'call.failed', created_at: new Date() })
    await tenant.call('PATCH', `/webhooks/${id}`, { enabled: true })
    const delays: (number | null)[] = []
    for (let attempt = 1; attempt <= 6; attempt++) {
      await deliver(deps, { delivery_id: delivery.id, attempt })
      await deliver(deps, { delivery_id: delivery.id, attempt }) // the same job twice counts once
      const next = (await log(tenant, id)).items[0].next_attempt_at
      delays.push(next === null ? null : Math.round((Date.parse(next) - deps.clock.wall()) / 1000))
    }
    expect(sent).toBe(6)
    expect(delays).toEqual([60, 300, 1800, 7200, 21_600, null])
    const jobs = await deps.sql.unsafe<{ wait: number }[]>(
      `select extract(epoch from start_after - created_on)::int as wait from parley_jobs.job
       where data->>'delivery_id' = '${delivery.id}' order by created_on`,
    )
    expect(jobs.map(job => job.wait)).toEqual([60, 300, 1800, 7200, 21_600])
    expect((await log(tenant, id)).items[0].attempts).toHaveLength(6)
  })

  test('times out without delaying other endpoints', async () => {
    const slow = await subscribe()
    let hanging = 0
    let most = 0
    receiver.answer((_, response) => {
      most = Math.max(most, ++hanging)
      response.on('close', () => hanging--)
    })
    for (let i = 0; i < 12; i++) await ended(slow.tenant)
    await receiver.arrived(3)
    const quick = await createReceiver()
    const other = await createTenant(control)
    await other.call('POST', '/webhooks', { url: quick.url, events: ['call.completed'] })
    const began = performance.now()
    await ended(other)
    await quick.arrived(1)
    expect(performance.now() - began).toBeLessThan(3000)
    const { items } = await until(async () => {
      const found = await log(slow.tenant, slow.id)
      return found.items.at(-1).attempts.length > 0 && found
    })
    expect(most).toBeLessThan(8) // of sixteen places; two fetches at once may each let one more in
    const delivery = items.at(-1)
    await slow.tenant.call('DELETE', `/webhooks/${slow.id}`)
    expect(delivery.attempts[0]).toMatchObject({ http_status: null, error: 'timeout' })
    await quick.close()
  })

  test('with status 410 disable the endpoint', async () => {
    const { tenant, id } = await subscribe()
    receiver.answer((_, response) => response.writeHead(410).end())
    await ended(tenant)
    const [delivery] = await settled(tenant, id)
    expect(delivery).toMatchObject({ status: 'failed', attempts: [{ http_status: 410 }] })
    expect((await tenant.call('GET', `/webhooks/${id}`)).body).toMatchObject({
      enabled: false,
      disabled_reason: 'gone',
    })
    await ended(tenant)
    expect((await log(tenant, id)).total).toBe(1)
    expect((await tenant.call('PATCH', `/webhooks/${id}`, { enabled: true })).body).toMatchObject({
      enabled: true,
      disabled_reason: null,
    })
  })
})

test('writes webhook jobs in the transaction that ends the call', async () => {
  const { tenant } = await subscribe()
  const { body } = await tenant.call('POST', '/calls', { project_id: tenant.projectId, phone: nextPhone() })
  const boss = { send: () => Promise.reject(new Error('queue away')) }
  await expect(finish({ ...control.deps, boss: boss as never }, body.id, record())).rejects.toThrow('queue away')
  expect((await tenant.call('GET', `/calls/${body.id}`)).body.status).toBe('queued')
  expect((await tenant.call('GET', '/balance')).body.held.amount).toBe('5.0000')
  await finish(control.deps, body.id, record())
  await receiver.arrived(1)
})

test('signs with the old secret for a day after rotation', async () => {
  const { tenant, id, secret } = await subscribe()
  const rotated = (await tenant.call('POST', `/webhooks/${id}/rotate`)).body.secret
  expect(rotated).not.toBe(secret)
  await ended(tenant)
  const [got] = await receiver.arrived(1)
  expect(got!.headers['webhook-signature']).toBe(standard(got!, rotated, secret))
  expect(got!.headers['x-svc-signature']).toBe(
    `sha256=${createHmac('sha256', rotated).update(got!.body).digest('hex')}`,
  )
  const day = 24 * 3600 * 1000 + 1
  control.deps.clock.advance(day)
  await ended(tenant)
  const later = (await receiver.arrived(2))[1]!
  control.deps.clock.advance(-day)
  expect(later.headers['webhook-signature']).toBe(standard(later, rotated))
  const [row] = await control.deps.sql`select * from webhooks where id = ${id}`
  expect(JSON.stringify(row)).not.toContain('whsec_')
})

test('replays a delivery, and deletes an endpoint with its log', async () => {
  const { tenant, id } = await subscribe()
  await ended(tenant)
  const [delivery] = await settled(tenant, id)
  const again = await tenant.call('POST', `/webhooks/${id}/deliveries/${delivery.id}/replay`)
  expect(again).toMatchObject({ status: 201, body: { event: 'call.completed', status: 'pending' } })
  const [first, second] = await receiver.arrived(2)
  expect(second!.body).toBe(first!.body)
  expect(second!.headers['webhook-id']).toBe(again.body.id)
  expect((await tenant.call('GET', '/webhooks')).body).toMatchObject({ total: 1, items: [{ id }] })
  expect((await tenant.call('DELETE', `/webhooks/${id}`)).body).toEqual({ id, deleted: true })
  expect((await tenant.call('GET', `/webhooks/${id}`)).status).toBe(404)
})

test.each([
  [{ url: 'ftp://a.test', events: ['call.failed'] }, '/url'],
  [{ url: 'https://user:pw@a.test', events: ['call.failed'] }, '/url'],
  [{ url: 'https://a.test', events: [] }, '/events'],
  [{ url: 'https://a.test', events: ['call.failed', 'call.failed'] }, '/events'],
  [{ url: 'https://a.test', events: ['call.imagined'] }, '/events/0'],
])('rejects %j', async (body, pointer) => {
  const owner = await createTenant(control)
  expect((await owner.call('POST', '/webhooks', body)).body.errors[0].pointer).toBe(pointer)
})

describe('a test ping', () => {
  test('is signed, logged and sent once, also to a disabled endpoint', async () => {
    const { tenant, id } = await subscribe(['call.failed'])
    await tenant.call('PATCH', `/webhooks/${id}`, { enabled: false })
    receiver.answer((_, response) => response.writeHead(500).end(`нет\0 ${'x'.repeat(2000)}`))
    const sent = await tenant.call('POST', `/webhooks/${id}/test`)
    expect(sent).toMatchObject({ status: 201, body: { event: 'test', status: 'pending', attempts: [] } })
    const [got] = await receiver.arrived(1)
    expect(JSON.parse(got!.body)).toEqual({ event: 'test', created_at: expect.any(String), data: {} })
    await settled(tenant, id)
    const { body } = await tenant.call('GET', `/webhooks/${id}/deliveries/${sent.body.id}`)
    expect(body).toMatchObject({ status: 'failed', next_attempt_at: null, attempts: [{ http_status: 500 }] })
    expect(body.attempts[0].response).toMatch(/^нет x+$/)
    expect(body.attempts[0].response.length).toBe(999) // 1000, and the NUL is gone
    expect(receiver.received).toHaveLength(1)
  })

  test('returns 404 for another owner', async () => {
    const { id } = await subscribe()
    const stranger = await createTenant(control)
    expect((await stranger.call('POST', `/webhooks/${id}/test`)).status).toBe(404)
    expect((await stranger.call('GET', `/webhooks/${id}/deliveries`)).status).toBe(404)
  })
})

test('the log is filtered by event and outcome', async () => {
  const { tenant, id } = await subscribe()
  await ended(tenant)
  await settled(tenant, id)
  receiver.answer((_, response) => response.writeHead(400).end())
  await tenant.call('POST', `/webhooks/${id}/test`)
  await settled(tenant, id)
  const total = async (query: string) => (await tenant.call('GET', `/webhooks/${id}/deliveries${query}`)).body.total
  expect(await total('')).toBe(2)
  expect(await total('?event=test')).toBe(1)
  expect(await total('?status=delivered')).toBe(1)
  expect(await total('?status=failed&event=call.completed')).toBe(0)
  expect((await tenant.call('GET', `/webhooks/${id}/deliveries?status=lost`)).status).toBe(400)
})

describe('third-party verifiers', () => {
  test('X-Svc-Signature: the one of GitHub webhooks', async () => {
    const { tenant, secret } = await subscribe()
    await ended(tenant)
    const [got] = await receiver.arrived(1)
    const signature = String(got!.headers['x-svc-signature'])
    expect(await verifyLikeGitHub(secret, got!.body, signature)).toBe(true)
    expect(await verifyLikeGitHub(secret, `${got!.body} `, signature)).toBe(false)
  })

  test('webhook-signature: Standard Webhooks, with the old secret too during a rotation', async () => {
    const { tenant, id, secret } = await subscribe()
    const rotated = (await tenant.call('POST', `/webhooks/${id}/rotate`)).body.secret
    await ended(tenant)
    const [got] = await receiver.arrived(1)
    const headers = got!.headers as Record<string, string>
    for (const one of [secret, rotated]) {
      expect(new StandardWebhook(one).verify(got!.body, headers)).toMatchObject({ event: 'call.completed' })
    }
    expect(() => new StandardWebhook(secret).verify(`${got!.body} `, headers)).toThrow()
    const stranger = await subscribe()
    expect(() => new StandardWebhook(stranger.secret).verify(got!.body, headers)).toThrow()
  })
})

test('blocks private addresses, and logs the reason', async () => {
  const { tenant, id } = await subscribe()
  const delivery = uuidv7(Date.now())
  await insertDelivery(control.deps.sql, {
    id: delivery,
    owner_id: tenant.ownerId,
    webhook_id: id,
    event: 'test',
    body: '{}',
    created_at: new Date(),
  })
  const guarded = { ...control.deps, fetch: createSafeFetch({ allow: [] }) }
  await deliver(guarded, { delivery_id: delivery, attempt: 1 })
  const refused = await tenant.call('GET', `/webhooks/${id}/deliveries/${delivery}`)
  expect(refused.body).toMatchObject({ status: 'failed', attempts: [{ http_status: null, error: 'blocked_address' }] })
  expect(receiver.received).toHaveLength(0)
})
