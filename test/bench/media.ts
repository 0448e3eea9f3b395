/**
 * Audio of many concurrent calls, from 10 to 400: cost per call, regularity of packets, and latency. SIP echoes of
 * Parley and diago, next to bare UDP echoes of the same packets; and whole conversations of Parley. All use the same
 * caller alternately, with packets spread over the 20 ms as in real calls.
 */
import { readConfig } from '../../infra/config/config.ts'
import { endpointMs } from '../../media/agent/endpointing.ts'
import { type MediaCaller, startMediaCaller, type WindowReport } from './media-caller.ts'
import { linesOf, seriesOf, told } from './media-lines.ts'
import { type System, startEchoes, startTalk, TALK } from './media-sides.ts'
import type { BenchOptions, Measured, Unmeasured } from './report.ts'
import { LATE_MS, median, monotonicMs, usageOf, wait } from './rpc.ts'

interface Plan {
  echo: { loads: number[]; rounds: number; seconds: number }
  talk: { loads: number[]; windows: number; seconds: number; fullFrom: number }
}

const QUICK: Plan = {
  echo: { loads: [10, 50, 100], rounds: 2, seconds: 3 },
  talk: { loads: [10, 50], windows: 3, seconds: 6, fullFrom: 50 },
}
const FULL: Plan = {
  echo: { loads: [10, 50, 100, 200, 400], rounds: 3, seconds: 4 },
  talk: { loads: [10, 50, 100, 200], windows: 4, seconds: 10, fullFrom: 50 },
}
/** Milliseconds until every answered call is in steady state, and every talking caller has begun. */
const SETTLE_MS = 1000
const TALK_SETTLE_MS = 5000
/**
 * Milliseconds for the first call, which loads what all share, and then for many, until V8 has compiled the hot paths,
 * as in an engine that has run for a day.
 */
const FIRST_MS = 1000
const WARM_UP = { calls: 50, echoMs: 5000, talkMs: 30_000 }
/**
 * Milliseconds after which a conversation holds all the audio that its recogniser may request again
 * (`audio/memory.ts`).
 */
const FULL_MS = 65_000
/** Above this fraction of a core the benchmark measures the caller. */
const MOST_CORES = 0.9
/** Below this fraction, lateness is due to the machine, not to load. */
const EASY_CORES = 0.5
/** Largest fraction of missing packets or turns; with more, the cost is not that of a call. */
const MOST_MISSING = 0.02
/** A single pause of the machine is not a limit. */
const MOST_TRIES = 3
/** The transcript of scripted STT: a complete sentence. */
const HEARD = 'I would like to book a table.'

/** One window: CPU seconds per minute of a call, for each process. */
export interface Window {
  cpu: Record<string, number>
  report: WindowReport
  callerCores: number
}

/** One system at one load. */
export interface Point {
  system: string
  calls: number
  windows: Window[]
  /** Memory per call beyond the idle processes; null when not measured. */
  memoryMb: number | null
  /** The reason when the point is invalid; null when valid. */
  flaw: string | null
}

interface Stage {
  caller: MediaCaller
  report(text: string): void
  points: Point[]
  unmeasured: Unmeasured[]
}

export async function benchMedia({ full, report }: BenchOptions): Promise<Measured> {
  const { cache } = readConfig()
  const { echo, talk } = full ? FULL : QUICK
  const caller = await startMediaCaller(cache)
  const stage: Stage = { caller, report, points: [], unmeasured: [] }
  try {
    const echoes = await startEchoes(cache, report)
    await benchEchoes(stage, echoes.systems, echo).finally(echoes.stop)
    const talks = await startTalk(caller, HEARD, report)
    await benchTalk(stage, talks.systems[0]!, talk).finally(talks.stop)
  } finally {
    caller.stop()
  }
  const { points, unmeasured } = stage
  const silenceMs = endpointMs(HEARD)
  return { lines: linesOf(points, silenceMs), series: seriesOf(points, silenceMs), unmeasured }
}

