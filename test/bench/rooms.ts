/**
 * Voice over LiveKit rooms: what our leg adds to a bare echo by @livekit/rtc-node in the same run, memory and CPU per
 * session, and lateness of frames with many sessions. Server, agents, VAD and clients have a process each.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AccessToken } from 'livekit-server-sdk'
import { readConfig } from '../../infra/config/config.ts'
import { findLiveKit, startLiveKit } from '../../infra/embedded/livekit.ts'
import { freePort } from '../../infra/embedded/ports.ts'
import { startSpeech } from './conversation.ts'
import { benchJoins } from './join.ts'
import type { Line } from './report.ts'
import type { RoomCallerHandlers } from './room-caller.ts'
import type { RoomAgent, RoomEngineHandlers } from './room-engine.ts'
import { type RoomLoad, startRoomLoad } from './room-load.ts'
import { type Forked, forkRemote, median, percentile, usageOf, wait } from './rpc.ts'

export interface RoomsBench {
  rounds: number
  report(text: string): void
}

const BURSTS = 8
const PAUSE_MS = 900
const SESSIONS = 15
const TALK_MS = 20_000
const TURN_MS = 5000
/** Milliseconds; a generator later than one frame measures itself. */
const LATE_MS = 20

interface Stage {
  url: string
  serverPid: number
  speechPid: number
  engine: Forked<RoomEngineHandlers>
  caller: Forked<RoomCallerHandlers>
  load: RoomLoad
  token(room: string, identity: string): Promise<string>
  report(text: string): void
}

export async function benchRooms(options: RoomsBench): Promise<Line[]> {
  const { rounds, report } = options
  return [...(await benchLegs(options)), ...(await benchJoins({ joins: rounds * 7, report }))]
}

