/** Campaigns whose process dies in the middle of a step; pace, window and spending limit of campaigns that continue. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startControl } from '../../../control/app.ts'
import { createReaper, handleEvent } from '../../../control/background/engine.ts'
import { createCampaignDialer } from '../../../control/outreach/campaigns/dialer.ts'
import { newPacerState, paceOnce, startPacer } from '../../../control/outreach/campaigns/pacer.ts'
import { connect, connectAlone, type Sql } from '../../../control/platform/db/connect.ts'
import { createDialRateLimiter } from '../../../media/bus/dial-rate.ts'
import { busKeys } from '../../../media/bus/keys.ts'
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
const see = async (owner: Tenant, id: string) => (await owner.call('GET', `/campaigns/${id}`)).body
const live = (...ids: string[]) => liveCalls(control, ...ids)
const contactOf = async (callId: string) => {
  const [row] = await control.deps.sql<{ status: string; attempts: number }[]>`
    select c.status, c.attempts from campaign_contacts c join calls on calls.campaign_contact_id = c.id
    where calls.id = ${callId}`
  return row
}
async function stopAll(owner: Tenant, id: string): Promise<void> {
  await step(owner, id, 'stop')
  for (const call of await live(id)) await end(control.deps, call.id)
}

/** Calls of a campaign with the commands of real offers in the stream. */
async function offered(owner: Tenant, calls: number, params: object = {}): Promise<{ id: string; calls: string[] }> {
  const id = await running(owner, calls, { concurrency: calls, ...params })
  await pace(engine.deps)
  const ids = (await live(id)).map(call => call.id)
  expect(ids).toHaveLength(calls)
  const dialer = createCampaignDialer(control.deps)
  await dialer.offer(ids)
  await dialer.stop()
  return { id, calls: ids }
}

test('closes a call whose engine died when that is certain, not when the queue expires', async () => {
  const owner = await createTenant(control)
  const { id, calls } = await offered(owner, 2, { retries: 0 })
  const dying = control.engine('dying')
  const taken: string[] = []
  const reader = dying.onPlace(
    () => 2,
    plan => void taken.push(plan.call_id), // and not a word of it
  )
  await until(() => taken.length === 2, 'both commands taken')
  await reader.stop()
  for (const call of calls) expect(await control.deps.bus.holder(call)).toMatchObject({ engine: 'dying' })
  // The lease of one runs out; the other is still renewed.
  await dying.dropLease(calls[0]!)
  const reaper = createReaper(control.deps)
  for (const ms of [0, 37_000]) {
    control.deps.clock.advance(ms)
    await reaper.sweep()
  }
  expect(await live(id)).toHaveLength(2)
  control.deps.clock.advance(37_000)
  await reaper.sweep()
  control.deps.clock.advance(2000)
  await reaper.sweep()
  expect((await live(id)).map(call => call.id)).toEqual([calls[1]])
  expect(await contactOf(calls[0]!)).toEqual({ status: 'failed', attempts: 1 })

  // The engine restarts with a new boot, so the call of its earlier boot is lost at once.
  await handleEvent(control.deps, {
    v: 1,
    type: 'engine.started',
    engine: 'dying',
    boot: 'next',
    at: control.deps.clock.wall(),
  })
  expect(await live(id)).toHaveLength(0)
  expect(await contradictions(control)).toEqual([])
  await stopAll(owner, id)
})

test('redelivers a command whose engine died before it claimed the call', async () => {
  const owner = await createTenant(control)
  const { id, calls } = await offered(owner, 1)
  const { redis, config } = control.deps
  const { commands } = busKeys(config.redis_prefix)
  await redis.xgroup('CREATE', commands, 'engines', '0', 'MKSTREAM').catch(() => {})
  // Read, and then nothing more.
  await redis.xreadgroup('GROUP', 'engines', 'dead', 'COUNT', 10, 'STREAMS', commands, '>')
  const taken: string[] = []
  const reader = control.engine('other').onPlace(
    () => 5,
    plan => void taken.push(plan.call_id),
  )
  await until(() => taken.length === 1, 'the command of the dead')
  await reader.stop()
  expect(taken).toEqual(calls)
  expect((await redis.xpending(commands, 'engines'))[0]).toBe(0)
  await stopAll(owner, id)
})

test('does not count a withdrawn call as an attempt when the process died', async () => {
  const owner = await createTenant(control)
  const { id, calls } = await offered(owner, 1, { retries: 0 })
  await step(owner, id, 'pause') // takes it back; and again as if it had died right then
  await step(owner, id, 'resume')
  control.deps.clock.advance(61_000 + RAMPED_MS)
  await pace(engine.deps)
  const [again] = await live(id)
  expect(again!.id).not.toBe(calls[0])
  expect(await control.deps.bus.withdraw(again!.id)).toBe(true)
  const reaper = createReaper(control.deps)
  for (const ms of [0, 37_000, 37_000, 2000]) {
    control.deps.clock.advance(ms)
    await reaper.sweep()
  }
  expect(await contactOf(again!.id)).toEqual({ status: 'pending', attempts: 0 })
  expect(await contradictions(control)).toEqual([])
  await stopAll(owner, id)
})

