import { afterAll, beforeAll, expect, test } from 'vitest'
import { createReaper, handleEvent, sweepOld, sweepOverdue } from '../../control/background/engine.ts'
import { admitCall } from '../../control/telephony/calls/admit.ts'
import { createDialer } from '../../control/telephony/calls/dialer.ts'
import { createControl, createTenant, nextPhone, type Tenant, type TestControl } from '../support/control.ts'

let control: TestControl
beforeAll(async () => {
  control = await createControl()
})
afterAll(() => control?.close())

const placed = async (owner: Tenant): Promise<string> =>
  (await owner.call('POST', '/calls', { project_id: owner.projectId, phone: nextPhone() })).body.id
const detail = async (owner: Tenant, id: string) => (await owner.call('GET', `/calls/${id}`)).body
const started = (owner: Tenant, id: string) =>
  handleEvent(control.deps, {
    v: 1,
    at: Date.now(),
    call_id: id,
    owner_id: owner.ownerId,
    seq: 1,
    type: 'call.started',
    engine: 'e',
    boot: 'b',
  })

test('fails a queued call after ten minutes and releases its hold', async () => {
  const owner = await createTenant(control)
  const id = await placed(owner)
  control.deps.clock.advance(599_000)
  await sweepOverdue(control.deps)
  expect((await detail(owner, id)).status).toBe('queued')
  control.deps.clock.advance(2000)
  await sweepOverdue(control.deps)
  expect(await detail(owner, id)).toMatchObject({
    status: 'failed',
    ended_reason: 'queue_expired',
    cost: { amount: '0.0000' },
  })
  expect((await owner.call('GET', '/balance')).body).toMatchObject({
    balance: { amount: '100.0000' },
    held: { amount: '0.0000' },
  })
})

test('gives a call to either the expiry or an engine', async () => {
  const owner = await createTenant(control, { money: '1000' })
  const ids = await Promise.all(Array.from({ length: 20 }, () => placed(owner)))
  control.deps.clock.advance(601_000)
  const engine = control.engine()
  const [, ...claims] = await Promise.all([sweepOverdue(control.deps), ...ids.map(id => engine.claim(id))])
  for (const [index, id] of ids.entries()) {
    const { status } = await detail(owner, id)
    expect([id, status]).toEqual([id, claims[index] ? 'queued' : 'failed'])
  }
})

test('does not publish a stale command', async () => {
  const owner = await createTenant(control)
  const id = await placed(owner)
  control.deps.clock.advance(601_000)
  const before = await control.deps.redis.xlen(`${control.deps.config.redis_prefix}:commands`)
  await createDialer(control.deps).offer(id)
  expect(await control.deps.redis.xlen(`${control.deps.config.redis_prefix}:commands`)).toBe(before)
})

test('undoes an admission that did not start within five seconds', async () => {
  const owner = await createTenant(control)
  const ask = {
    engine: 'e',
    boot: 'b',
    trunk_id: owner.trunkId,
    called: owner.number,
    caller: '+14155550000',
    source: '',
  }
  const [lost, live, claimed] = await Promise.all([1, 2, 3].map(() => admitCall(control.deps, ask)))
  if (!lost?.admitted || !live?.admitted || !claimed?.admitted) throw new Error('refused')
  await started(owner, live.plan.call_id)
  expect(await control.engine().claim(claimed.plan.call_id)).toBe(true)
  control.deps.clock.advance(5100)
  await sweepOverdue(control.deps)
  expect(await detail(owner, lost.plan.call_id)).toMatchObject({ status: 'failed', ended_reason: 'engine_lost' })
  expect((await detail(owner, live.plan.call_id)).status).toBe('in_progress')
  expect((await detail(owner, claimed.plan.call_id)).status).toBe('ringing')
  expect((await owner.call('GET', '/balance')).body.held.amount).toBe('10.0000')
})

