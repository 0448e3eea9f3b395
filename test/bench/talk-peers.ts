/**
 * The spoken conversation next to Pipecat and LiveKit Agents: the same recordings into each, one judge, and STT, TTS
 * and language model that take no time. Parley's end-pointing silence depends on the words; the others' is part of
 * their names.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { readConfig } from '../../infra/config/config.ts'
import { demoLines } from '../../infra/demo/script.ts'
import type { ProgressReporter } from '../../infra/setup/prepare.ts'
import type { BenchOptions, Line, Measured, Series } from './report.ts'
import { type Forked, forkRemote, median, percentile } from './rpc.ts'
import type { CallersHandlers } from './talk-peers/callers.ts'
import { ensureLiveKitAgents, ensurePipecat } from './talk-peers/packages.ts'
import {
  type Kind,
  type Length,
  type Rooms,
  type System,
  startLiveKitAgents,
  startParley,
  startParleyInRooms,
  startPipecat,
  startRooms,
} from './talk-peers/systems.ts'
import type { Said } from './talk-peers/turn.ts'
import { usageOfTrees } from './talk-peers/usage.ts'

/** Milliseconds of lateness at which the generator is at fault and the measurement is invalid. */
const LATE_MS = 10
const SETTLE_MS = 1000
const PATIENCE_MS = 30_000
const OVER_MS = { least: 500, most: 1200 }
/** A single session has few turns, so it gets more of them. */
const FEW = 5

interface Plan {
  levels: number[]
  /** Turns, and interruptions, of each session; more when there are few sessions. */
  turns: number
  over: number
}

/** One system with one number of sessions. */
interface Cell {
  sessions: number
  /** In ms. */
  answers: number[]
  stops: number[]
  cutIns: number
  missed: number
  /** CPU seconds per minute of a session, by process. */
  cpu: Record<string, number>
  /** MB per session, over all processes except the server. */
  memory: number
  valid: boolean
}

interface Result {
  system: string
  silenceMs: number
  cells: Cell[]
}

interface Stage {
  callers: Forked<CallersHandlers>
  plan: Plan
  results: Result[]
  unmeasured: Measured['unmeasured']
  report(text: string): void
}

export async function benchTalkPeers({ full, report }: BenchOptions): Promise<Measured> {
  const { cache } = readConfig()
  const reporter = reporterBy(report)
  const pipecat = await ensurePipecat(cache, reporter)
  const agents = await ensureLiveKitAgents(cache, reporter)
  const callers = forkRemote<CallersHandlers>(new URL('talk-peers/callers.ts', import.meta.url).pathname)
  const plan = full ? { levels: [1, 5, 10, 20], turns: 3, over: 2 } : { levels: [1, 5, 10], turns: 2, over: 1 }
  const stage: Stage = { callers, plan, results: [], unmeasured: [], report }
  const kinds: Kind[] = ['shortest', 'stock']
  try {
    await talked(stage, 'Parley, RTP', () => startParley(callers))
    for (const kind of kinds) {
      const name = `Pipecat, ${kind}`
      if ('why' in pipecat) stage.unmeasured.push({ name, why: pipecat.why })
      else await talked(stage, name, () => startPipecat(callers, pipecat.folder, kind))
    }
    await inRooms(stage, cache, async rooms => {
      await talked(stage, 'Parley, room', () => startParleyInRooms(callers, rooms))
      for (const kind of kinds) {
        const name = `LiveKit Agents, ${kind}`
        if ('why' in agents) stage.unmeasured.push({ name, why: agents.why })
        else await talked(stage, name, () => startLiveKitAgents(callers, rooms, agents.program, kind))
      }
    })
  } finally {
    callers.stop()
  }
  return { lines: linesOf(stage.results), series: seriesOf(stage.results), unmeasured: stage.unmeasured }
}

const reporterBy = (report: (text: string) => void): ProgressReporter => ({
  say: report,
  step(text) {
    report(text)
    return result => report(`${text}: ${result ?? 'done'}`)
  },
})

async function inRooms(stage: Stage, cache: string, talk: (rooms: Rooms) => Promise<void>): Promise<void> {
  let rooms: Rooms
  try {
    rooms = await startRooms(cache, stage.report)
  } catch (error) {
    stage.unmeasured.push({ name: 'conversation in rooms', why: (error as Error).message })
    return
  }
  try {
    await talk(rooms)
  } finally {
    await rooms.stop()
  }
}