async function benchLegs({ rounds, report }: RoomsBench): Promise<Line[]> {
  const binary = findLiveKit(readConfig().cache)
  if (!binary) throw new Error('livekit-server is not here: run `npm test` once')
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'))
  const keys = { apiKey: 'bench', apiSecret: crypto.randomUUID() + crypto.randomUUID() }
  const port = await freePort(17_880, '127.0.0.1', true)
  const { url, child } = await startLiveKit({ ...keys, binary, port, logFile: join(folder, 'livekit.log'), report })
  const speech = await startSpeech()
  const engine = forkRemote<RoomEngineHandlers>(join(import.meta.dirname, 'room-engine.ts'))
  const caller = forkRemote<RoomCallerHandlers>(join(import.meta.dirname, 'room-caller.ts'))
  const load = await startRoomLoad(readConfig().cache, folder)
  const token = (room: string, identity: string) => {
    const pass = new AccessToken(keys.apiKey, keys.apiSecret, { identity, ttl: 3600 })
    pass.addGrant({ room, roomJoin: true, canUpdateOwnMetadata: true })
    return pass.toJwt()
  }
  const stage = { url, serverPid: child.pid, speechPid: speech.child.pid!, engine, caller, load, token, report }
  try {
    await engine.ask.connect({ port: speech.port })
    return [...(await benchEcho(stage, rounds)), ...(await benchMany(stage))]
  } finally {
    engine.stop()
    caller.stop()
    load.stop()
    speech.child.kill()
    await child.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

let lastId = 0
/** Our leg and the bare echo alternately, in one room each, on the same machine. */
async function benchEcho(stage: Stage, rounds: number): Promise<Line[]> {
  const trips = { bare: [] as number[], leg: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    for (const kind of ['bare', 'leg'] as const) trips[kind].push(...(await bursts(stage, kind)))
  }
  const told = (values: number[]) => `p50 ${median(values).toFixed(0)}, p95 ${percentile(values, 95).toFixed(0)} ms`
  stage.report(`client → room → agent → room → client: bare echo ${told(trips.bare)}; our leg ${told(trips.leg)}`)
  return [50, 95].map(percent => {
    const [value, reference] = [percentile(trips.leg, percent), percentile(trips.bare, percent)]
    const ratio = value / reference
    const name = `room: voice to voice with a tone agent, p${percent}, against a bare echo`
    return { name, value, reference, unit: 'ms', ratio, wanted: '≤ 1.15', ok: ratio <= 1.15 }
  })
}

async function bursts({ url, engine, caller, token }: Stage, kind: 'bare' | 'leg'): Promise<number[]> {
  const id = ++lastId
  const room = `echo-${id}`
  await caller.ask.open({ id, url, token: await token(room, 'caller') })
  const seat = { url, room, caller: 'caller', token: await token(room, 'agent') }
  if (kind === 'bare') await engine.ask.echo({ id, seat })
  else await engine.ask.open({ id, seat, agent: 'tone' })
  await wait(2 * PAUSE_MS)
  const trips: number[] = []
  for (let i = 0; i < BURSTS; i++) {
    const ms = await caller.ask.burst({ id })
    if (ms === null) throw new Error(`nothing came back (${kind})`)
    trips.push(ms)
    await wait(PAUSE_MS + Math.random() * 20)
  }
  await caller.ask.close({ id })
  if (kind === 'bare') await engine.ask.stopEcho({ id })
  else await engine.ask.close({ id })
  return trips
}

/**
 * Whole conversations in which each client speaks every few seconds. Their audio is encoded in advance and they ignore
 * the agents' audio: on two cores that work would distort the measurement.
 */
async function benchMany(stage: Stage): Promise<Line[]> {
  const { engine, load, report } = stage
  const pids = { engine: engine.pid, clients: load.pid, server: stage.serverPid, speech: stage.speechPid }
  const usage = () => Object.entries(pids).map(([name, pid]) => ({ name, ...usageOf(pid) }))
  const empty = usageOf(engine.pid)
  const ids = Array.from({ length: SESSIONS }, () => ++lastId)
  for (const id of ids) await openTalk(stage, id, 'conversation')
  await wait(1000)
  await Promise.all([engine.ask.lateness(), load.lateness()])
  const before = usage()
  const startedMs = performance.now()
  for (let turn = 0; performance.now() - startedMs < TALK_MS; turn++) {
    for (const id of ids) {
      await load.say({ id, clip: turn + id })
      await wait(TURN_MS / SESSIONS)
    }
  }
  const seconds = (performance.now() - startedMs) / 1000
  const after = usage()
  const late = await engine.ask.lateness()
  const generator = await load.lateness()
  const memory = (usageOf(engine.pid).residentMb - empty.residentMb) / SESSIONS
  const cpu = after.map(
    ({ name, cpuMs }, i) => `${name} ${(((cpuMs - before[i]!.cpuMs) / 1000 / seconds / SESSIONS) * 60).toFixed(2)}`,
  )
  report(
    `${SESSIONS} sessions: CPU seconds for a minute of one: ${cpu.join(', ')}; memory ${memory.toFixed(1)} MB each`,
  )
  report(`clients' own frames late by ${generator.p95.toFixed(1)} ms (p95), ${generator.p99.toFixed(1)} ms (p99)`)
  for (const id of ids) {
    await load.leave({ id })
    await engine.ask.close({ id })
  }
  const p99 = percentile(late, 99)
  const valid = generator.p95 <= LATE_MS
  return [
    {
      name: `room: ${SESSIONS} sessions in one engine, a frame's lateness, p99${valid ? '' : ' (clients late: not valid)'}`,
      value: p99,
      reference: 40,
      unit: 'ms',
      ratio: p99 / 40,
      wanted: '≤ 40 ms',
      ok: valid && p99 <= 40,
    },
    {
      name: `room: memory of a session, one of ${SESSIONS}`,
      value: memory,
      reference: 18,
      unit: 'MB',
      ratio: memory / 18,
      wanted: "≤ LiveKit agents' 18 MB",
      ok: memory <= 18,
    },
  ]
}

async function openTalk({ url, engine, load, token }: Stage, id: number, agent: RoomAgent): Promise<void> {
  const room = `talk-${id}`
  await load.join({ id, url, token: await token(room, 'caller') })
  await engine.ask.open({ id, seat: { url, room, caller: 'caller', token: await token(room, 'agent') }, agent })
}