test('ignores a late start event of an earlier boot', async () => {
  const owner = await createTenant(control)
  const { id, calls } = await offered(owner, 1)
  const now = control.engine('twice')
  const taken: string[] = []
  const reader = now.onPlace(
    () => 1,
    plan => void taken.push(plan.call_id),
  )
  await until(() => taken.length === 1, 'the command')
  await reader.stop()
  await now.heartbeat({ calls: 1, capacity: 1, stt_ready: true, rooms: false })
  const { boot } = now
  const at = control.deps.clock.wall()
  const head = { v: 1, call_id: calls[0]!, owner_id: owner.ownerId, seq: 1, at } as const
  await handleEvent(control.deps, { ...head, type: 'call.started', engine: 'twice', boot })
  await handleEvent(control.deps, { v: 1, type: 'engine.started', engine: 'twice', boot: 'before', at: at - 60_000 })
  expect(await contactOf(calls[0]!)).toEqual({ status: 'in_progress', attempts: 1 })
  await stopAll(owner, id)
})

/** So many contacts, without telephones that libphonenumber would have to read. */
async function filled(owner: Tenant, contacts: number, status: string): Promise<string> {
  const { id } = await createFilled(owner, 1, { params: always })
  await step(owner, id, 'start')
  await step(owner, id, 'stop')
  await control.deps.sql.begin(async tx => {
    await tx`delete from campaign_contacts where campaign_id = ${id}`
    await tx`
      insert into campaign_contacts (id, campaign_id, owner_id, seq, phone, status, attempts, next_attempt_at, created_at)
      select gen_random_uuid(), ${id}, ${owner.ownerId}, n, '+1212' || (5000000 + n), ${status}, 1, now(), now()
      from generate_series(1, ${contacts}::int) n`
    await tx`update campaign_counters set canceled = 0, total = ${contacts}, ${tx(status)} = ${contacts} where campaign_id = ${id}`
  })
  return id
}

