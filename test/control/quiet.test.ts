/** Dead air in calls: times when nobody spoke, and the party at fault. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createCallMeters } from '../../control/metrics/call-meters.ts'
import { DEAD_MS, quietOf } from '../../control/metrics/quiet.ts'
import type { CallRecord, ToolCall, Turn } from '../../media/contract/messages.ts'
import { createMetrics } from '../../media/shared/metrics.ts'
import { record } from '../support/records.ts'

const turn = (role: Turn['role'], started_ms: number, ended_ms: number): Turn => ({
  role,
  text: 'x',
  heard_text: 'x',
  interrupted: false,
  started_ms,
  ended_ms,
})
const agent = (from: number, to: number) => turn('agent', from, to)
const caller = (from: number, to: number) => turn('caller', from, to)
const tool = (name: string, started_ms: number, ms: number): ToolCall => ({
  name,
  arguments: {},
  started_ms,
  ms,
  status: 'ok',
  http_status: null,
  result: '',
  filler: [],
})
const call = (transcript: Turn[], part: Partial<CallRecord> = {}) =>
  quietOf(record({ talked_ms: 20_000, transcript, ...part }))

describe('dead air', () => {
  it('starts after the maximum latency', () => {
    expect(call([caller(0, 1000), agent(3500, 20_000)]).deadAir).toEqual([2500])
    expect(call([caller(0, 1000), agent(1000 + DEAD_MS, 20_000)]).deadAir).toEqual([])
    expect(call([caller(0, 1000), agent(1001 + DEAD_MS, 20_000)]).deadAir).toEqual([DEAD_MS + 1])
  })

  it('ignores thinking time of the caller and time before the first speech', () => {
    expect(call([agent(5000, 6000), caller(15_000, 16_000), agent(17_000, 20_000)]).deadAir).toEqual([])
  })

  it('ends with the next speaker or the call', () => {
    expect(call([agent(0, 500), caller(600, 1000), caller(5000, 6000), agent(6500, 20_000)]).deadAir).toEqual([4000])
    expect(call([agent(0, 500), caller(600, 1000)]).deadAir).toEqual([19_000])
  })

  it('continues after a filler while the tool runs', () => {
    const transcript = [caller(0, 1000), agent(1500, 2500), turn('tool', 1200, 9000), agent(9500, 20_000)]
    expect(call(transcript, { tool_calls: [tool('find_order', 1200, 7800)] }).deadAir).toEqual([7000])
    // It was done before the silence began: the agent had said what there was to say.
    expect(call(transcript, { tool_calls: [tool('find_order', 1200, 1000)] }).deadAir).toEqual([])
  })

  it('uses the later end of overlapping speech', () => {
    expect(call([agent(0, 5000), caller(1000, 2000), caller(9000, 9500), agent(10_000, 20_000)]).deadAir).toEqual([])
    expect(call([agent(0, 2000), caller(1000, 5000), agent(9000, 20_000)]).deadAir).toEqual([4000])
    // The order of a transcript is not always that of the sounds.
    expect(call([agent(9000, 20_000), caller(1000, 5000)]).deadAir).toEqual([4000])
  })

  it('ignores operators, machines and transferred time', () => {
    expect(call([caller(0, 1000), turn('operator', 9000, 20_000)]).deadAir).toEqual([])
    for (const answered_by of ['machine', 'screening'] as const) {
      expect(call([caller(0, 1000), agent(9000, 20_000)], { answered_by })).toEqual({ deadAir: [], share: null })
    }
    const given = { tool_calls: [tool('transfer_call', 1200, 6000)] }
    expect(call([caller(0, 1000), agent(9000, 20_000)], given)).toEqual({ deadAir: [], share: null })
    const away = { ended_reason: 'transferred' as const }
    expect(call([caller(0, 1000), agent(1500, 2500), caller(2600, 3000)], away)).toEqual({ deadAir: [], share: null })
  })
})

describe('silence ratio', () => {
  it('is the time since the first speech without speech', () => {
    expect(call([agent(10_000, 12_000), caller(13_000, 15_000), agent(15_000, 20_000)]).share).toBeCloseTo(0.1)
    expect(call([agent(0, 20_000)]).share).toBe(0)
  })

  it('is null without speech', () => {
    expect(call([])).toEqual({ deadAir: [], share: null })
    expect(call([turn('tool', 0, 1000)])).toEqual({ deadAir: [], share: null })
  })

  it('is at most 1, and at least the dead air', () => {
    const turns = fc.array(
      fc
        .record({
          role: fc.constantFrom('agent' as const, 'caller' as const, 'operator' as const, 'tool' as const),
          from: fc.nat(30_000),
          ms: fc.nat(8000),
        })
        .map(({ role, from, ms }) => turn(role, from, from + ms)),
    )
    const tools = fc.array(
      fc.record({ from: fc.nat(30_000), ms: fc.nat(8000) }).map(({ from, ms }) => tool('x', from, ms)),
    )
    fc.assert(
      fc.property(turns, tools, fc.nat(5000), (transcript, tool_calls, more) => {
        const talked_ms = Math.max(0, ...transcript.map(({ ended_ms }) => ended_ms)) + more
        const { deadAir, share } = call(transcript, { tool_calls, talked_ms })
        if (share === null) {
          expect(deadAir).toEqual([])
          return
        }
        expect(share).toBeGreaterThanOrEqual(0)
        expect(share).toBeLessThanOrEqual(1)
        const spoken = transcript.filter(({ role }) => role !== 'tool')
        const heardMs = talked_ms - Math.min(...spoken.map(({ started_ms }) => started_ms))
        const dead = deadAir.reduce((sum, ms) => sum + ms, 0)
        expect(dead).toBeLessThanOrEqual(share * heardMs + 1e-6)
        for (const ms of deadAir) expect(ms).toBeGreaterThan(DEAD_MS)
      }),
    )
  })
})

it('both are counted when a call has ended', () => {
  const metrics = createMetrics()
  const transcript = [caller(0, 1000), agent(4000, 9000), caller(9100, 9500), agent(9900, 10_000)]
  createCallMeters(metrics).ended(record({ talked_ms: 10_000, transcript }))
  const lines = metrics.text().split('\n')
  expect(lines).toContain('parley_dead_air_seconds_sum 3')
  expect(lines).toContain('parley_dead_air_seconds_count 1')
  expect(lines).toContain('parley_dead_air_seconds_bucket{le="3"} 1')
  expect(lines).toContain('parley_dead_air_seconds_bucket{le="2.5"} 0')
  expect(lines).toContain('parley_call_quiet_ratio_count 1')
  expect(lines).toContain('parley_call_quiet_ratio_sum 0.35')
})