/** One system with all numbers of sessions; a failure is reported and ends it. */
async function talked(stage: Stage, name: string, start: () => Promise<System>): Promise<void> {
  const cells: Cell[] = []
  let system: System | null = null
  try {
    system = await start()
    await withSessions(system, 1, 'short', () => pause(2 * SETTLE_MS)) // loads what all sessions share
    const emptyMb = memoryOf(system)
    for (const sessions of stage.plan.levels) {
      const cell = await measure(stage, system, sessions, emptyMb)
      cells.push(cell)
      stage.report(told(system, cell))
      if (cell.missed > sessions) throw new Error(`${cell.missed} answers never came at ${sessions} sessions`)
    }
  } catch (error) {
    const why = (error as Error).message.split('\n')[0]!
    stage.unmeasured.push({
      name: `${name}, ${cells.length === 0 ? 'all' : `beyond ${cells.at(-1)!.sessions}`} sessions`,
      why,
    })
  } finally {
    await system?.stop()
  }
  if (system) stage.results.push({ system: system.name, silenceMs: system.silenceMs, cells })
}

const memoryOf = ({ parts }: System) =>
  usageOfTrees(Object.entries(parts).flatMap(([part, pid]) => (part === 'server' ? [] : [pid]))).residentMb

const cpuOf = ({ parts }: System) =>
  Object.fromEntries(Object.entries(parts).map(([part, pid]) => [part, usageOfTrees([pid]).cpuMs]))

async function measure(stage: Stage, system: System, sessions: number, emptyMb: number): Promise<Cell> {
  const { callers, plan } = stage
  const more = sessions < FEW ? 2 : 1
  const said: (Said | 'late')[] = []
  const over: (Said | 'late')[] = []
  const cell: Cell = { sessions, answers: [], stops: [], cutIns: 0, missed: 0, cpu: {}, memory: 0, valid: true }
  await callers.ask.lateness()
  await withSessions(system, sessions, 'short', async ids => {
    await pause(SETTLE_MS)
    const [before, startedMs] = [cpuOf(system), performance.now()]
    await Promise.all(ids.map(id => talk(stage, id, plan.turns * more, () => null, said)))
    const minutes = ((performance.now() - startedMs) / 60_000) * sessions
    for (const [part, ms] of Object.entries(cpuOf(system))) cell.cpu[part] = (ms - before[part]!) / 1000 / minutes
    cell.memory = (memoryOf(system) - emptyMb) / sessions
  })
  await withSessions(system, sessions, 'long', ids =>
    Promise.all(ids.map(id => talk(stage, id, plan.over * more, someWayIn, over))),
  )
  cell.valid = (await callers.ask.lateness()) <= LATE_MS
  for (const turn of said) {
    if (turn === 'late') cell.missed++
    else {
      cell.cutIns += turn.cutIns
      if (turn.answeredMs !== null) cell.answers.push(turn.answeredMs - turn.lastSentMs)
    }
  }
  for (const turn of over) {
    if (turn === 'late') cell.missed++
    else cell.stops.push((turn.stoppedMs ?? turn.firstSentMs) - turn.firstSentMs)
  }
  return cell
}

const someWayIn = () => OVER_MS.least + (OVER_MS.most - OVER_MS.least) * Math.random()

async function talk(
  { callers }: Stage,
  id: number,
  turns: number,
  overMs: () => number | null,
  said: (Said | 'late')[],
): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    const { file } = demoLines[(turn + id) % demoLines.length]!
    said.push(await callers.ask.say({ id, file, overMs: overMs() }))
  }
}

let lastId = 0

async function withSessions(
  system: System,
  sessions: number,
  length: Length,
  use: (ids: number[]) => Promise<unknown>,
): Promise<void> {
  const ids = Array.from({ length: sessions }, () => ++lastId)
  const open: number[] = []
  try {
    for (const id of ids) {
      await inTime(system.open(id, length), 'opened')
      open.push(id)
    }
    await use(ids)
  } finally {
    for (const id of open) await inTime(system.close(id), 'closed')
  }
}

async function inTime<T>(done: Promise<T>, what: string): Promise<T> {
  const late = new AbortController()
  const never = pause(PATIENCE_MS, undefined, { signal: late.signal }).then(() => {
    throw new Error(`a session is not ${what} after ${PATIENCE_MS / 1000} s`)
  })
  try {
    return await Promise.race([done, never])
  } finally {
    late.abort()
    never.catch(() => {})
  }
}