/** The longest time that the row of a campaign could not be had by the end of a call, looking again and again until then. */
async function longestWait(id: string, done: Promise<unknown>): Promise<number> {
  let [worst, over] = [0, false]
  void done.finally(() => (over = true))
  while (!over) {
    const from = performance.now()
    await control.deps.sql`select 1 from campaigns where id = ${id} for key share`
    worst = Math.max(worst, performance.now() - from)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  return worst
}

test('stops and requeues many contacts in batches, without blocking ends of calls', async () => {
  const owner = await createTenant(control)
  const id = await filled(owner, 12_000, 'no_answer')
  const timed = async (action: string) => {
    const from = performance.now()
    const done = step(owner, id, action)
    const wait = await longestWait(id, done)
    expect((await done).status).toBe(200)
    return { wait, took: performance.now() - from }
  }
  const requeue = await timed('requeue')
  expect((await see(owner, id)).counters).toMatchObject({ pending: 12_000, no_answer: 0 })
  expect((await see(owner, id)).status).toBe('running')
  const stop = await timed('stop')
  expect((await see(owner, id)).counters).toMatchObject({ canceled: 12_000, pending: 0 })
  // The work is done in twelve steps, and the end of a call waits for one of them at most.
  expect(requeue.wait).toBeLessThan(requeue.took / 2)
  expect(stop.wait).toBeLessThan(stop.took / 2)
  expect(await contradictions(control)).toEqual([])
})

test('completes an interrupted stop before the contacts can be requeued', async () => {
  const owner = await createTenant(control)
  const [left, again] = [await filled(owner, 1500, 'pending'), await filled(owner, 1500, 'pending')]
  const { sql, clock } = control.deps
  await sql`
    with one as (update campaign_contacts set status = 'busy' where campaign_id = ${again} and seq = 1 returning 1)
    update campaign_counters set pending = pending - 1, busy = 1 from one where campaign_id = ${again}`
  expect((await step(owner, again, 'requeue')).body).toMatchObject({
    status: 'running',
    counters: { pending: 1, canceled: 1499 },
  })
  await stopAll(owner, again)
  clock.advance(61_000)
  for (let i = 0; i < 2; i++) {
    clock.advance(2000)
    await pace(engine.deps)
  }
  expect((await see(owner, left)).counters).toMatchObject({ pending: 0, canceled: 1500 })
  expect(await contradictions(control)).toEqual([])
})

test('replaces a dead leader within a few checks, half a second apart', async () => {
  const { sql, clock } = control.deps
  const pools: Sql[] = []
  const rests: number[] = [0, 0]
  const pacers = rests.map((_, i) => {
    const pool = connect({ url: control.databaseUrl, max: 2 })
    pools.push(pool)
    const after: typeof clock.after = (ms, run) => {
      if (ms === 500) rests[i]!++
      return clock.after(ms, run)
    }
    return startPacer({ ...control.deps, sql: pool, clock: { ...clock, after } })
  })
  const holder = async () => {
    const [row] = await sql<{ pid: number }[]>`
      select pid from pg_locks where locktype = 'advisory' and objid = 727276 and granted
        and database = (select oid from pg_database where datname = current_database())`
    return row?.pid
  }
  const alone = connectAlone(sql)
  try {
    const [settings] = await alone<Record<string, string>[]>`
      select current_setting('tcp_keepalives_idle') as idle, current_setting('tcp_keepalives_interval') as interval,
        current_setting('tcp_keepalives_count') as count, current_setting('tcp_user_timeout') as unanswered`
    expect(settings).toEqual({ idle: '1', interval: '1', count: '1', unanswered: '2000' })
    const pid = await until(holder, 'a leader')
    // Followers try to take the lead again and again; the leader does not.
    await until(() => rests.some(one => one >= 2), 'the looks of who follows')
    rests.fill(0)
    await sql`select pg_terminate_backend(${pid})`
    await until(async () => ![undefined, pid].includes(await holder()), 'the next leader')
    // Three attempts take a second and a half.
    expect(Math.min(...rests)).toBeLessThanOrEqual(3)
  } finally {
    await alone.end()
    await Promise.all(pacers.map(pacer => pacer.stop()))
    await Promise.all(pools.map(pool => pool.end()))
  }
})

test('rechecks a closed window after a second, or when it opens', async () => {
  const owner = await createTenant(control)
  const at = new Date(control.deps.clock.wall())
  const hour = (of: number) => `${String((at.getUTCHours() + of) % 24).padStart(2, '0')}:00`
  const id = await running(owner, 1, { window_start: hour(3), window_end: hour(5) })
  const state = newPacerState()
  await paceOnce(engine.deps, state)
  expect(state.asleep.get(id)).toBeGreaterThan(state.sweptAtMs + 900)
  await stopAll(owner, id)
})

test('counts the possible cost of live calls against a limit set during a pause', async () => {
  const owner = await createTenant(control)
  const id = await running(owner, 6, { concurrency: 2 })
  await pace(engine.deps)
  const before = await live(id)
  expect(before).toHaveLength(2)
  for (const call of before) expect(await control.deps.bus.withdraw(call.id)).toBe(true) // taken: they talk on
  await step(owner, id, 'pause')
  const changed = { params: { max_spend: '100', concurrency: 4 } }
  expect((await owner.call('PATCH', `/campaigns/${id}`, changed)).status).toBe(200)
  await step(owner, id, 'resume')
  control.deps.clock.advance(RAMPED_MS)
  await pace(engine.deps)
  expect(await live(id)).toHaveLength(2)
  for (const call of before) await end(control.deps, call.id, { status: 'completed', talked_ms: 60_000 })
  await pace(engine.deps)
  expect(await live(id)).toHaveLength(4)
  await stopAll(owner, id)
  expect(await contradictions(control)).toEqual([])
})

/** The most of them in any second. */
const most = (times: readonly number[]) =>
  Math.max(...times.map((from, index) => times.slice(index).filter(at => at < from + 1000).length))

/** The best of all intervals of so many. */
function bestRate(times: readonly number[], count: number): number {
  const rates = times.slice(count).map((at, index) => (count * 1000) / (at - times[index]!))
  return Math.max(...rates)
}

test('dials at the rate of the trunk and never faster', async () => {
  const owner = await createTenant(control)
  const maxCps = 20
  await owner.call('PATCH', `/trunks/${owner.trunkId}`, { max_cps: maxCps })
  const dialed: number[] = []
  const { redis, clock, config } = control.deps
  // A process that stood still loses its turn by design (`LATE_MS`): how fast a campaign is shows in the turns it was given.
  const turns: number[] = []
  const given = async (...asked: Parameters<typeof redis.eval>) => {
    const waitMs = Number(await redis.eval(...asked))
    turns.push(performance.now() + waitMs)
    return waitMs
  }
  const noted = { eval: given } as unknown as typeof redis
  const turn = createDialRateLimiter({ redis: noted, key: busKeys(config.redis_prefix).trunkRateToken, clock })
  const done: Promise<unknown>[] = []
  const signal = new AbortController().signal
  const dial = async (callId: string) => {
    if (await turn({ trunkId: owner.trunkId, maxCps, maxWaitMs: 60_000, signal })) dialed.push(performance.now())
    await end(control.deps, callId, { status: 'busy', ended_reason: 'busy' })
  }
  const own = stubEngine(control.deps, { onPlace: ({ plan }) => void done.push(dial(plan.call_id)) })
  await running(owner, 200, { concurrency: 100, retries: 0 })
  const process = await startControl(own.deps)
  try {
    await until(() => dialed.length === 200, 'all attempts', 30_000)
  } finally {
    await process.stop()
    await Promise.all(done)
  }
  expect(dialed).toHaveLength(200)
  expect(most(dialed)).toBeLessThanOrEqual(maxCps)
  turns.sort((a, b) => a - b)
  expect(bestRate(turns, 40)).toBeGreaterThanOrEqual(0.95 * maxCps)
  expect(turns.length).toBeLessThan(1.25 * dialed.length)
})
