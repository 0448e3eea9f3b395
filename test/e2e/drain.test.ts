/**
 * A draining engine: its calls end normally, and new calls wait for the next engine. A draining control process:
 * clients that have not noticed yet are still served.
 */
import { afterAll, beforeAll, expect } from 'vitest'
import { needs } from '../support/needs.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { type Baresip, startBaresip } from '../support/stack-baresip.ts'
import { expectSettled } from '../support/stack-checks.ts'
import type { Owner } from '../support/stack-owner.ts'
import { until } from '../support/world.ts'

const { it } = needs('baresip')

const CALLEE = '+14155550177'
let stack: Stack
let phone: Baresip
let owner: Owner
beforeAll(async () => {
  // With another one nothing would wait.
  stack = await startStack({ ENGINE_DRAIN_SECONDS: '300', CONTROL_DRAIN_SECONDS: '18' }, { engines: 1, controls: 1 })
  phone = await startBaresip(stack, CALLEE)
  owner = await stack.owner({ trunk: { port: phone.port }, project: { greeting: 'Hello, this is the night porter.' } })
})
afterAll(() => stack?.stop())

let calls = 0
async function talk() {
  const call = await owner.place(CALLEE)
  await phone.wait('CALL_INCOMING', 20_000, ++calls)
  await phone.command('accept')
  await call.agentSaid(1)
  return call
}
/** Waits until the engine has published a capacity of 0. */
const left = () =>
  until(async () => (await stack.parts.bus.engines()).every(({ capacity }) => capacity === 0), 'the engine to leave')
const told = (text: string) => until(() => stack.told.includes(text), text, 60_000)

it('lets a call end while the next engine takes new calls', { timeout: 240_000 }, async () => {
  const words = await stack.speech.say('Please wake me up very early in the morning.')
  const call = await talk()
  process.kill(stack.children.engine.pid, 'SIGTERM')
  await left()
  const next = await owner.place(CALLEE)
  await phone.speak(words)
  await call.agentSaid(2)
  expect((await owner.detail(next.id)).status).toBe('queued')
  expect(stack.told).toEqual([])
  await phone.command('hangup')
  await call.ended()
  expect(await owner.detail(call.id)).toMatchObject({ status: 'completed', ended_reason: 'caller_hangup' })
  await told('Engine is back.')
  await phone.wait('CALL_INCOMING', 30_000, ++calls)
  await phone.command('hangup')
  await next.ended()
  expect(await owner.detail(next.id)).toMatchObject({ status: 'busy' })
  await expectSettled(stack, owner)
})

it('ends calls at once on a second signal', { timeout: 120_000 }, async () => {
  stack.told.length = 0
  const call = await talk()
  const { pid } = stack.children.engine
  process.kill(pid, 'SIGTERM')
  await left()
  process.kill(pid, 'SIGTERM')
  await call.ended()
  expect(await owner.detail(call.id)).toMatchObject({ status: 'completed', ended_reason: 'engine_shutdown' })
  await told('Engine is back.')
  await expectSettled(stack, owner)
})

it('serves after /readyz reports draining, until a second signal', { timeout: 120_000 }, async () => {
  stack.told.length = 0
  const { pid } = stack.children.control
  const ready = async () => (await (await fetch(`${stack.baseUrl}/readyz`)).json()) as { status: string }
  expect(await ready()).toMatchObject({ status: 'ready' })
  process.kill(pid, 'SIGTERM')
  await until(async () => (await ready()).status === 'draining', 'control to leave')
  expect(await owner.rest('GET', '/balance')).toMatchObject({ status: 200 })
  process.kill(pid, 'SIGTERM')
  // In order: by force it would be exit 1.
  await told('Control exited (status 0). Restarting.')
  await told('Control is back.')
})
