/**
 * Calls per second that the signalling can handle, Parley next to diago: doubles the rate until it fails, then bisects
 * between the last clean and the first failed rate. Uses the caller of sip.ts, but with retransmissions, as carriers
 * do.
 */
import type { BenchOptions, Line, Measured, Series, Unmeasured } from './report.ts'
import { LATE_MS, lateness, percentile, wait } from './rpc.ts'
import type { RoundReport, SipCaller } from './sip-peers.ts'
import {
  cpuOf,
  failuresOf,
  HOLD_MS,
  NUMBER,
  REST_MS,
  type Side,
  type SideName,
  sideNames,
  startSides,
} from './sip-sides.ts'

/** A clean rate has fewer failed or retransmitted calls than this fraction. */
const FLAWED = 0.001
/**
 * T1 (RFC 3261 §17.1.1.1): a 200 after that counts as failed. An immediate 100, which we send, would otherwise hide a
 * growing queue, and such a rate is not sustainable.
 */
const SLOW_MS = 500
/** Enough calls to detect one in a thousand. */
const LEAST_CALLS = 3000
const LATE_TRIES = 3
/** Until the JIT has settled and the heap has reached its size. */
const WARM_UP = { rate: 100, calls: 1500 }
const QUICK = { from: 250, seconds: 5, halvings: 3, tries: 1 }
/** A failed rate is tried again: a single pause of the machine is not a limit. */
const FULL = { from: 100, seconds: 10, halvings: 4, tries: 2 }
const MOST = 10_000

type RoundResult = 'clean' | 'flawed' | 'late'

export interface Step {
  rate: number
  calls: number
  result: RoundResult
  failed: number
  slow: number
  repeated: number
  answered: number[]
  /** CPU use of each process as a fraction of one core, while calls were placed. */
  busy: Record<string, number>
}

interface Capacity {
  steps: Step[]
  /** The highest clean rate; 0 when there was none. */
  top: number
  /** Set when the search ended because the caller was late, or had no higher rate to try. */
  stopped: string | null
}

type Search = typeof QUICK

export async function benchCapacity({ full, report }: BenchOptions): Promise<Measured> {
  const search = full ? FULL : QUICK
  const { caller, sides, stop } = await startSides(report)
  try {
    const found = {} as Record<SideName, Capacity>
    for (const name of sideNames) {
      await place(caller, sides[name], WARM_UP)
      await untilQuiet(sides[name])
      found[name] = await findTop(rate => measure(caller, sides[name], name, rate, search, report), search)
      const { top, stopped } = found[name]
      report(`${name}: ${top} calls a second are clean${stopped === null ? '' : `; ${stopped}`}`)
    }
    return {
      lines: sideNames.every(name => found[name].top > 0) ? [lineOf(found)] : [],
      series: sideNames.flatMap(name => seriesOf(name, found[name].steps)),
      unmeasured: sideNames.flatMap(name => unmeasuredOf(name, found[name])),
    }
  } finally {
    await stop()
  }
}

const place = (caller: SipCaller, { target }: Side, { rate, calls }: { rate: number; calls: number }) =>
  caller.place({ target, to: NUMBER, rate, calls, hold_ms: HOLD_MS, resend: true })

/** Doubles, then bisects. Never tries a rate above one that the caller cannot keep. */
export async function findTop(step: (rate: number) => Promise<Step>, { from, halvings }: Search): Promise<Capacity> {
  const steps: Step[] = []
  let [top, bad, stopped] = [0, 0, null as string | null]
  const attempt = async (rate: number) => {
    const taken = await step(rate)
    steps.push(taken)
    if (taken.result === 'clean') top = rate
    else bad = rate
    if (taken.result === 'late') stopped = `the caller was late at ${rate} calls per second`
  }
  for (let rate = from; bad === 0 && rate <= MOST; rate *= 2) await attempt(rate)
  if (bad === 0) stopped = `no rate above ${top} calls per second was tried`
  for (let i = 0; i < halvings && bad > 0 && stopped === null; i++) await attempt(Math.round((top + bad) / 2))
  return { steps, top, stopped }
}

