/** A backlog, as after an outage: the rate at which it is processed, and its effect on others. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createBoss, enqueue, startWorkers, type Workers } from '../../control/platform/jobs/jobs.ts'
import { deliver } from '../../control/webhooks/deliver.ts'
import { deliverTo } from '../../control/webhooks/emit.ts'
import { createControl, createTenant, type Tenant, type TestControl } from '../support/control.ts'
import { createReceiver, type Receiver } from '../support/receiver.ts'
import { until } from '../support/world.ts'

let control: TestControl
let receiver: Receiver
beforeAll(async () => {
  control = await createControl()
  receiver = await createReceiver()
})
afterAll(async () => {
  await receiver?.close()
  await control?.close()
})

const BACKLOG = 500

/** A quarter of what two a second would take. */
const A_FEW_A_SECOND_MS = 60_000

test('processes 500 queued calls and 500 deliveries without a fixed rate per second', async () => {
  const { deps } = control
  const owner = await createTenant(control)
  const { body: webhook } = await owner.call('POST', '/webhooks', { url: receiver.url, events: ['call.failed'] })
  await deps.sql.begin(async tx => {
    for (let i = 0; i < BACKLOG; i++) {
      await enqueue(deps, tx, 'call.place', { call_id: String(i) })
      await deliverTo(deps, tx, owner.ownerId, webhook.id, 'call.failed', '{}')
    }
  })
  const placed = new Set<string>()
  const began = performance.now()
  const workers = await startWorkers(deps, {
    'call.place': async ({ call_id }) => void placed.add(call_id),
    'webhook.deliver': data => deliver(deps, data),
    'trunks.publish': async () => {},
    'softphone.publish': async () => {},
    'knowledge.index': async () => {},
    'knowledge.forget': async () => {},
    'leads.search': async () => {},
    'account.erase': async () => {},
    'campaign.place': async () => {},
  })
  let [placedMs, deliveredMs] = [0, 0]
  await until(
    () => {
      const now = Math.round(performance.now() - began)
      if (placed.size === BACKLOG) placedMs ||= now
      if (receiver.received.length >= BACKLOG) deliveredMs ||= now
      return placedMs && deliveredMs
    },
    'the backlog',
    90_000,
  ).finally(() => workers.stop())
  expect(placedMs).toBeLessThan(A_FEW_A_SECOND_MS)
  expect(deliveredMs).toBeLessThan(A_FEW_A_SECOND_MS)
}, 180_000)

const deliverOnly = (): Promise<Workers> =>
  startWorkers(control.deps, {
    'call.place': async () => {},
    'campaign.place': async () => {},
    'webhook.deliver': data => deliver(control.deps, data),
    'trunks.publish': async () => {},
    'softphone.publish': async () => {},
    'knowledge.index': async () => {},
    'knowledge.forget': async () => {},
    'leads.search': async () => {},
    'account.erase': async () => {},
  })
async function endpoint(owner: Tenant, url: string): Promise<string> {
  return (await owner.call('POST', '/webhooks', { url, events: ['call.failed'] })).body.id
}
const send = (owner: Tenant, webhookId: string, times = 1) =>
  control.deps.sql.begin(async tx => {
    for (let i = 0; i < times; i++) await deliverTo(control.deps, tx, owner.ownerId, webhookId, 'call.failed', '{}')
  })

test('isolates hanging webhook receivers from other owners', async () => {
  const [hanging, quick] = [await createReceiver(), await createReceiver()]
  hanging.answer(() => {})
  const owner = await createTenant(control)
  const stuck = await Promise.all(Array.from({ length: 6 }, () => endpoint(owner, hanging.url)))
  for (const id of stuck) await send(owner, id, 20)
  const workers = await deliverOnly()
  try {
    await hanging.arrived(3)
    const other = await createTenant(control)
    await send(other, await endpoint(other, quick.url))
    const began = performance.now()
    await quick.arrived(1)
    expect(performance.now() - began).toBeLessThan(3000)
    for (const id of stuck) await owner.call('DELETE', `/webhooks/${id}`)

    const half = await createTenant(control)
    const bad = await endpoint(half, hanging.url)
    const before = hanging.received.length
    await send(half, bad, 60)
    await hanging.arrived(before + 3)
    await send(half, await endpoint(half, quick.url))
    const beganOwn = performance.now()
    await quick.arrived(2)
    expect(performance.now() - beganOwn).toBeLessThan(control.deps.config.webhook_timeout_ms + 6000)
    await half.call('DELETE', `/webhooks/${bad}`)
  } finally {
    await hanging.close()
    await workers.stop()
    await quick.close()
  }
}, 180_000)

test('hands the job of a killed process to another within 30 s of its deadline', async () => {
  const { deps, databaseUrl } = control
  const owner = await createTenant(control)
  const webhook = await endpoint(owner, receiver.url)
  await send(owner, webhook)
  const [taken] = await deps.boss.fetch('webhook.deliver')
  expect(taken).toBeDefined() // and never completed: kill -9
  await deps.sql`update parley_jobs.job set started_on = now() - interval '1 hour' where id = ${taken!.id}`
  const before = receiver.received.length
  const supervised = createBoss({ url: databaseUrl, max: 2, log: deps.log, supervise: true })
  await supervised.start()
  const workers = await deliverOnly()
  const began = performance.now()
  await until(() => receiver.received.length > before, 'the delivery', 40_000)
  expect(performance.now() - began).toBeLessThan(30_000)
  await workers.stop()
  await supervised.stop({ graceful: false })
}, 180_000)
