import { afterAll, beforeAll, expect, test } from 'vitest'
import { topUp } from '../../../control/access/accounts/service.ts'
import { startControl } from '../../../control/app.ts'
import { sweepOverdue } from '../../../control/background/engine.ts'
import { createCampaignDialer } from '../../../control/outreach/campaigns/dialer.ts'
import { newPacerState, paceOnce, startPacer } from '../../../control/outreach/campaigns/pacer.ts'
import { connect, type Sql } from '../../../control/platform/db/connect.ts'
import { insertDoNotCall } from '../../../control/telephony/do-not-call/sql.ts'
import { createControl, createTenant, type Tenant, type TestControl } from '../../support/control.ts'
import { until } from '../../support/world.ts'
import { contradictions, end, liveCalls, pace, stubEngine } from './dialing.ts'
import { createDraft, createFilled, nextCallee, step, upload } from './support.ts'

let control: TestControl
let engine: ReturnType<typeof stubEngine>
const HOLD = 50_000n // one minute
/** All places of a campaign are open. */
const RAMPED_MS = 6000
beforeAll(async () => {
  control = await createControl({ config: { trial_balance: '1000' } })
  engine = stubEngine(control.deps)
})
afterAll(async () => {
  await control?.close()
})

const always = { timezone: 'UTC', window_start: '00:00', window_end: '00:00', quiet_hours: null }
async function running(owner: Tenant, contacts: number, params: object = {}): Promise<string> {
  const { id } = await createFilled(owner, contacts, { params: { ...always, ...params } })
  expect((await step(owner, id, 'start')).body.status).toBe('running')
  control.deps.clock.advance(RAMPED_MS)
  return id
}
const see = async (owner: Tenant, id: string) => (await owner.call('GET', `/campaigns/${id}`)).body
const contactsOf = async (owner: Tenant, id: string) =>
  (await owner.call('GET', `/campaigns/${id}/contacts?limit=200`)).body.items.reverse()
const live = (...ids: string[]) => liveCalls(control, ...ids)
const endAll = async (id: string, part = {}) => {
  for (const call of await live(id)) await end(engine.deps, call.id, part)
}
/** So much for calls, and no more. */
async function setMoney(owner: Tenant, units: bigint): Promise<void> {
  const { sql } = control.deps
  await sql`alter table ledger_entries disable trigger ledger_append_only`
  await sql`delete from ledger_entries where owner_id = ${owner.ownerId}`
  await sql`alter table ledger_entries enable trigger ledger_append_only`
  await sql`update balances set available = 0, entries = 0 where owner_id = ${owner.ownerId}`
  await topUp(control.deps, owner.ownerId, `${units / 10_000n}.${String(units % 10_000n).padStart(4, '0')}`)
}

test('never exceeds the concurrency of the campaign, whichever process dials', async () => {
  const owner = await createTenant(control)
  const id = await running(owner, 12, { concurrency: 5 })
  await Promise.all(Array.from({ length: 4 }, () => pace(engine.deps)))
  expect(await live(id)).toHaveLength(5)
  expect((await see(owner, id)).counters).toMatchObject({ pending: 7, dialing: 5 })
  const [first] = await live(id)
  await end(engine.deps, first!.id, { status: 'completed' })
  await Promise.all(Array.from({ length: 4 }, () => pace(engine.deps)))
  expect(await live(id)).toHaveLength(5)
  for (let i = 0; i < 4; i++) {
    await endAll(id, { status: 'completed', goal_reached: true })
    await pace(engine.deps)
  }
  const done = await see(owner, id)
  expect(done).toMatchObject({
    status: 'completed',
    counters: { completed: 12, pending: 0, dialing: 0, goal_reached: 11 },
  })
  expect(await contradictions(control)).toEqual([])
})

test('spreads the first dials evenly when the window opens', async () => {
  const owner = await createTenant(control)
  const { id } = await createFilled(owner, 50, { params: { ...always, concurrency: 50 } })
  await step(owner, id, 'start')
  const state = newPacerState()
  const counts: number[] = []
  for (let i = 0; i < 7; i++) {
    await pace(engine.deps, state)
    counts.push((await live(id)).length)
    control.deps.clock.advance(1000)
  }
  for (const [second, count] of counts.entries()) {
    expect(count).toBeGreaterThanOrEqual(Math.min(50, 10 * second))
    expect(count).toBeLessThanOrEqual(Math.min(50, 10 * (second + 1))) // the rounds take time too
  }
  await step(owner, id, 'stop')
  await endAll(id)
})

