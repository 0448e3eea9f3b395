/**
 * The spoken conversation over RTP: how long after the caller's last word the agent is heard, how fast it stops, when a
 * filler starts, what an idle call costs. Agent, VAD and callers each have a separate process.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { readConfig } from '../../infra/config/config.ts'
import { demoLines } from '../../infra/demo/script.ts'
import { modelsFolder } from '../../infra/models/offline-speech.ts'
import { endpointMs } from '../../media/agent/endpointing.ts'
import type { CallerHandlers } from './caller.ts'
import type { Agent, EngineHandlers } from './engine.ts'
import type { Line } from './report.ts'
import { type Forked, forkRemote, median, percentile, usageOf, wait } from './rpc.ts'

export interface ConversationBench {
  rounds: number
  report(text: string): void
}

/** Concurrent calls: they include each other's load, and the bench is faster. */
const CALLS = 6
const TURNS_A_ROUND = 3
const OVER_CALLS = 4
const IDLE_CALLS = 50
const IDLE_MS = 20_000
/** Milliseconds after which a call holds all the audio that its recogniser may request again (`audio/memory.ts`). */
const FULL_MS = 65_000
const SETTLE_MS = 1000
const OFFLINE_CALLS = 3
/**
 * Two of Silero's windows, the duration of an onset (`agent/voice.ts`). The model alone, asked about every window,
 * needs 76 to 106 ms from the first loud frame of four of these recordings, and up to 154 ms for `name.wav`, which
 * begins with an M.
 */
const ONSET_MS = 64
const STOP_MS = 60
/** Milliseconds of lateness at which the generator is at fault and the measurement is invalid. */
const LATE_MS = 10

/** Transcripts of scripted STT for any audio; the sentences differ in how long a silence must be. */
const WORDS = ['I would like to book a table.', 'My name is John Miller', 'That is what we said.']

interface Stage {
  engine: Forked<EngineHandlers>
  caller: Forked<CallerHandlers>
  speechPid: number
  report(text: string): void
}

export async function benchConversation({ rounds, report }: ConversationBench): Promise<Line[]> {
  const speech = await startSpeech()
  const engine = forkRemote<EngineHandlers>(join(import.meta.dirname, 'engine.ts'))
  const caller = forkRemote<CallerHandlers>(join(import.meta.dirname, 'caller.ts'))
  const stage: Stage = { engine, caller, speechPid: speech.child.pid!, report }
  try {
    await engine.ask.connect({ port: speech.port })
    return [
      ...(await measured(stage, 'echo', () => benchEcho(stage))),
      // First, while no process has spare memory from busier calls.
      ...(await measured(stage, 'idle calls', () => benchIdle(stage, rounds))),
      ...(await measured(stage, 'turns', () => benchTurns(stage, rounds))),
      ...(await measured(stage, 'barge-ins', () => benchBargeIns(stage, rounds))),
      ...(await measured(stage, 'fillers', () => benchFillers(stage, rounds))),
      ...(await measured(stage, 'offline models', () => benchOffline(stage))),
    ]
  } finally {
    engine.stop()
    caller.stop()
    speech.child.kill()
  }
}

/** Reports when the generator itself was late. */
async function measured({ caller, report }: Stage, name: string, run: () => Promise<Line[]>): Promise<Line[]> {
  await caller.ask.lateness()
  const lines = await run()
  const { p95, most } = await caller.ask.lateness()
  if (!Number.isNaN(p95))
    report(`${name}: callers' own packets late by ${p95.toFixed(1)} ms (p95), ${most.toFixed(1)} ms at most`)
  return p95 > LATE_MS
    ? lines.map(line => ({ ...line, name: `${line.name} (callers late: not valid)`, ok: false }))
    : lines
}

const bound = (name: string, value: number, most: number, unit = 'ms'): Line => ({
  name,
  value,
  unit,
  reference: most,
  ratio: value / most,
  wanted: `≤ ${most} ${unit}`,
  ok: value <= most,
})

/** The limit applies to each value, not to a percentile. */
function within(stage: Stage, name: string, values: readonly number[], most: number): Line[] {
  reportSpread(stage, name, values)
  return [
    bound(`${name}, p50`, median(values), most),
    bound(`${name}, p95`, percentile(values, 95), most),
    bound(`${name}, worst`, Math.max(...values), most),
  ]
}

function reportSpread({ report }: Stage, name: string, values: readonly number[]): void {
  const at = (percent: number) => percentile(values, percent).toFixed(0)
  report(`${name}: ${values.length} of them, p5 ${at(5)}, p50 ${at(50)}, p95 ${at(95)}, most ${at(100)} ms`)
}

// Measurements.

async function benchEcho(stage: Stage): Promise<Line[]> {
  const trips = await stage.caller.ask.echo({ port: await stage.engine.ask.echo(), packets: 150 })
  await stage.engine.ask.stopEcho()
  stage.report(
    `bare UDP echo: p50 ${median(trips).toFixed(2)}, p95 ${percentile(trips, 95).toFixed(2)} ms there and back`,
  )
  return []
}

async function benchTurns(stage: Stage, rounds: number): Promise<Line[]> {
  const beyond: number[] = []
  await withCalls(stage, CALLS, 'short', async (id, nth) => {
    for (let turn = 0; turn < rounds * TURNS_A_ROUND; turn++) {
      const text = WORDS[(turn + nth) % WORDS.length]!
      await stage.engine.ask.text({ id, text })
      const { file } = demoLines[(turn + nth) % demoLines.length]!
      const { lastSentMs, answeredMs } = await stage.caller.ask.say({ id, file, overMs: null })
      beyond.push(answeredMs! - lastSentMs - endpointMs(text))
    }
  })
  reportSpread(stage, 'voice to voice beyond end-pointing', beyond)
  return [
    bound('voice to voice beyond end-pointing, p50', median(beyond), 45),
    bound('voice to voice beyond end-pointing, p95', percentile(beyond, 95), 80),
  ]
}

