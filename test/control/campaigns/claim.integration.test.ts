/** Claims of campaign contacts: a claim reads the current state, and its work is split into several transactions. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { claim } from '../../../control/outreach/campaigns/claim.ts'
import { newPacerState, paceOnce } from '../../../control/outreach/campaigns/pacer.ts'
import { selectWork } from '../../../control/outreach/campaigns/pacer-sql.ts'
import { createControl, createTenant, type Tenant, type TestControl } from '../../support/control.ts'
import { until } from '../../support/world.ts'
import { contradictions, end, liveCalls, pace, stubEngine } from './dialing.ts'
import { createFilled, step } from './support.ts'

let control: TestControl
let engine: ReturnType<typeof stubEngine>
/** All places of a campaign are open. */
const RAMPED_MS = 6000
beforeAll(async () => {
  control = await createControl({ config: { trial_balance: '1000' } })
  engine = stubEngine(control.deps)
})
afterAll(() => control?.close())

const always = { timezone: 'UTC', window_start: '00:00', window_end: '00:00', quiet_hours: null }
async function running(owner: Tenant, contacts: number, params: object = {}): Promise<string> {
  const { id } = await createFilled(owner, contacts, { params: { ...always, ...params } })
  expect((await step(owner, id, 'start')).body.status).toBe('running')
  control.deps.clock.advance(RAMPED_MS)
  return id
}
const live = (...ids: string[]) => liveCalls(control, ...ids)
async function stopAll(owner: Tenant, ...ids: string[]): Promise<void> {
  for (const id of ids) await step(owner, id, 'stop')
  for (const call of await live(...ids)) await end(control.deps, call.id)
}

/** As a round plans it; then something else comes before its claim. */
async function planned(id: string) {
  const work = await selectWork(control.deps.sql, [], new Date(control.deps.clock.wall()))
  return { work: work.find(row => row.id === id)!, most: 5, trunks: new Map<string, number>() }
}

test('does not dial from a number that was unbound after allocation; the campaign pauses', async () => {
  const owner = await createTenant(control)
  const id = await running(owner, 3)
  const wish = await planned(id)
  expect(wish.work.lines).toHaveLength(1)
  const unbound = await owner.call('DELETE', `/projects/${owner.projectId}/numbers/${wish.work.lines[0]!.number}`)
  expect(unbound.status).toBeLessThan(300)
  expect(await claim(engine.deps, wish)).toEqual({ calls: 0, passedOver: 0 })
  expect(await live(id)).toHaveLength(0)
  await pace(engine.deps)
  expect((await owner.call('GET', `/campaigns/${id}`)).body).toMatchObject({
    status: 'paused',
    pause_reason: 'no_outbound_line',
  })
})

test('charges the price at the time of the claim', async () => {
  const owner = await createTenant(control)
  const id = await running(owner, 1)
  const wish = await planned(id)
  await control.deps.sql`update accounts set minute_price = 70000 where id = ${owner.ownerId}`
  expect(await claim(engine.deps, wish)).toMatchObject({ calls: 1 })
  const [call] = await control.deps.sql<{ price: bigint; held: bigint }[]>`
    select price, held from calls join balances on balances.owner_id = calls.owner_id where campaign_id = ${id}`
  expect(call).toEqual({ price: 70_000n, held: 70_000n })
  await stopAll(owner, id)
  expect(await contradictions(control)).toEqual([])
})

test('does not reserve lines or rate tokens for contacts that are not due', async () => {
  const owner = await createTenant(control)
  await owner.call('PATCH', `/trunks/${owner.trunkId}`, { max_calls: 8 })
  const [few, many] = [await running(owner, 20, { concurrency: 20 }), await running(owner, 20, { concurrency: 20 })]
  const later = new Date(control.deps.clock.wall() + 3_600_000)
  await control.deps.sql`
    update campaign_contacts set next_attempt_at = ${later} where campaign_id = ${few} and seq > 1`
  const state = newPacerState()
  await paceOnce(engine.deps, state)
  const of = async (id: string) => (await live(id)).length
  expect([await of(few), await of(many)]).toEqual([1, 7])
  expect(state.served.get(many)! - state.served.get(few)!).toBe(6)
  await stopAll(owner, few, many)
})

test('stops campaigns of a deleted project at once, and cancels contacts in batches', async () => {
  const owner = await createTenant(control)
  const { sql } = control.deps
  const id = await running(owner, 1)
  const CONTACTS = 2500
  await sql.begin(async tx => {
    await tx`
      insert into campaign_contacts (id, campaign_id, owner_id, seq, phone, next_attempt_at, created_at)
      select gen_random_uuid(), ${id}, ${owner.ownerId}, n, '+1212' || (5000000 + n), now(), now()
      from generate_series(2, ${CONTACTS}::int) n`
    await tx`update campaign_counters set total = ${CONTACTS}, pending = ${CONTACTS} where campaign_id = ${id}`
  })
  let letGo = () => {}
  const held = new Promise<void>(resolve => (letGo = resolve))
  const holder = sql.begin(async tx => {
    await tx`select 1 from campaign_contacts where campaign_id = ${id} and seq = ${CONTACTS} for update`
    await held
  })
  const deleted = owner.call('DELETE', `/projects/${owner.projectId}`)
  const seen = async () => (await owner.call('GET', `/campaigns/${id}`)).body
  try {
    const part = await until(async () => {
      const now = await seen()
      return now.counters.canceled >= 2000 && now
    }, 'the parts before')
    expect(part).toMatchObject({ status: 'stopped', counters: { canceled: 2000, pending: 500 } })
    expect((await owner.call('GET', `/projects/${owner.projectId}`)).status).toBe(404)
  } finally {
    letGo()
    await holder
  }
  expect((await deleted).status).toBeLessThan(300)
  expect((await seen()).counters).toMatchObject({ canceled: CONTACTS, pending: 0 })
  expect(await contradictions(control)).toEqual([])
})