test('bounds all campaigns by trunk lines, owner limits and engine capacity, shared evenly', async () => {
  const owner = await createTenant(control)
  await owner.call('PATCH', `/trunks/${owner.trunkId}`, { max_calls: 6 })
  const ids = [await running(owner, 10, { concurrency: 10 }), await running(owner, 10, { concurrency: 10 })]
  await pace(engine.deps)
  await Promise.all([pace(engine.deps), pace(engine.deps)])
  const of = async (id: string) => (await live(id)).length
  expect([await of(ids[0]!), await of(ids[1]!)]).toEqual([3, 3])
  for (const id of ids) await step(owner, id, 'stop')
  for (const id of ids) await endAll(id)

  const [many, few] = [await createTenant(control), await createTenant(control)]
  const theirs = [await running(many, 9), await running(many, 9), await running(many, 9), await running(few, 9)]
  await pace(stubEngine(control.deps, { capacity: 10 }).deps) // 9 are for campaigns
  const counts = await Promise.all(theirs.map(of))
  expect(counts.reduce((sum, one) => sum + one)).toBe(9)
  expect(counts[3]).toBeGreaterThanOrEqual(4)
  expect(Math.max(...counts.slice(0, 3)) - Math.min(...counts.slice(0, 3))).toBeLessThanOrEqual(1)
  for (const id of theirs.slice(0, 3)) await step(many, id, 'stop')
  await step(few, theirs[3]!, 'stop')
  for (const id of theirs) await endAll(id)

  // Nobody dials into the void.
  const lost = await running(few, 3)
  await pace({ ...engine.deps, bus: { ...engine.deps.bus, engines: async () => [] } })
  expect(await of(lost)).toBe(0)
  await step(few, lost, 'stop')
})

test('dials while the balance covers a call, then pauses, and resumes after a top-up if configured', async () => {
  const owner = await createTenant(control)
  await setMoney(owner, 3n * HOLD + 20_000n)
  const id = await running(owner, 9, { concurrency: 9, resume_on_top_up: true })
  await Promise.all([pace(engine.deps), pace(engine.deps), pace(engine.deps)])
  expect(await live(id)).toHaveLength(3)
  await pace(engine.deps)
  expect((await see(owner, id)).status).toBe('running') // the money held may come back
  const [first, second, third] = await live(id)
  await end(engine.deps, first!.id, { status: 'busy', ended_reason: 'busy' })
  await pace(engine.deps)
  expect(await live(id)).toHaveLength(3)
  for (const call of [second, third]) {
    await end(engine.deps, call!.id, { status: 'completed', talked_ms: 60_000 })
  }
  await pace(engine.deps)
  const [last] = await live(id)
  await end(engine.deps, last!.id, { status: 'completed', talked_ms: 50_000 })
  await pace(engine.deps)
  expect(await see(owner, id)).toMatchObject({ status: 'paused', pause_reason: 'insufficient_balance' })
  expect(BigInt((await see(owner, id)).spend.amount.replace('.', ''))).toBe(50_000n + 50_000n + 41_667n)

  control.deps.clock.advance(2000)
  await pace(engine.deps)
  expect((await see(owner, id)).status).toBe('paused')
  await topUp(control.deps, owner.ownerId, '20')
  await pace(engine.deps)
  expect(await see(owner, id)).toMatchObject({ status: 'running', pause_reason: null })
  await step(owner, id, 'stop')
  await endAll(id)
  expect(await contradictions(control)).toEqual([])

  const other = await createTenant(control)
  await setMoney(other, HOLD - 1n)
  const topped = await createFilled(other, 2, { params: always })
  expect((await step(other, topped.id, 'start')).status).toBe(402)
  await topUp(control.deps, other.ownerId, '0.0001')
  await step(other, topped.id, 'start')
  control.deps.clock.advance(RAMPED_MS)
  await pace(engine.deps)
  await endAll(topped.id, { status: 'completed', talked_ms: 1000 })
  await pace(engine.deps)
  await topUp(control.deps, other.ownerId, '100')
  control.deps.clock.advance(2000)
  await pace(engine.deps)
  expect((await see(other, topped.id)).status).toBe('paused') // automatic resume is off
})