test('closes a call whose lease has been missing for 75 s', async () => {
  const owner = await createTenant(control)
  const [dead, alive, claimedOnly] = [await placed(owner), await placed(owner), await placed(owner)]
  const engine = control.engine()
  for (const id of [dead, alive]) {
    await engine.claim(id)
    await started(owner, id)
  }
  await handleEvent(control.deps, {
    v: 1,
    at: Date.now(),
    call_id: dead,
    owner_id: owner.ownerId,
    seq: 2,
    type: 'call.progress',
    talked_ms: 12_000,
  })
  await engine.claim(claimedOnly) // died before its first word
  await engine.dropLease(claimedOnly)
  await engine.dropLease(dead)
  control.deps.clock.advance(601_000)
  const reaper = createReaper(control.deps)
  const sweepAfter = async (ms: number) => {
    control.deps.clock.advance(ms)
    await reaper.sweep()
  }
  await sweepAfter(0)
  await sweepAfter(30_000)
  await sweepAfter(30_000)
  expect((await detail(owner, dead)).status).toBe('in_progress')
  await sweepAfter(15_000)
  expect(await detail(owner, dead)).toMatchObject({ status: 'failed', ended_reason: 'engine_lost', billed_seconds: 12 })
  expect(await detail(owner, claimedOnly)).toMatchObject({
    status: 'failed',
    ended_reason: 'engine_lost',
    billed_seconds: 0,
  })
  expect((await detail(owner, alive)).status).toBe('in_progress')
})

test('resets the lease timer after an outage of Redis', async () => {
  const owner = await createTenant(control)
  const id = await placed(owner)
  await started(owner, id)
  let away = false
  const holder = (callId: string) => (away ? Promise.reject(new Error('away')) : control.deps.bus.holder(callId))
  const reaper = createReaper({ ...control.deps, bus: { ...control.deps.bus, holder } })
  const sweepAfter = async (ms: number) => {
    control.deps.clock.advance(ms)
    await reaper.sweep()
  }
  await sweepAfter(0)
  await sweepAfter(30_000)
  away = true
  await expect(sweepAfter(30_000)).rejects.toThrow('away')
  away = false
  await sweepAfter(30_000)
  await sweepAfter(30_000)
  await sweepAfter(30_000)
  expect((await detail(owner, id)).status).toBe('in_progress')
  // A break in looking counts as an outage too: a command may have hung until Redis was back.
  await sweepAfter(60_000)
  expect((await detail(owner, id)).status).toBe('in_progress')
  await sweepAfter(37_000)
  await sweepAfter(37_000)
  expect((await detail(owner, id)).status).toBe('in_progress')
  await sweepAfter(1500)
  expect((await detail(owner, id)).status).toBe('failed')
})

test('resets the lease timer after an outage between two sweeps', async () => {
  const owner = await createTenant(control)
  const id = await placed(owner)
  await started(owner, id)
  let away = false
  const holder = (callId: string) => (away ? Promise.reject(new Error('away')) : control.deps.bus.holder(callId))
  const reaper = createReaper({ ...control.deps, bus: { ...control.deps.bus, holder } })
  const sweepAfter = async (ms: number) => {
    control.deps.clock.advance(ms)
    await reaper.sweep()
  }
  for (const ms of [0, 20_000, 20_000]) await sweepAfter(ms)
  away = true
  await expect(sweepAfter(10_000)).rejects.toThrow('away')
  away = false
  for (const ms of [10_000, 30_000, 30_000]) await sweepAfter(ms)
  expect((await detail(owner, id)).status).toBe('in_progress')
  await sweepAfter(16_000)
  expect((await detail(owner, id)).status).toBe('failed')
})

test('deletes old rows', async () => {
  const owner = await createTenant(control)
  const call = { project_id: owner.projectId, phone: nextPhone() }
  const { body } = await owner.call('POST', '/calls', call, { 'idempotency-key': 'old' })
  await started(owner, body.id)
  control.deps.clock.advance(25 * 3600 * 1000)
  await sweepOld(control.deps)
  expect(await control.deps.sql`select 1 from idempotency where owner_id = ${owner.ownerId}`).toHaveLength(0)
  expect(await control.deps.sql`select 1 from call_events where call_id = ${body.id}`).toHaveLength(0)
})