async function benchBargeIns(stage: Stage, rounds: number): Promise<Line[]> {
  const stopped: number[] = []
  await withCalls(stage, OVER_CALLS, 'long', async (id, nth) => {
    await stage.engine.ask.text({ id, text: WORDS[0]! })
    for (let turn = 0; turn < rounds * 2; turn++) {
      const { file } = demoLines[(turn + nth) % demoLines.length]!
      const overMs = 500 + 700 * Math.random()
      const { firstSentMs, stoppedMs } = await stage.caller.ask.say({ id, file, overMs })
      stopped.push((stoppedMs ?? firstSentMs) - firstSentMs)
    }
  })
  return within(stage, "barge-in: caller's first voiced packet to agent's last", stopped, ONSET_MS + STOP_MS)
}

async function benchFillers(stage: Stage, rounds: number): Promise<Line[]> {
  const late: number[] = []
  await withCalls(stage, OVER_CALLS, 'tool', async (id, nth) => {
    await stage.engine.ask.text({ id, text: WORDS[0]! })
    for (let turn = 0; turn < rounds * 2; turn++) {
      const { file } = demoLines[(turn + nth) % demoLines.length]!
      const { answeredMs } = await stage.caller.ask.say({ id, file, overMs: null })
      const { fillerDueMs } = await stage.engine.ask.look({ id })
      late.push(answeredMs! - fillerDueMs.at(-1)!)
    }
  })
  return within(stage, 'filler: first packet after its time', late, 40)
}

async function benchOffline(stage: Stage): Promise<Line[]> {
  const waits: number[] = []
  for (let call = 0; call < OFFLINE_CALLS; call++) {
    await withCalls(stage, 1, 'offline', async id => {
      const mine: string[] = []
      for (const { file } of demoLines) {
        const { lastSentMs, answeredMs } = await stage.caller.ask.say({ id, file, overMs: null })
        waits.push(answeredMs! - lastSentMs)
        mine.push(`${file} ${waits.at(-1)!.toFixed(0)}`)
      }
      stage.report(`offline models: ${mine.join(', ')} ms`)
    })
  }
  const name = 'offline models, voice to voice'
  reportSpread(stage, name, waits)
  return [bound(`${name}, p50`, median(waits), 650)]
}

async function benchIdle(stage: Stage, rounds: number): Promise<Line[]> {
  const { engine, speechPid, report } = stage
  const usage = () => ({ engine: usageOf(engine.pid), speech: usageOf(speechPid) })
  const cpu: number[] = []
  let grownMb = 0
  await withCalls(stage, 1, 'short', () => wait(2 * SETTLE_MS)) // the first call loads what all calls share
  for (let round = 0; round < rounds; round++) {
    const empty = usage()
    await withCalls(stage, IDLE_CALLS, 'short', async (_, nth) => {
      if (nth > 0) return
      await wait(SETTLE_MS)
      const before = usage()
      await wait(IDLE_MS)
      const after = usage()
      const share = (part: 'engine' | 'speech') =>
        ((after[part].cpuMs - before[part].cpuMs) / IDLE_MS / IDLE_CALLS) * 100
      cpu.push(share('engine') + share('speech'))
      report(`idle call: engine ${share('engine').toFixed(2)} %, speech ${share('speech').toFixed(2)} % of a core`)
      // Only from the first calls: later ones reuse memory that these have freed.
      if (round > 0) return
      await wait(FULL_MS - IDLE_MS)
      const full = usage()
      const grown = (part: 'engine' | 'speech') => (full[part].residentMb - empty[part].residentMb) / IDLE_CALLS
      grownMb = grown('engine') + grown('speech')
      report(
        `idle call after a minute: engine ${grown('engine').toFixed(2)} MB, speech ${grown('speech').toFixed(2)} MB`,
      )
    })
  }
  return [
    bound(`idle call, one of ${IDLE_CALLS}: CPU`, median(cpu), 1, '% of a core'),
    bound(`idle call, one of ${IDLE_CALLS}: memory after a minute`, grownMb, 3, 'MB'),
  ]
}

// Helpers.

let lastId = 0

/** Opens calls, runs an action on each, and closes them. */
async function withCalls(
  { engine, caller }: Stage,
  calls: number,
  agent: Agent,
  talk: (id: number, nth: number) => Promise<void>,
): Promise<void> {
  const ids = Array.from({ length: calls }, () => ++lastId)
  try {
    for (const id of ids) {
      const port = await caller.ask.open({ id })
      await caller.ask.start({ id, port: await engine.ask.open({ id, port, agent }) })
    }
    await Promise.all(ids.map(talk))
  } finally {
    for (const id of ids) {
      await engine.ask.close({ id })
      await caller.ask.close({ id })
    }
  }
}

export async function startSpeech(): Promise<{ child: ChildProcess; port: number }> {
  const file = join(import.meta.dirname, '../../media/models/speech/main.ts')
  const models = modelsFolder(readConfig().cache)
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file, '--models', models], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const line = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).once('line', resolve)
    child.once('exit', code => reject(new Error(`the speech process ended with ${code}`)))
  })
  return { child, port: JSON.parse(line).port }
}