test('never exceeds the spending limit under concurrent calls', async () => {
  const owner = await createTenant(control)
  const id = await running(owner, 40, { concurrency: 7, max_spend: '60' })
  for (let round = 0; round < 30 && (await see(owner, id)).status === 'running'; round++) {
    await pace(engine.deps)
    for (const call of await live(id)) {
      const [row] = await control.deps.sql<{ max_cost: bigint }[]>`select max_cost from calls where id = ${call.id}`
      expect(row!.max_cost).toBeGreaterThanOrEqual(HOLD)
      await end(engine.deps, call.id, { status: 'completed', talked_ms: 60_000 })
    }
  }
  expect(await see(owner, id)).toMatchObject({
    status: 'paused',
    pause_reason: 'max_spend',
    spend: { amount: '60.0000' },
  })
})

test('does not count a call that no engine claimed as an attempt', async () => {
  const owner = await createTenant(control)
  const id = await running(owner, 1, { retries: 0 })
  await pace(engine.deps)
  control.deps.clock.advance(control.deps.config.queue_expiry_ms + 1000)
  await sweepOverdue(engine.deps)
  expect(await live(id)).toHaveLength(0)
  expect((await contactsOf(owner, id))[0]).toMatchObject({ status: 'pending', attempts: 0 })
  await pace(engine.deps)
  expect(await live(id)).toHaveLength(0)
  control.deps.clock.advance(61_000)
  await pace(engine.deps)
  expect((await contactsOf(owner, id))[0]).toMatchObject({ status: 'dialing', attempts: 1 })
  await endAll(id)
  await pace(engine.deps)
  expect(await see(owner, id)).toMatchObject({ status: 'completed', counters: { no_answer: 1 } })
  expect(await contradictions(control)).toEqual([])
})

test('skips contacts that must not be called, also after the claim', async () => {
  const owner = await createTenant(control)
  const [listed, late, premium] = [nextCallee(), nextCallee(), '+19002345678']
  const draft = await createDraft(owner, { params: always })
  await upload(owner, draft.id, [{ phone: listed }, { phone: late }])
  await control.deps.sql`
    insert into campaign_contacts (id, campaign_id, owner_id, seq, phone, next_attempt_at, created_at)
    select gen_random_uuid(), ${draft.id}, ${owner.ownerId}, 3, ${premium}, now(), now()`
  await control.deps.sql`
    update campaign_counters set total = 3, pending = 3 where campaign_id = ${draft.id}`
  await owner.call('POST', '/do-not-call', { phone: listed })
  await step(owner, draft.id, 'start')
  control.deps.clock.advance(RAMPED_MS)
  await pace(engine.deps)
  const calls = await live(draft.id)
  expect(calls.map(call => call.to_phone)).toEqual([late])
  await insertDoNotCall(control.deps.sql, owner.ownerId, {
    phone: late,
    source: 'caller',
    note: null,
    created_at: new Date(),
  })
  const dialer = createCampaignDialer(engine.deps)
  await dialer.offer(calls.map(call => call.id))
  await dialer.stop()
  expect(engine.placed.some(one => one.phone === late)).toBe(false)
  expect((await contactsOf(owner, draft.id)).map((one: { skip_reason: string }) => one.skip_reason)).toEqual([
    'do_not_call',
    'do_not_call',
    'premium_rate',
  ])
  await pace(engine.deps)
  expect((await see(owner, draft.id)).status).toBe('completed')
})

test('dials only inside the window and outside quiet hours; the call carries the end of both', async () => {
  const owner = await createTenant(control)
  const draft = await createDraft(owner, {
    params: { ...always, window_start: '09:00', window_end: '18:00', quiet_hours: { start: '21:00', end: '08:00' } },
  })
  // New York: quiet until 13:00 UTC in winter, 12:00 in summer. Berlin never is within this window.
  await upload(owner, draft.id, [{ phone: '+12122345678' }, { phone: '+493012345678' }])
  await step(owner, draft.id, 'start')
  const { clock } = control.deps
  const to = (hour: number, minute = 0) => {
    const at = new Date(clock.wall())
    at.setUTCHours(hour, minute, 0, 0)
    if (at.getTime() <= clock.wall()) at.setUTCDate(at.getUTCDate() + 1)
    clock.advance(at.getTime() - clock.wall())
  }
  to(8, 59)
  await pace(engine.deps)
  expect(await live(draft.id)).toHaveLength(0)
  to(9)
  clock.advance(RAMPED_MS)
  await pace(engine.deps)
  const [call] = await live(draft.id)
  expect(call!.to_phone).toBe('+493012345678')
  const [abroad] = await contactsOf(owner, draft.id)
  expect(abroad.status).toBe('pending')
  expect(new Date(abroad.next_attempt_at).getUTCHours()).toSatisfy((hour: number) => hour === 12 || hour === 13)
  await end(engine.deps, call!.id, { status: 'completed' })
  to(17, 59)
  await pace(engine.deps)
  const [row] = await control.deps.sql<{ to_phone: string; deadline_at: Date }[]>`
    select to_phone, deadline_at from calls where campaign_id = ${draft.id} and ended_at is null`
  expect(row!.to_phone).toBe('+12122345678')
  expect(row!.deadline_at.toISOString()).toMatch(/T18:00:00\.000Z$/)
  await endAll(draft.id, { status: 'completed' })
})

