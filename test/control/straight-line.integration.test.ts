import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Control, startControl } from '../../control/app.ts'
import { createWebhook } from '../../control/webhooks/service.ts'
import type { CallPlan } from '../../media/contract/plan.ts'
import { createControl, createTenant, nextPhone, type TestControl } from '../support/control.ts'
import { createReceiver } from '../support/receiver.ts'
import { record } from '../support/records.ts'
import { until } from '../support/world.ts'

let control: TestControl
let running: Control
beforeAll(async () => {
  control = await createControl()
  running = await startControl(control.deps)
})
afterAll(async () => {
  await running?.stop()
  await control?.close()
})

test('takes a call from POST to an engine and back to a webhook and the charge', async () => {
  const owner = await createTenant(control)
  const receiver = await createReceiver()
  await createWebhook(control.deps, owner.ownerId, { url: `${receiver.url}/hook`, events: ['call.completed'] })
  const engine = control.engine()
  const taken = Promise.withResolvers<CallPlan>()
  const reader = engine.onPlace(() => 1, taken.resolve)

  const phone = nextPhone()
  const placed = await owner.call('POST', '/calls', {
    project_id: owner.projectId,
    phone,
    task: 'Remind {{name}}',
    vars: { name: 'Ann' },
  })
  expect(placed).toMatchObject({ status: 201, body: { status: 'queued', from: owner.number, to: phone } })
  expect((await owner.call('GET', '/balance')).body).toMatchObject({
    balance: { amount: '95.0000', currency: 'RUB' },
    held: { amount: '5.0000' },
  })

  const plan = await taken.promise
  const ann = `<data-${plan.boundary} from="name">Ann</data-${plan.boundary}>`
  expect(plan).toMatchObject({
    call_id: placed.body.id,
    prompt: `You are ${ann}.`,
    task: `Remind ${ann}`,
    paid_ms: 60_000,
  })
  const emit = engine.emitter(plan)
  await emit({ type: 'call.dialing', engine: engine.engine, boot: engine.boot })
  await emit({ type: 'call.started', engine: engine.engine, boot: engine.boot })
  expect(
    await engine.request('call.extend', { call_id: plan.call_id, owner_id: plan.owner_id, talked_ms: 40_000 }, 5000),
  ).toEqual({
    paid_ms: 120_000,
  })
  await emit({ type: 'call.ended', record: record({ talked_ms: 61_500, summary: 'Done', goal_reached: true }) })

  const [hook] = await receiver.arrived(1)
  expect(JSON.parse(hook!.body)).toMatchObject({ event: 'call.completed', call_id: plan.call_id, goal_reached: true })
  const detail = await until(async () => {
    const answer = await owner.call('GET', `/calls/${plan.call_id}`)
    return answer.body.status === 'completed' && answer.body
  })
  expect(detail).toMatchObject({ summary: 'Done', billed_seconds: 62, cost: { amount: '5.1667' }, goal_reached: true })
  expect((await owner.call('GET', '/balance')).body).toMatchObject({
    balance: { amount: '94.8333' },
    held: { amount: '0.0000' },
  })
  await reader.stop()
  await receiver.close()
})

test('admits an inbound call', async () => {
  const owner = await createTenant(control)
  const engine = control.engine('engine-2')
  const caller = nextPhone()
  const ask = {
    engine: 'engine-2',
    boot: engine.boot,
    trunk_id: owner.trunkId,
    called: owner.number.slice(1),
    caller,
    source: '127.0.0.1',
  }
  const answer = await engine.request('call.admit', ask, 5000)
  if (!answer.admitted) throw new Error(answer.refusal)
  expect(answer.plan).toMatchObject({ direction: 'in', from: caller, to: owner.number, trunk_id: null })
  const emit = engine.emitter(answer.plan)
  expect(await engine.claim(answer.plan.call_id)).toBe(true)
  await emit({ type: 'call.started', engine: engine.engine, boot: engine.boot })
  await emit({ type: 'call.ended', record: record({ talked_ms: 1000 }) })
  await until(async () => (await owner.call('GET', `/calls/${answer.plan.call_id}`)).body.status === 'completed')
  expect((await owner.call('GET', '/calls?direction=in')).body).toMatchObject({ total: 1 })
})