/** Increases the load until the measurement is invalid. */
async function benchEchoes(stage: Stage, systems: System[], plan: Plan['echo']): Promise<void> {
  const idle = new Map<System, number>()
  for (const system of systems) idle.set(system, await warmUp(stage.caller, system, WARM_UP.echoMs))
  let running = systems
  for (const calls of plan.loads) {
    const points = await rounds(stage, running, calls, plan, idle)
    for (let tries = 1; tries < MOST_TRIES; tries++) {
      const flawed = running.filter(system => deservesAnother(points.get(system)!))
      const again = await rounds(stage, flawed, calls, plan, idle)
      for (const [system, point] of again) points.set(system, { ...point, memoryMb: points.get(system)!.memoryMb })
    }
    running = running.filter(system => conclude(stage, points.get(system)!, plan.loads))
  }
}

/** Alternates between systems, starting each round with another one. */
async function rounds(
  { caller }: Stage,
  systems: readonly System[],
  calls: number,
  plan: Plan['echo'],
  idle: ReadonlyMap<System, number>,
): Promise<Map<System, Point>> {
  const points = new Map(systems.map(system => [system, newPoint(system, calls)]))
  for (let round = 0; round < (systems.length > 0 ? plan.rounds : 0); round++) {
    for (const [nth] of systems.entries()) {
      const system = systems[(nth + round) % systems.length]!
      const point = points.get(system)!
      await withCalls(caller, system, point, async () => {
        point.windows.push(await measureInTime(caller, system, calls, plan.seconds))
        // Fewer calls do not fill the memory that the warm-up has allocated.
        if (calls >= WARM_UP.calls) point.memoryMb ??= (residentMb(system) - idle.get(system)!) / calls
      })
    }
  }
  return points
}

async function benchTalk(stage: Stage, system: System, plan: Plan['talk']): Promise<void> {
  const idle = await warmUp(stage.caller, system, WARM_UP.talkMs)
  for (const calls of plan.loads) {
    const first = await talk(stage, system, calls, plan, idle)
    let point = first
    for (let tries = 1; tries < MOST_TRIES && deservesAnother(point); tries++)
      point = await talk(stage, system, calls, plan, idle)
    if (!conclude(stage, { ...point, memoryMb: first.memoryMb }, plan.loads)) return
  }
}

async function talk(
  { caller }: Stage,
  system: System,
  calls: number,
  plan: Plan['talk'],
  idle: number,
): Promise<Point> {
  const point = newPoint(system, calls)
  await withCalls(caller, system, point, async () => {
    const openedMs = monotonicMs()
    for (let i = 0; i < plan.windows; i++) {
      point.windows.push(await measureInTime(caller, system, calls, plan.seconds))
    }
    if (calls < plan.fullFrom) return
    await wait(FULL_MS - (monotonicMs() - openedMs))
    point.memoryMb = (residentMb(system) - idle) / calls
  })
  return point
}

const newPoint = ({ name }: System, calls: number): Point => ({
  system: name,
  calls,
  windows: [],
  memoryMb: null,
  flaw: null,
})

/** Returns its memory before there was more than one call. */
async function warmUp(caller: MediaCaller, system: System, ms: number): Promise<number> {
  const callFor = async (calls: number, ms: number) => {
    await caller.open(await system.calls(calls))
    await wait(ms)
    await caller.close()
  }
  await callFor(1, FIRST_MS)
  const idle = residentMb(system)
  await callFor(WARM_UP.calls, ms)
  return idle
}

async function withCalls(caller: MediaCaller, system: System, point: Point, run: () => Promise<void>): Promise<void> {
  if (point.flaw) return
  try {
    const { failed } = await caller.open(await system.calls(point.calls))
    if (Object.keys(failed).length > 0) {
      point.flaw = `calls failed: ${JSON.stringify(failed)}`
      return
    }
    await wait(system.name === TALK ? TALK_SETTLE_MS : SETTLE_MS)
    await run()
    const hungUp = (await system.hungUp?.()) ?? {}
    if (Object.keys(hungUp).length > 0) point.flaw = `calls ended by the system: ${JSON.stringify(hungUp)}`
  } finally {
    await caller.close()
  }
}