/** The last try counts. A late run, for whatever reason, is inconclusive. */
async function measure(
  caller: SipCaller,
  side: Side,
  name: string,
  rate: number,
  { seconds, tries }: Search,
  report: BenchOptions['report'],
): Promise<Step> {
  for (let n = 1; ; n++) {
    const calls = Math.max(LEAST_CALLS, rate * seconds)
    const before = cpuOf(side)
    const began = performance.now()
    const roundReport = await place(caller, side, { rate, calls })
    const step = stepOf(rate, calls, roundReport, cpuOf(side, before), performance.now() - began)
    report(`${name} at ${rate} calls a second: ${told(step, roundReport)}`)
    await untilQuiet(side)
    const again = n < (step.result === 'late' ? LATE_TRIES : tries)
    if (step.result === 'clean' || !again) return step
  }
}

function stepOf(
  rate: number,
  calls: number,
  roundReport: RoundReport,
  cpuMs: Record<string, number>,
  ms: number,
): Step {
  const failed = failuresOf(roundReport.failed)
  const slow = roundReport.answered_ms.filter(ms => ms > SLOW_MS).length
  const flawed = (failed + slow) / calls >= FLAWED || roundReport.resent / calls > FLAWED
  const result = lateness(roundReport.late_ms) > LATE_MS ? 'late' : flawed ? 'flawed' : 'clean'
  const busy = Object.fromEntries(Object.entries(cpuMs).map(([name, taken]) => [name, taken / ms]))
  return { rate, calls, result, failed, slow, repeated: roundReport.resent, answered: roundReport.answered_ms, busy }
}

/** Waits for half a second with almost no CPU use, because an overload leaves work for calls that were given up. */
async function untilQuiet(side: Side): Promise<void> {
  const [every, idleMs] = [500, 25]
  for (let waited = 0; waited < REST_MS; waited += every) {
    const before = cpuOf(side)
    await wait(every)
    if (failuresOf(cpuOf(side, before)) <= idleMs) return
  }
}

function told({ calls, result, failed, slow, repeated, answered, busy }: Step, roundReport: RoundReport): string {
  const spread = [50, 95, 99].map(at => percentile(answered, at).toFixed(2)).join(' / ')
  const cores = Object.entries(busy).map(([name, share]) => `${name} ${Math.round(share * 100)} %`)
  const why = failed > 0 ? ` ${JSON.stringify(roundReport.failed)}` : ''
  return [
    `${result}: ${calls} calls, ${failed} failed${why}, ${slow} slow, ${repeated} repeated`,
    `200 after ${spread} ms (p50 / p95 / p99)`,
    `of a core: ${cores.join(', ')}`,
    `caller late by ${lateness(roundReport.late_ms).toFixed(2)} ms (p99)`,
  ].join('; ')
}

function lineOf({ parley, diago }: Record<SideName, Capacity>): Line {
  const open = [parley, diago].some(({ stopped }) => stopped !== null)
  return {
    name: `SIP: most calls a second, < 0.1 % failed or repeated${open ? ' (not the end: see below)' : ''}`,
    value: parley.top,
    reference: diago.top,
    unit: 'calls/s',
    ratio: parley.top / diago.top,
    wanted: '-',
    ok: true,
  }
}

function seriesOf(name: SideName, steps: Step[]): Series[] {
  const ordered = [...steps].sort((a, b) => a.rate - b.rate)
  const series = (figure: string, system: string, unit: string, value: (step: Step) => number): Series => ({
    figure,
    system,
    unit,
    load: 'calls/s',
    points: ordered.map(step => ({ load: step.rate, value: value(step), valid: step.result !== 'late' })),
  })
  return [
    ...[50, 95, 99].map(at =>
      series(`SIP: INVITE → 200, p${at}`, name, 'ms', ({ answered }) => percentile(answered, at)),
    ),
    series('SIP: failed or slow', name, '%', ({ failed, slow, calls }) => ((failed + slow) / calls) * 100),
    series('SIP: repeated INVITEs', name, '%', ({ repeated, calls }) => (repeated / calls) * 100),
    ...Object.keys(ordered[0]!.busy).map(process =>
      series('SIP: one core taken', process, '%', ({ busy }) => busy[process]! * 100),
    ),
  ]
}

const unmeasuredOf = (name: SideName, { top, stopped }: Capacity): Unmeasured[] =>
  stopped === null ? [] : [{ name: `SIP: calls a second of ${name} above ${top}`, why: stopped }]