function told({ name }: System, cell: Cell): string {
  const at = (values: number[]) =>
    `${[50, 95].map(percent => percentile(values, percent).toFixed(0)).join('/')} of ${values.length}`
  const cpu = Object.entries(cell.cpu).map(([part, seconds]) => `${part} ${seconds.toFixed(2)}`)
  const odd = [
    ...(cell.cutIns > 0 ? [`${cell.cutIns} answers into a sentence`] : []),
    ...(cell.missed > 0 ? [`${cell.missed} never answered`] : []),
    ...(cell.valid ? [] : ['callers late: not valid']),
  ]
  const heard = `heard after ${at(cell.answers)} ms (p50/p95), stopped after ${at(cell.stops)} ms`
  const cost = `CPU s/min ${cpu.join(', ')}, ${cell.memory.toFixed(1)} MB each`
  return [`${name}, ${cell.sessions} sessions: ${heard}; ${cost}`, ...odd].join('; ')
}

// The report.

/** Without the LiveKit server, which both sides share. */
const ownCpu = ({ cpu }: Cell) =>
  Object.entries(cpu).reduce((sum, [part, seconds]) => sum + (part === 'server' ? 0 : seconds), 0)

interface Figure {
  name: string
  unit: string
  of(cell: Cell, result: Result): number
}

const beyond = (percent: number): Figure => ({
  name: `beyond the chosen silence, p${percent}`,
  unit: 'ms',
  of: ({ answers }, { silenceMs }) => percentile(answers, percent) - silenceMs,
})
const WHOLE: Figure = { name: 'voice to voice, p50', unit: 'ms', of: ({ answers }) => median(answers) }
const WHOLE_95: Figure = { name: 'voice to voice, p95', unit: 'ms', of: ({ answers }) => percentile(answers, 95) }
const STOP: Figure = { name: 'barge-in, p50', unit: 'ms', of: ({ stops }) => median(stops) }
const STOP_95: Figure = { name: 'barge-in, p95', unit: 'ms', of: ({ stops }) => percentile(stops, 95) }
const CPU: Figure = { name: 'CPU of a session', unit: 'CPU s/min', of: ownCpu }
const SERVER: Figure = { name: 'CPU of the server of rooms', unit: 'CPU s/min', of: ({ cpu }) => cpu['server']! }
const MEMORY: Figure = { name: 'memory of a session', unit: 'MB', of: ({ memory }) => memory }

function seriesOf(results: Result[]): Series[] {
  const figures = [WHOLE, WHOLE_95, beyond(50), beyond(95), STOP, STOP_95, CPU, SERVER, MEMORY]
  return figures.flatMap(({ name, unit, of }) =>
    results.flatMap(result => {
      const points = result.cells.map(cell => ({
        load: cell.sessions,
        value: of(cell, result),
        valid: cell.valid && cell.missed === 0,
      }))
      const measured = points.filter(({ value }) => Number.isFinite(value))
      const series = { figure: `peers: ${name}`, system: result.system, unit, load: 'sessions', points: measured }
      return measured.length > 0 ? [series] : []
    }),
  )
}

/**
 * The shortest setting is compared only by the latency beyond the silence: Parley waits longer when the words may
 * continue.
 */
const AGAINST: Record<Kind, Figure[]> = {
  shortest: [beyond(50), STOP, CPU, MEMORY],
  stock: [WHOLE, beyond(50), STOP, CPU, MEMORY],
}

function linesOf(results: Result[]): Line[] {
  const pairs = [
    ['Parley, RTP', 'Pipecat'],
    ['Parley, room', 'LiveKit Agents'],
  ] as const
  return pairs.flatMap(([mine, peer]) => {
    const own = results.find(({ system }) => system.startsWith(mine))
    const theirs = results.filter(({ system }) => system.startsWith(peer))
    return own ? theirs.flatMap(their => against(own, their)) : []
  })
}

/** At the largest number of sessions that both were measured with. */
function against(own: Result, their: Result): Line[] {
  const at = (result: Result, sessions: number) =>
    result.cells.find(cell => cell.sessions === sessions && cell.answers.length > 0)
  const sessions = Math.max(...own.cells.filter(cell => at(their, cell.sessions)).map(cell => cell.sessions))
  const [mine, theirs] = [at(own, sessions), at(their, sessions)]
  if (!mine || !theirs) return []
  const kind: Kind = their.system.includes('stock') ? 'stock' : 'shortest'
  return AGAINST[kind].map(({ name, unit, of }) => {
    const [value, reference] = [of(mine, own), of(theirs, their)]
    const ratio = value / reference
    const valid = mine.valid && theirs.valid ? '' : ' (callers late: not valid)'
    const title = `${own.system} against ${their.system}: ${name}, ${sessions} sessions${valid}`
    return { name: title, value, reference, unit, ratio, wanted: '< 1', ok: valid === '' && value < reference }
  })
}