/** Repeats a few times when the caller was late, and keeps the least late run. */
async function measureInTime(caller: MediaCaller, system: System, calls: number, seconds: number): Promise<Window> {
  let best = await measure(caller, system, calls, seconds)
  for (let tries = 1; tries < MOST_TRIES && lateOf([best]) > LATE_MS; tries++) {
    const window = await measure(caller, system, calls, seconds)
    if (lateOf([window]) < lateOf([best])) best = window
  }
  return best
}

async function measure(caller: MediaCaller, system: System, calls: number, seconds: number): Promise<Window> {
  await caller.begin()
  const fromMs = monotonicMs()
  const before = { system: cpuOf(system), caller: usageOf(caller.pid).cpuMs }
  await wait(seconds * 1000)
  const ms = monotonicMs() - fromMs
  const after = { system: cpuOf(system), caller: usageOf(caller.pid).cpuMs }
  const report = await caller.end()
  const ofACall = (name: string) => ((after.system[name]! - before.system[name]!) / ms / calls) * 60
  const cpu = Object.fromEntries(Object.keys(system.pids).map(name => [name, ofACall(name)]))
  return { cpu, report, callerCores: (after.caller - before.caller) / ms }
}

const cpuOf = ({ pids }: System): Record<string, number> =>
  Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, usageOf(pid).cpuMs]))
const residentMb = ({ pids }: System) => Object.values(pids).reduce((sum, pid) => sum + usageOf(pid).residentMb, 0)

/** Keeps the point. Returns false when higher loads would be invalid, and records that for each of them. */
function conclude({ points, report, unmeasured }: Stage, point: Point, loads: readonly number[]): boolean {
  point.flaw = flawOf(point)
  if (point.windows.length > 0) {
    points.push(point)
    report(told(point))
  }
  if (!point.flaw) return true
  const { system, calls, flaw } = point
  if (wasHeldUp(point)) {
    unmeasured.push({ name: `media: ${system}, ${calls} calls`, why: flaw })
    return true
  }
  const from = point.windows.length > 0 ? calls + 1 : calls
  for (const load of loads.filter(load => load >= from)) {
    unmeasured.push({ name: `media: ${system}, ${load} calls`, why: `at ${calls} calls ${flaw}` })
  }
  return false
}

const lateOf = (windows: readonly Window[]) => median(windows.map(({ report }) => report.own_late_p99_ms))
const coresOf = (windows: readonly Window[]) => median(windows.map(({ callerCores }) => callerCores))
/** Windows in which the machine was held up have been repeated already. */
const deservesAnother = (point: Point) => flawOf(point) !== null && !wasHeldUp(point)
const wasHeldUp = ({ windows }: Point) => lateOf(windows) > LATE_MS && coresOf(windows) < EASY_CORES

/** A figure is invalid when the benchmark measured its own caller, or when the system did not do what was asked. */
function flawOf({ system, windows, flaw }: Point): string | null {
  if (flaw) return flaw
  const sum = (figure: (report: WindowReport) => number) =>
    windows.reduce((total, { report }) => total + figure(report), 0)
  const lateMs = lateOf(windows)
  if (lateMs > LATE_MS) return `the caller's own packets were late by ${lateMs.toFixed(1)} ms (p99)`
  const cores = coresOf(windows)
  if (cores > MOST_CORES) return `the caller used ${cores.toFixed(2)} of a core`
  const sent = sum(report => report.sent)
  const missing = Math.max(
    sum(report => report.lost),
    sent - sum(report => report.received),
  )
  if (missing > sent * MOST_MISSING) return `${missing} of ${sent} packets did not come`
  const answered = sum(report => report.turn_ms.length)
  const wrong = sum(report => report.unheard + report.interrupted)
  if (system !== TALK || (answered > 0 && wrong <= answered * MOST_MISSING)) return null
  return `${wrong} turns of ${answered + wrong} were cut into or not answered`
}
