import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Control, startControl } from '../../control/app.ts'
import type { Deps } from '../../control/deps.ts'
import { markOffered, takeSlot } from '../../control/telephony/call-setup/dial-rate.ts'
import { createDialer } from '../../control/telephony/calls/dialer.ts'
import { rateTokenMs } from '../../media/bus/dial-rate.ts'
import type { PlaceCommand } from '../../media/contract/messages.ts'
import { createControl, createTenant, nextPhone, type Tenant, type TestControl } from '../support/control.ts'
import { until } from '../support/world.ts'

interface Offered {
  id: string
  at: number
}
let control: TestControl
let running: Control
/** A control process without workers. */
let idle: TestControl
const offered: Offered[] = []
/** A control process that records when it publishes calls; Redis keeps the rate, so time is real. */
const watched = (deps: Deps): Deps => ({
  ...deps,
  bus: {
    ...deps.bus,
    place: async (command: PlaceCommand) => void offered.push({ id: command.plan.call_id, at: performance.now() }),
  },
})
beforeAll(async () => {
  control = await createControl({ config: { trial_balance: '1000' } })
  running = await startControl(watched(control.deps))
  idle = await createControl({ config: { trial_balance: '1000' } })
})
afterAll(async () => {
  await running?.stop()
  await control?.close()
  await idle?.close()
})

const of = (ids: string[]) => offered.filter(one => ids.includes(one.id))
const place = async (owner: Tenant): Promise<string> =>
  (await owner.call('POST', '/calls', { project_id: owner.projectId, phone: nextPhone() })).body.id
async function tenant(max_cps: number | null, of = control): Promise<Tenant> {
  const owner = await createTenant(of)
  expect((await owner.call('PATCH', `/trunks/${owner.trunkId}`, { max_cps })).body.max_cps).toBe(max_cps)
  return owner
}
/** No call comes before its turn; a machine under load may be late with the first, and all the others then look early. */
function expectPace(some: Offered[], gapMs: number): void {
  for (const [index, { at }] of some.entries()) {
    expect([index, at - some[0]!.at >= index * gapMs - LATE_MS]).toEqual([index, true])
  }
}
const LATE_MS = 150

test('turns are given in the order they are asked for, evenly spaced, to all processes together', async () => {
  const trunkId = randomUUID()
  const ids = Array.from({ length: 20 }, () => randomUUID())
  const second = idle.deps.redis.duplicate()
  const ports = [idle.deps, { ...idle.deps, redis: second }]
  for (const callId of ids.slice(0, 10)) await takeSlot(idle.deps, { callId, trunkId, maxCps: 8 })
  await Promise.all(ids.slice(10).map((callId, i) => takeSlot(ports[i % 2]!, { callId, trunkId, maxCps: 8 })))
  const slots = (await idle.deps.redis.mget(ids.map(id => `${idle.deps.config.redis_prefix}:slot:${id}`))).map(Number)
  expect(slots.slice(0, 10)).toEqual(slots.slice(0, 10).sort((a, b) => a - b))
  const sorted = slots.toSorted((a, b) => a - b)
  for (const [index, slot] of sorted.entries()) expect(slot).toBeCloseTo(sorted[0]! + index * rateTokenMs(8), 1)
  // A repeated request gets the same slot, and a call that was offered is not offered again.
  const again = await takeSlot(idle.deps, { callId: ids[9]!, trunkId, maxCps: 8 })
  expect(again).toBeGreaterThan(500)
  expect(Number(await idle.deps.redis.get(`${idle.deps.config.redis_prefix}:slot:${ids[9]}`))).toBe(slots[9])
  await markOffered(idle.deps, ids[9]!)
  expect(await takeSlot(idle.deps, { callId: ids[9]!, trunkId, maxCps: 8 })).toBeNull()
  second.disconnect()
})

test('a trunk is given its calls one by one in their order, and others need not wait for it', async () => {
  const slow = await tenant(5)
  const free = await tenant(null)
  const ids: string[] = []
  for (let i = 0; i < 8; i++) ids.push(await place(slow))
  const other = await place(free)
  await until(() => of([other]).length === 1, 'the call of the other trunk')
  expect(of(ids).length).toBeLessThan(8)
  await until(() => of(ids).length === 8, 'all calls', 5000)
  // The job queue takes several at once, so that neighbours may change places on the way to the queue.
  for (const [index, { id }] of of(ids).entries()) expect(Math.abs(ids.indexOf(id) - index)).toBeLessThanOrEqual(2)
  expectPace(of(ids), 200)
})

test('two processes keep one pace', async () => {
  const owner = await tenant(10, idle)
  const dialers = [createDialer(watched(idle.deps)), createDialer(watched(idle.deps))]
  const ids = await Promise.all(Array.from({ length: 10 }, () => place(owner)))
  await Promise.all(ids.map((id, i) => dialers[i % 2]!.offer(id)))
  await until(() => of(ids).length === 10, 'all calls', 5000)
  expectPace(of(ids), 100)
  await Promise.all(dialers.map(dialer => dialer.stop()))
})

test('a call that waits outlives its process, once, and one that is canceled meanwhile is not offered', async () => {
  const owner = await tenant(2, idle)
  const dying = createDialer(watched(idle.deps))
  const ids = [await place(owner), await place(owner), await place(owner)]
  for (const id of ids) await dying.offer(id)
  await owner.call('POST', `/calls/${ids[2]}/hangup`)
  await dying.stop()
  const spare = await idle.deps.sql`
    select 1 from parley_jobs.job where name = 'call.place' and data->>'call_id' = ${ids[1]!}
      and start_after - created_on between interval '5 s' and interval '7 s'`
  expect(spare).toHaveLength(1)
  await new Promise(resolve => setTimeout(resolve, 1200)) // both turns pass
  expect(of(ids).map(one => one.id)).toEqual([ids[0]])
  const next = createDialer(watched(idle.deps))
  for (const id of ids) await next.offer(id)
  expect(of(ids).map(one => one.id)).toEqual([ids[0], ids[1]])
  for (const id of ids) await next.offer(id)
  expect(of(ids)).toHaveLength(2)
  await next.stop()
})

test('a turn that was missed is given anew, after those that wait', async () => {
  const owner = await tenant(2, idle)
  const dialer = createDialer(watched(idle.deps))
  const [missed, first, second] = [await place(owner), await place(owner), await place(owner)]
  // As if its process had died long ago, before it could offer.
  const slot = `${idle.deps.config.redis_prefix}:slot:${missed}`
  await idle.deps.redis.set(slot, String(Date.now() - 60_000))
  for (const id of [first, second, missed]) await dialer.offer(id)
  const ids = [missed, first, second]
  await until(() => of(ids).length === 3, 'all calls')
  expect(of(ids).map(one => one.id)).toEqual([first, second, missed])
  expectPace(of(ids), 500)
  await dialer.stop()
})

test('without Redis the job fails and comes again, rather than dial at will', async () => {
  const owner = await tenant(2, idle)
  const id = await place(owner)
  const redis = { eval: () => Promise.reject(new Error('away')) }
  const dialer = createDialer({ ...watched(idle.deps), redis: redis as never })
  await expect(dialer.offer(id)).rejects.toThrow('away')
  expect(of([id])).toEqual([])
})
