/** Metrics of control: calls, pending work and money of an installation. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { handleEvent } from '../../control/background/engine.ts'
import { estimateMos, lossOf } from '../../control/metrics/call-meters.ts'
import { createControlMeters } from '../../control/metrics/meters.ts'
import { watchLedger, watchWork } from '../../control/metrics/state.ts'
import { enqueue } from '../../control/platform/jobs/jobs.ts'
import { busKeys } from '../../media/bus/keys.ts'
import { readBusAges } from '../../media/bus/stream-ages.ts'
import type { CallEventBody, MediaStats } from '../../media/contract/messages.ts'
import { createMetrics, type Metrics } from '../../media/shared/metrics.ts'
import { createControl, createTenant, nextPhone, type Tenant, type TestControl } from '../support/control.ts'
import { record } from '../support/records.ts'

let control: TestControl
let owner: Tenant
let metrics: Metrics
let meters: ReturnType<typeof createControlMeters>
beforeAll(async () => {
  control = await createControl()
  owner = await createTenant(control)
  metrics = createMetrics()
  meters = createControlMeters(metrics)
  control.deps.meters = meters
})
afterAll(() => control?.close())

const shown = (series: string): number => {
  const line = metrics
    .text()
    .split('\n')
    .find(one => one.startsWith(`${series} `))
  if (line === undefined) throw new Error(`${series} is not shown`)
  return Number(line.split(' ').at(-1))
}

const media: MediaStats = {
  codec: 'PCMU',
  packets_sent: 500,
  packets_received: 495,
  packets_lost: 5,
  packets_late: 5,
  packets_rejected: 0,
  jitter_ms: 4,
}
const waited = { endpointing_ms: 0, stt_ms: 0, llm_first_token_ms: 0, tts_first_byte_ms: 0 }

describe('a call', () => {
  it('is counted once for repeated events', async () => {
    const { body } = await owner.call('POST', '/calls', { project_id: owner.projectId, phone: nextPhone() })
    const turns = [
      { ...waited, total_ms: 700, filler: false },
      { ...waited, total_ms: 450, filler: true },
    ]
    const bodies: CallEventBody[] = [
      { type: 'call.dialing', engine: 'e', boot: 'b' },
      { type: 'call.started', engine: 'e', boot: 'b' },
      { type: 'call.ended', record: record({ media, latency: { p50_ms: 700, p95_ms: 700, turns } }) },
    ]
    const head = { v: 1 as const, at: control.deps.clock.wall(), call_id: body.id, owner_id: owner.ownerId }
    for (const told of [bodies.slice(0, 1), bodies, bodies]) {
      for (const [index, event] of told.entries())
        await handleEvent(control.deps, { ...head, seq: index + 1, ...event })
    }
    expect(shown('parley_calls_dialed_total')).toBe(1)
    expect(shown('parley_calls_ended_total{status="completed"}')).toBe(1)
    expect(shown('parley_calls_ended_total{status="failed"}')).toBe(0)
    expect(shown('parley_voice_to_voice_seconds_sum{first="answer"}')).toBe(0.7)
    expect(shown('parley_voice_to_voice_seconds_sum{first="filler"}')).toBe(0.45)
    expect(shown('parley_call_jitter_seconds_sum')).toBe(0.004)
    expect(shown('parley_call_loss_ratio_sum')).toBeCloseTo(0.02)
    expect(shown('parley_call_mos_count')).toBe(1)
  })

  it('has no MOS without media', async () => {
    meters.calls.ended(record({ status: 'no_answer' }))
    meters.calls.ended(record({ media: { ...media, packets_received: 0 } }))
    expect(shown('parley_call_mos_count')).toBe(1)
    expect(shown('parley_calls_ended_total{status="no_answer"}')).toBe(1)
  })
})

describe('the estimate of a MOS', () => {
  const mos = (part: Partial<MediaStats>) =>
    estimateMos({ packets_received: 1000, packets_lost: 0, packets_late: 0, jitter_ms: 0, ...part })

  it('equals G.107 for defaults and G.113 for loss', () => {
    // R = 93.2 less the delay of one packet: 4.4 by annex B.
    expect(mos({})).toBeCloseTo(4.4, 1)
    // 2 % of single losses: Ie,eff = 95 · 2 / 27.1 = 7.0, R = 85.7.
    expect(mos({ packets_received: 980, packets_lost: 20 })).toBeCloseTo(4.25, 1)
    expect(mos({ packets_received: 800, packets_lost: 200 })).toBeCloseTo(2.6, 1)
  })

  it('decreases with loss, late packets and jitter, within its scale', () => {
    const falling = [
      mos({}),
      mos({ jitter_ms: 30 }),
      mos({ jitter_ms: 120 }),
      mos({ jitter_ms: 120, packets_late: 100 }),
    ]
    expect(falling).toEqual([...falling].sort((a, b) => b - a))
    expect(mos({ packets_received: 1, packets_lost: 999, jitter_ms: 900 })).toBe(1)
    expect(lossOf({ packets_received: 10, packets_lost: 0, packets_late: 20, jitter_ms: 0 })).toBe(1)
  })
})

describe('state metrics', () => {
  it('report the age of due jobs by queue', async () => {
    const { deps } = control
    const { oldest_s, waiting } = await callsWaiting()
    await deps.sql.begin(async tx => {
      await enqueue(deps, tx, 'knowledge.forget', { keys: [] }, { startAfter: 3600 })
      await enqueue(deps, tx, 'webhook.deliver', { delivery_id: 'x', attempt: 1 })
    })
    await deps.sql`update parley_jobs.job set start_after = now() - interval '90 seconds' where name = 'webhook.deliver'`
    await watchWork(deps, meters.state)
    expect(shown('parley_jobs_waiting{queue="webhook.deliver"}')).toBeGreaterThanOrEqual(1)
    expect(shown('parley_jobs_oldest_seconds{queue="webhook.deliver"}')).toBeGreaterThanOrEqual(90)
    expect(shown('parley_jobs_waiting{queue="knowledge.forget"}')).toBe(0)
    expect(shown('parley_jobs_waiting{queue="call.place"}')).toBe(waiting)
    expect(shown('parley_jobs_oldest_seconds{queue="call.place"}')).toBeGreaterThanOrEqual(oldest_s)
    expect(shown('parley_state_timestamp_seconds')).toBeCloseTo(deps.clock.wall() / 1000, 0)
    await deps.sql`delete from parley_jobs.job where name = 'webhook.deliver'`
    await watchWork(deps, meters.state)
    expect(shown('parley_jobs_oldest_seconds{queue="webhook.deliver"}')).toBe(0)
  })

  it('report the age of unacknowledged bus entries', async () => {
    const { redis, config } = control.deps
    const { events } = busKeys(config.redis_prefix)
    expect((await readBusAges(redis, config.redis_prefix)).events).toEqual({ pending: 0, oldestMs: 0 })
    const [seconds] = await redis.time()
    const old = `${(Number(seconds) - 60) * 1000}-0`
    await redis.xadd(events, old, 'event', '{}')
    await redis.xgroup('CREATE', events, 'control', '0')
    const age = async () => (await readBusAges(redis, config.redis_prefix)).events
    expect((await age()).oldestMs).toBeGreaterThanOrEqual(60_000)
    await redis.xreadgroup('GROUP', 'control', 'one', 'STREAMS', events, '>')
    expect(await age()).toMatchObject({ pending: 1 })
    await watchWork(control.deps, meters.state)
    expect(shown('parley_bus_oldest_seconds{stream="events"}')).toBeGreaterThanOrEqual(60)
    await redis.xack(events, 'control', old)
    expect(await age()).toEqual({ pending: 0, oldestMs: 0 })
  })

  it('report ledger inconsistencies, and none when consistent', async () => {
    const { deps } = control
    await watchLedger(deps, meters.state)
    expect(shown('parley_ledger_drifted_balances')).toBe(0)
    const other = await createTenant(control)
    await other.call('POST', '/calls', { project_id: other.projectId, phone: nextPhone() })
    await watchLedger(deps, meters.state)
    expect(shown('parley_ledger_drifted_balances')).toBe(0)
    await deps.sql`update balances set available = available + 1 where owner_id = ${other.ownerId}`
    await watchLedger(deps, meters.state)
    expect(shown('parley_ledger_drifted_balances')).toBe(1)
    await deps.sql`update balances set available = available - 1, held = held + 1 where owner_id = ${other.ownerId}`
    await deps.sql`update balances set available = available + 1 where owner_id = ${owner.ownerId}`
    await watchLedger(deps, meters.state)
    expect(shown('parley_ledger_drifted_balances')).toBe(2)
  })
})

async function callsWaiting(): Promise<{ waiting: number; oldest_s: number }> {
  const [row] = await control.deps.sql<{ waiting: number; oldest_s: number }[]>`
    select count(*)::int as waiting, coalesce(extract(epoch from now() - min(start_after)), 0)::float8 as oldest_s
    from parley_jobs.job where name = 'call.place' and state in ('created', 'retry')`
  return row!
}
