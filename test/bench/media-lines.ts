/** Turns media measurements into lines and curves; a figure of several windows is their median. */
import type { Point, Window } from './media.ts'
import { DIAGO, ECHO, NODE, TALK } from './media-sides.ts'
import type { Line, Series } from './report.ts'
import { median, percentile } from './rpc.ts'

const MOST_CPU = 0.6
const MOST_MB = 3
const BEYOND_MS = 45

/** CPU seconds per minute of a call, over all processes of the system. */
const cpuOf = ({ windows }: Point) =>
  median(windows.map(({ cpu }) => Object.values(cpu).reduce((sum, part) => sum + part, 0)))
const of = ({ windows }: Point, figure: (report: Window['report']) => number) =>
  median(windows.map(({ report }) => figure(report)))
const turnsOf = ({ windows }: Point) => windows.flatMap(({ report }) => report.turn_ms)
const sumOf = ({ windows }: Point, figure: (report: Window['report']) => number) =>
  windows.reduce((sum, { report }) => sum + figure(report), 0)

/** `silenceMs`: silence after which the agent considers a turn ended. */
export function linesOf(points: readonly Point[], silenceMs: number): Line[] {
  const at = (system: string) => points.filter(point => point.system === system)
  const echoes = at(ECHO).flatMap(ours =>
    [DIAGO, NODE].flatMap(name => {
      const other = at(name).find(({ calls }) => calls === ours.calls)
      return other ? [beside(ours, other)] : []
    }),
  )
  return [...echoes, ...at(TALK).flatMap(point => talkLines(point, silenceMs))]
}

/** A ratio for information, without a bound. */
function beside(ours: Point, other: Point): Line {
  const [value, reference] = [cpuOf(ours), cpuOf(other)]
  const name = `echo of ${ours.calls} calls: CPU of a call beside ${other.system.replace(/, echo$/, '')}`
  const figures = { value, reference, unit: 'CPU s/min', ratio: value / reference, wanted: '-' }
  return flawed({ name, ...figures, ok: true }, ours.flaw ?? other.flaw)
}

function talkLines(point: Point, silenceMs: number): Line[] {
  const name = `conversation, one of ${point.calls}`
  const beyondMs = median(turnsOf(point)) - silenceMs
  const lines = [
    bound(`${name}: CPU of a call`, cpuOf(point), MOST_CPU, 'CPU s/min'),
    bound(`${name}: voice to voice beyond end-pointing, p50`, beyondMs, BEYOND_MS, 'ms'),
  ]
  const { memoryMb } = point
  if (memoryMb !== null) lines.push(bound(`${name}: memory after a minute`, memoryMb, MOST_MB, 'MB'))
  return lines.map(line => flawed(line, point.flaw))
}

const bound = (name: string, value: number, most: number, unit: string): Line => ({
  name,
  value,
  unit,
  reference: most,
  ratio: value / most,
  wanted: `≤ ${most} ${unit}`,
  ok: value <= most,
})

const flawed = (line: Line, flaw: string | null): Line =>
  flaw === null ? line : { ...line, name: `${line.name} (${flaw}: not valid)`, ok: false }

export function seriesOf(points: readonly Point[], silenceMs: number): Series[] {
  const beyond = (percent: number) => (point: Point) =>
    turnsOf(point).length > 0 ? percentile(turnsOf(point), percent) - silenceMs : null
  const ear = (figure: (report: Window['report']) => number) => (point: Point) =>
    point.system === TALK ? null : of(point, figure)
  return [
    ...curves(points, 'media: CPU of a call', 'CPU s/min', cpuOf),
    ...curves(points, 'media: time between packets, p99', 'ms', point => of(point, report => report.between_p99_ms)),
    ...curves(points, 'media: time between packets, deviation', 'ms', point =>
      of(point, report => report.between_std_ms),
    ),
    ...curves(
      points,
      'media: mouth to ear, p50',
      'ms',
      ear(report => report.ear_p50_ms),
    ),
    ...curves(
      points,
      'media: mouth to ear, p95',
      'ms',
      ear(report => report.ear_p95_ms),
    ),
    ...curves(points, 'media: memory of a call', 'MB', ({ memoryMb }) => memoryMb),
    ...curves(points, 'media: voice to voice beyond end-pointing, p50', 'ms', beyond(50)),
    ...curves(points, 'media: voice to voice beyond end-pointing, p95', 'ms', beyond(95)),
  ]
}

/** One curve for each system that has the figure. */
function curves(
  points: readonly Point[],
  figure: string,
  unit: string,
  figureOf: (point: Point) => number | null,
): Series[] {
  return [...new Set(points.map(({ system }) => system))].flatMap(system => {
    const measured = points.flatMap(point => {
      const value = point.system === system ? figureOf(point) : null
      return value === null ? [] : [{ load: point.calls, value, valid: point.flaw === null }]
    })
    return measured.length === 0 ? [] : [{ figure, system, unit, load: 'calls', points: measured }]
  })
}

export function told(point: Point): string {
  const { system, calls, windows, memoryMb, flaw } = point
  const share = (name: string) => median(windows.map(({ cpu }) => cpu[name]!)).toFixed(3)
  const names = Object.keys(windows[0]!.cpu)
  const sum = names.length > 1 ? ` (${names.map(name => `${name} ${share(name)}`).join(', ')})` : ''
  const ms = (figure: (report: Window['report']) => number) => of(point, figure).toFixed(2)
  const callerCores = median(windows.map(window => window.callerCores)).toFixed(2)
  return [
    `${calls} calls, ${system}: ${cpuOf(point).toFixed(3)} CPU s/min${sum}`,
    `between packets std ${ms(r => r.between_std_ms)}, p99 ${ms(r => r.between_p99_ms)} ms`,
    ...(system === TALK ? toldTurns(point) : toldMarks(point)),
    `${sumOf(point, r => r.holes)} holes, ${sumOf(point, r => r.gaps)} gaps over 40 ms`,
    ...(memoryMb === null ? [] : [`${(memoryMb * 1024).toFixed(0)} KB a call`]),
    `caller late by ${ms(r => r.own_late_p99_ms)} ms (p99), ${callerCores} of a core`,
    ...(flaw === null ? [] : [`not valid: ${flaw}`]),
  ].join('; ')
}

function toldMarks(point: Point): string[] {
  const [sent, lost, late] = [sumOf(point, r => r.sent), sumOf(point, r => r.lost), sumOf(point, r => r.late)]
  const ear = [of(point, r => r.ear_p50_ms), of(point, r => r.ear_p95_ms)].map(ms => ms.toFixed(2)).join('/')
  return [`mouth to ear ${ear} ms (p50/p95)`, `of ${sent} packets ${lost} lost, ${late} late`]
}

function toldTurns(point: Point): string[] {
  const turns = turnsOf(point)
  const at = [50, 95, 99].map(percent => percentile(turns, percent).toFixed(0)).join('/')
  const [cut, unheard] = [sumOf(point, r => r.interrupted), sumOf(point, r => r.unheard)]
  return [`${turns.length} turns, voice to voice ${at} ms (p50/p95/p99)`, `${cut} cut into, ${unheard} unanswered`]
}
