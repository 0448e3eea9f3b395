import { expect, test } from 'vitest'
import type { Point } from './media.ts'
import type { WindowReport } from './media-caller.ts'
import { linesOf, seriesOf } from './media-lines.ts'
import { DIAGO, ECHO, TALK } from './media-sides.ts'

const report = (over: Partial<WindowReport> = {}): WindowReport => ({
  sent: 500,
  received: 500,
  lost: 0,
  late: 0,
  holes: 0,
  gaps: 0,
  own_late_p99_ms: 0.1,
  own_late_max_ms: 0.2,
  between_std_ms: 0.1,
  between_p99_ms: 20.1,
  ear_p50_ms: 10,
  ear_p95_ms: 19,
  turn_ms: [],
  interrupted: 0,
  unheard: 0,
  ...over,
})

const point = (system: string, cpu: Record<string, number>[], over: Partial<Point> = {}): Point => ({
  system,
  calls: 50,
  memoryMb: null,
  flaw: null,
  windows: cpu.map(one => ({ cpu: one, report: report(), callerCores: 0.1 })),
  ...over,
})

test('an echo costs what all its processes do, in the middle of its windows, beside the other of the same load', () => {
  const ours = point(ECHO, [
    { server: 0.1, engine: 0.2 },
    { server: 0, engine: 0.9 },
    { server: 0.1, engine: 0.3 },
  ])
  const lines = linesOf([ours, point(DIAGO, [{ diago: 0.2 }]), point(DIAGO, [{ diago: 9 }], { calls: 100 })], 500)
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatchObject({ value: 0.4, reference: 0.2, ratio: 2, ok: true })
})

test('the latency of a conversation is over all its turns, without the silence that ends them', () => {
  const windows = [[530, 540], [520], [700, 550]].map(turn_ms => ({
    cpu: { engine: 0.3, speech: 0.2 },
    callerCores: 0.1,
    report: report({ turn_ms }),
  }))
  const talk = point(TALK, [], { windows, memoryMb: 3.5 })
  const [cpu, beyond, memory] = linesOf([talk], 500)
  expect(cpu).toMatchObject({ value: 0.5, reference: 0.6, ok: true })
  expect(beyond).toMatchObject({ value: 40, reference: 45, ok: true })
  expect(memory).toMatchObject({ value: 3.5, ok: false })
})

test('what is not valid is named in its line, misses, and is marked in every curve', () => {
  const flawed = point(ECHO, [{ engine: 0.1 }], { flaw: '40 of 500 packets did not come' })
  const [line] = linesOf([flawed, point(DIAGO, [{ diago: 0.2 }])], 500)
  expect(line!.name).toContain('40 of 500 packets did not come')
  expect(line!.ok).toBe(false)
  const curves = seriesOf([flawed], 500)
  expect(curves.map(({ figure }) => figure)).toContain('media: mouth to ear, p95')
  expect(curves.flatMap(({ points }) => points.map(({ valid }) => valid))).not.toContain(true)
  // Nothing was looked at, or said: no curve of it.
  expect(curves.some(({ figure }) => /memory|voice/.test(figure))).toBe(false)
})