test('starts a scheduled campaign on time; pause lets live calls end; stop cancels the rest', async () => {
  const owner = await createTenant(control)
  const { clock } = control.deps
  const start = new Date(clock.wall() + 3_600_000).toISOString()
  const { id } = await createFilled(owner, 6, { params: { ...always, concurrency: 2, scheduled_start_at: start } })
  expect((await step(owner, id, 'start')).body.status).toBe('scheduled')
  await pace(engine.deps)
  expect((await see(owner, id)).status).toBe('scheduled')
  clock.advance(3_601_000)
  await pace(engine.deps)
  clock.advance(RAMPED_MS)
  await pace(engine.deps)
  expect(await live(id)).toHaveLength(2)
  // No engine has claimed them yet: a pause withdraws them, and they do not count as attempts.
  await step(owner, id, 'pause')
  expect(await live(id)).toHaveLength(0)
  expect((await see(owner, id)).counters).toMatchObject({ pending: 6 })
  await step(owner, id, 'resume')
  clock.advance(RAMPED_MS)
  await pace(engine.deps)
  const [first, second] = await live(id)
  for (const { id: taken } of [first!, second!]) expect(await control.deps.bus.withdraw(taken)).toBe(true)
  await step(owner, id, 'pause')
  await end(engine.deps, first!.id)
  await pace(engine.deps)
  expect(await live(id)).toHaveLength(1)
  const contacts = await contactsOf(owner, id)
  expect(contacts.find((one: { phone: string }) => one.phone === first!.to_phone)).toMatchObject({
    status: 'pending',
    attempts: 1,
  })
  await end(engine.deps, second!.id)
  await step(owner, id, 'resume')
  clock.advance(RAMPED_MS)
  await pace(engine.deps)
  expect(await live(id)).toHaveLength(2)
  // As if the process had died between the stop and its work on the queue.
  await control.deps.sql`update campaigns set status = 'stopped' where id = ${id}`
  await control.deps.sql`
    with gone as (update campaign_contacts set status = 'canceled' where campaign_id = ${id} and status = 'pending' returning 1)
    update campaign_counters set pending = 0, canceled = (select count(*) from gone) where campaign_id = ${id}`
  clock.advance(2000)
  await pace(engine.deps)
  expect(await live(id)).toHaveLength(0)
  expect((await see(owner, id)).counters).toMatchObject({ total: 6, canceled: 6 })
  expect(await contradictions(control)).toEqual([])
})

test('shares the dial rate of a trunk evenly between campaigns, with two processes', async () => {
  const owner = await createTenant(control)
  await owner.call('PATCH', `/trunks/${owner.trunkId}`, { max_cps: 10 })
  const ids = [await running(owner, 30, { concurrency: 30 }), await running(owner, 30, { concurrency: 30 })]
  const own = stubEngine(control.deps)
  let lookedAt = Infinity
  const engines = () => {
    lookedAt = Math.min(lookedAt, performance.now())
    return own.deps.bus.engines()
  }
  const watched = { ...own.deps, bus: { ...own.deps.bus, engines } }
  const first = await startControl(watched)
  const second = startPacer(watched)
  try {
    await until(() => own.placed.length >= 30, 'thirty calls', 30_000)
  } finally {
    await Promise.all([first.stop(), second.stop()])
  }
  const of = new Map((await live(...ids)).map(call => [call.id, call.campaign_id]))
  const counts = ids.map(id => own.placed.slice(0, 20).filter(one => of.get(one.id) === id).length)
  expect(Math.abs(counts[0]! - counts[1]!)).toBeLessThanOrEqual(6)
  // Each dial is at its rate token or later, 103 ms apart; the first not before the pacer ran.
  for (const [index, { at }] of own.placed.entries()) {
    expect([index, at - lookedAt >= index * 103]).toEqual([index, true])
  }
  for (const id of ids) await step(owner, id, 'stop')
  for (const id of ids) await endAll(id)
})

