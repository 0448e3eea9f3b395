/** The line limit of a trunk, including bridged second legs: never exceeded, and each line is released. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { handleEvent } from '../../control/background/engine.ts'
import { admitCall } from '../../control/telephony/calls/admit.ts'
import { bridgeCall } from '../../control/telephony/calls/bridge.ts'
import { finish, finishLost } from '../../control/telephony/calls/finish.ts'
import { selectTrunkCapacity } from '../../control/telephony/gates/sql.ts'
import type { CallEventBody } from '../../media/contract/messages.ts'
import { createControl, createTenant, nextPhone, type Tenant, type TestControl } from '../support/control.ts'
import { record } from '../support/records.ts'

let control: TestControl
beforeAll(async () => {
  control = await createControl({ config: { trial_balance: '1000' } })
})
afterAll(() => control?.close())

async function tenant(max_calls: number | null): Promise<Tenant> {
  const owner = await createTenant(control)
  expect((await owner.call('PATCH', `/trunks/${owner.trunkId}`, { max_calls })).status).toBe(200)
  return owner
}
const placed = async (owner: Tenant): Promise<string> =>
  (await owner.call('POST', '/calls', { project_id: owner.projectId, phone: nextPhone() })).body.id
const place = async (owner: Tenant) =>
  (await owner.call('POST', '/calls', { project_id: owner.projectId, phone: nextPhone() })).status
const asked = (owner: Tenant, call_id: string, attempt = 1, trunk_id = owner.trunkId) => ({
  call_id,
  owner_id: owner.ownerId,
  trunk_id,
  attempt,
})
const bridge = async (...of: Parameters<typeof asked>) => (await bridgeCall(control.deps, asked(...of))).granted
const used = async (owner: Tenant) => (await selectTrunkCapacity(control.deps.sql, owner.ownerId, owner.trunkId))!.live
let seq = 10
const tell = (owner: Tenant, call_id: string, body: CallEventBody) =>
  handleEvent(control.deps, { v: 1, at: Date.now(), call_id, owner_id: owner.ownerId, seq: seq++, ...body })
const closed = (owner: Tenant, id: string, attempt = 1) => tell(owner, id, { type: 'bridge.closed', attempt })
const ring = async (owner: Tenant) =>
  admitCall(control.deps, {
    engine: 'e',
    boot: 'b',
    trunk_id: owner.trunkId,
    source: '127.0.0.1',
    called: owner.number,
    caller: nextPhone(),
  })

test('counts the second leg of a transfer against the limits of the trunk', async () => {
  const owner = await tenant(3)
  const [one, other] = [await placed(owner), await placed(owner)]
  expect(await bridge(owner, one)).toBe(true)
  expect(await used(owner)).toBe(3)
  expect(await bridge(owner, other)).toBe(false)
  expect(await place(owner)).toBe(409)
  expect(await ring(owner)).toEqual({ admitted: false, refusal: 'too_many_calls' })
  await closed(owner, one)
  expect(await used(owner)).toBe(2)
  expect(await bridge(owner, other)).toBe(true)
  await closed(owner, other)
  expect((await ring(owner)).admitted).toBe(true)
})

test('grants concurrent requests no more lines than the limit', async () => {
  const owner = await tenant(14)
  const ids = await Promise.all(Array.from({ length: 8 }, () => placed(owner)))
  const [granted, calls] = await Promise.all([
    Promise.all(ids.map(id => bridge(owner, id))),
    Promise.all(Array.from({ length: 8 }, () => place(owner))),
  ])
  const lines = granted.filter(Boolean).length + calls.filter(status => status === 201).length
  expect(lines).toBe(6)
  expect(await used(owner)).toBe(14)
})

test('releases the line once at the end of the call, also when no event reported it', async () => {
  const owner = await tenant(4)
  const [ended, lost] = [await placed(owner), await placed(owner)]
  expect([await bridge(owner, ended), await bridge(owner, lost)]).toEqual([true, true])
  expect(await used(owner)).toBe(4)
  await finish(control.deps, ended, record())
  expect(await used(owner)).toBe(2)
  await closed(owner, ended) // what it said last comes after
  await finishLost(control.deps, lost) // as the reaper does when its engine is dead
  expect(await used(owner)).toBe(0)
  expect(await bridge(owner, lost)).toBe(false)
  expect(await used(owner)).toBe(0)
})

test('ignores late or duplicate events of an earlier attempt', async () => {
  const owner = await tenant(10)
  const id = await placed(owner)
  expect(await bridge(owner, id, 1)).toBe(true)
  expect(await bridge(owner, id, 2)).toBe(true) // its predecessor's line is its own now
  expect(await used(owner)).toBe(2)
  await closed(owner, id, 1)
  await closed(owner, id, 1)
  expect(await used(owner)).toBe(2)
  await closed(owner, id, 3) // it asked, got no answer in time, and gave up
  expect(await bridge(owner, id, 3)).toBe(false)
  expect(await used(owner)).toBe(1)
  expect(await bridge(owner, id, 4)).toBe(true)
})

test('gives the line of a failed attempt to the next attempt of the same call', async () => {
  const owner = await tenant(2)
  const id = await placed(owner)
  expect([await bridge(owner, id, 1), await bridge(owner, id, 2)]).toEqual([true, true])
  expect(await used(owner)).toBe(2)
})

test('grants no line on a trunk or for a call of another owner', async () => {
  const [owner, other] = [await tenant(5), await tenant(5)]
  const id = await placed(owner)
  expect(await bridge(other, id)).toBe(false)
  expect(await bridge(owner, randomUUID())).toBe(false)
  await bridge(owner, id, 1, other.trunkId)
  expect(await used(other)).toBe(0)
})

test('counts lines on a trunk without a limit, since one may be set later', async () => {
  const owner = await tenant(null)
  const id = await placed(owner)
  expect(await bridge(owner, id)).toBe(true)
  await owner.call('PATCH', `/trunks/${owner.trunkId}`, { max_calls: 2 })
  expect(await used(owner)).toBe(2)
  expect(await place(owner)).toBe(409)
})

test('sends no line events to followers of a call', async () => {
  const owner = await tenant(5)
  const id = await placed(owner)
  await closed(owner, id)
  const rows = await control.deps.sql`select 1 from call_events where call_id = ${id}`
  expect(rows).toHaveLength(0)
})
