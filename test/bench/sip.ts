/**
 * Signalling: INVITE → 18x → 200 → ACK → BYE through the embedded server and the engine's edge, next to an equivalent
 * application on emiago/diago, alternately from the same caller. CPU per call is counted until the last transaction is
 * forgotten, 32 s after the call.
 */
import type { Line } from './report.ts'
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

export interface SipBench {
  /** Rounds of each rate against each system. */
  rounds: number
  secondsARound: number
  report(text: string): void
}

const RATES = [10, 100]
/** Until the JIT has settled and the heap has reached its size. */
const WARM_UP = { rate: 100, calls: 1500 }
const RINGING_MS = 20
/** A round in which the caller was late is repeated. */
const MOST_TRIES = 3

interface Measured {
  calls: number
  ringing: number[]
  answered: number[]
  late: number[]
  failed: number
  cpuMs: Record<string, number>
}

export async function benchSip(options: SipBench): Promise<Line[]> {
  const { caller, sides, stop } = await startSides(options.report)
  try {
    for (const { target } of Object.values(sides)) await caller.place(round(target, WARM_UP.rate, WARM_UP.calls))
    await wait(REST_MS)
    const lines: Line[] = []
    for (const rate of RATES) lines.push(...(await benchRate(caller, sides, rate, options)))
    return lines
  } finally {
    await stop()
  }
}

const round = (target: string, rate: number, calls: number) => ({ target, to: NUMBER, rate, calls, hold_ms: HOLD_MS })

async function benchRate(
  caller: SipCaller,
  sides: Record<SideName, Side>,
  rate: number,
  { rounds, secondsARound, report }: SipBench,
): Promise<Line[]> {
  const measured = { parley: nothing(), diago: nothing() }
  for (const name of sideNames) measured[name].cpuMs = cpuOf(sides[name])
  for (let i = 0; i < rounds; i++) {
    for (const name of sideNames) {
      const calls = rate * secondsARound
      for (let tries = 1; ; tries++) {
        const roundReport = await caller.place(round(sides[name].target, rate, calls))
        const isLate = lateness(roundReport.late_ms) > LATE_MS
        if (Object.keys(roundReport.failed).length > 0) report(`${name} failed: ${JSON.stringify(roundReport.failed)}`)
        if (roundReport.repeats > 0) report(`${name}: ${roundReport.repeats} answers came again`)
        count(measured[name], roundReport, calls)
        if (isLate && tries < MOST_TRIES) continue
        time(measured[name], roundReport)
        break
      }
    }
  }
  await wait(REST_MS)
  for (const name of sideNames) measured[name].cpuMs = cpuOf(sides[name], measured[name].cpuMs)
  for (const [name, side] of Object.entries(measured)) report(`${rate} calls a second, ${name}: ${told(side)}`)
  return linesOf(rate, measured.parley, measured.diago)
}

const nothing = (): Measured => ({ calls: 0, ringing: [], answered: [], late: [], failed: 0, cpuMs: {} })

/** Sums CPU use and failures of all rounds. */
function count(to: Measured, { failed }: RoundReport, calls: number): void {
  to.calls += calls
  to.failed += failuresOf(failed)
}

function time(to: Measured, { ringing_ms, answered_ms, late_ms }: RoundReport): void {
  to.ringing.push(...ringing_ms)
  to.answered.push(...answered_ms)
  to.late.push(...late_ms)
}

function told({ calls, ringing, answered, late, failed, cpuMs }: Measured): string {
  const spread = (values: number[]) => [50, 95, 99, 100].map(at => percentile(values, at).toFixed(2)).join(' / ')
  const cpu = Object.entries(cpuMs).map(([name, ms]) => `${name} ${(ms / calls).toFixed(2)}`)
  return [
    `${calls} calls, ${failed} failed`,
    `18x ${spread(ringing)}, 200 ${spread(answered)} ms (p50 / p95 / p99 / most)`,
    `CPU of a call: ${cpu.join(', ')} ms`,
    `caller late by ${lateness(late).toFixed(2)} ms (p99)`,
  ].join('; ')
}

function linesOf(rate: number, ours: Measured, diago: Measured): Line[] {
  const [server, srf, go] = [cost(ours, 'server'), cost(ours, 'srf'), cost(diago, 'diago')]
  const at = `SIP at ${rate} calls a second`
  const setUp = (percent: number) =>
    beside(`${at}: INVITE → 200, p${percent}`, percentile(ours.answered, percent), percentile(diago.answered, percent))
  const ringing = percentile(ours.ringing, 99)
  const lines: Line[] = [
    setUp(50),
    setUp(99),
    // Idle means an engine with ten calls per second without audio.
    ...(rate === RATES[0] ? [bound(`${at}: INVITE → 18x, p99`, ringing, RINGING_MS, 'ms', '≤ 20 ms')] : []),
    bound(`${at}: CPU of a call, server beside drachtio-srf's process`, server, srf, 'ms', '≤ 1'),
    beside(`${at}: CPU of a call, server beside diago`, server, go),
    beside(`${at}: CPU of a call, drachtio-srf's process beside diago`, srf, go),
  ]
  const failed = ours.failed + diago.failed
  const late = lateness([...ours.late, ...diago.late]) > LATE_MS
  const flaw = failed > 0 ? ` (${failed} calls failed)` : late ? ' (caller late: not valid)' : ''
  return flaw === '' ? lines : lines.map(line => ({ ...line, name: line.name + flaw, ok: false }))
}

const cost = ({ calls, cpuMs }: Measured, name: string) => cpuMs[name]! / calls

const bound = (name: string, value: number, reference: number, unit: string, wanted: string): Line => ({
  name,
  value,
  reference,
  unit,
  wanted,
  ratio: value / reference,
  ok: value <= reference,
})

/** A ratio to diago for information, without a bound. */
const beside = (name: string, value: number, reference: number): Line => ({
  ...bound(name, value, reference, 'ms', '-'),
  ok: true,
})