test('skips nobody and dials nobody twice under random pauses, resumes and call ends', async () => {
  const owner = await createTenant(control)
  const { id } = await createFilled(owner, 60, {
    params: { ...always, concurrency: 20, retries: 1, retry_interval_min: 1 },
  })
  const ended: Promise<unknown>[] = []
  const outcomes = [
    { status: 'busy', ended_reason: 'busy' },
    { status: 'no_answer', ended_reason: 'no_answer' },
    { status: 'completed' },
    { status: 'failed', ended_reason: 'carrier_error' },
  ] as const
  const own = stubEngine(control.deps, {
    onPlace({ plan }) {
      const delay = new Promise(resolve => setTimeout(resolve, Math.random() * 60))
      ended.push(delay.then(() => end(control.deps, plan.call_id, outcomes[Math.floor(Math.random() * 4)]!)))
    },
  })
  const process = await startControl(own.deps)
  try {
    await step(owner, id, 'start')
    for (let i = 0; i < 15; i++) {
      await new Promise(resolve => setTimeout(resolve, Math.random() * 80))
      const { status } = await step(owner, id, i % 2 === 0 ? 'pause' : 'resume')
      // By chance all are called already.
      if (status !== 200) expect((await see(owner, id)).status).toBe('completed')
      control.deps.clock.advance(10_000)
    }
    await step(owner, id, 'resume')
    await until(
      async () => {
        control.deps.clock.advance(10_000)
        return (await see(owner, id)).status === 'completed'
      },
      'the end of the campaign',
      40_000,
    )
  } finally {
    await process.stop()
    await Promise.all(ended)
  }
  expect(await contradictions(control)).toEqual([])
  const rows = await control.deps.sql<{ attempts: number; calls: number }[]>`
    select attempts, (
      select count(*)::int from calls where campaign_contact_id = c.id and ended_reason <> 'queue_expired'
    ) as calls
    from campaign_contacts c where campaign_id = ${id}`
  expect(rows).toHaveLength(60)
  expect(rows.every(({ attempts, calls }) => attempts === calls && attempts >= 1 && attempts <= 2)).toBe(true)
  const { counters } = await see(owner, id)
  expect(counters.pending + counters.dialing + counters.in_progress + counters.skipped + counters.canceled).toBe(0)
})

test('lets another process dial when the leader loses its lock', async () => {
  const owner = await createTenant(control)
  const id = await running(owner, 40, { concurrency: 1 })
  const pools: Sql[] = []
  const pacers = Array.from({ length: 2 }, () => {
    const sql = connect({ url: control.databaseUrl, max: 4 })
    pools.push(sql)
    return startPacer({ ...engine.deps, sql })
  })
  const holder = async () => {
    const [row] = await control.deps.sql<{ pid: number }[]>`
      select pid from pg_locks where locktype = 'advisory' and objid = 727276 and granted
        and database = (select oid from pg_database where datname = current_database())`
    return row?.pid
  }
  try {
    const pid = await until(holder, 'a leader')
    await until(async () => (await live(id)).length === 1, 'the first call')
    await control.deps.sql`select pg_terminate_backend(${pid})`
    const lostAt = performance.now()
    await until(async () => ![undefined, pid].includes(await holder()), 'the next leader')
    // Within 2 s where the machine is idle; a look every 500 ms.
    expect(performance.now() - lostAt).toBeLessThan(8000)
    await endAll(id)
    await until(async () => (await live(id)).length === 1, 'the next call')
    // Told of the end of a call it need not wait for its next look.
    for (let i = 0; i < 5; i++) {
      const [call] = await live(id)
      await end(engine.deps, call!.id, { status: 'completed' })
      await until(async () => (await live(id)).some(one => one.id !== call!.id), 'the call after it')
    }
  } finally {
    await Promise.all(pacers.map(pacer => pacer.stop()))
    await Promise.all(pools.map(sql => sql.end()))
  }
  expect(await paceOnce(engine.deps, newPacerState())).toBe(false)
  await step(owner, id, 'stop')
  await endAll(id)
})
