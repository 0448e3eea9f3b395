/** The compared systems: Parley over RTP and in rooms, Pipecat over a websocket, LiveKit Agents in the same rooms. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { AccessToken } from 'livekit-server-sdk'
import { findLiveKit, startLiveKit } from '../../../infra/embedded/livekit.ts'
import { freePort } from '../../../infra/embedded/ports.ts'
import { withPackages } from '../../../infra/tools/python.ts'
import { endpointMs } from '../../../media/agent/endpointing.ts'
import { startSpeech } from '../conversation.ts'
import type { EngineHandlers } from '../engine.ts'
import { ensureBuilt } from '../go.ts'
import type { RoomEngineHandlers } from '../room-engine.ts'
import { asker } from '../room-load.ts'
import { type Forked, forkRemote } from '../rpc.ts'
import type { CallersHandlers } from './callers.ts'
import { HEARD } from './heard.ts'
import { agentsVersion, PIPECAT_VERSION } from './packages.ts'

export type Length = 'short' | 'long'
export type Kind = 'shortest' | 'stock'

export interface System {
  /** For people; includes the silence that it waits for. */
  name: string
  /** The configured part of the latency: the least silence that ends a turn. */
  silenceMs: number
  /** Processes by role, including their children. */
  parts: Record<string, number>
  open(id: number, length: Length): Promise<void>
  close(id: number): Promise<void>
  stop(): Promise<void>
}

type Callers = Forked<CallersHandlers>

const ours = endpointMs(HEARD)

export async function startParley(callers: Callers): Promise<System> {
  const speech = await startSpeech()
  const engine = forkRemote<EngineHandlers>(join(import.meta.dirname, '../engine.ts'))
  await engine.ask.connect({ port: speech.port })
  return {
    name: `Parley, RTP (${ours} ms)`,
    silenceMs: ours,
    parts: { engine: engine.pid, speech: speech.child.pid! },
    async open(id, agent) {
      const port = await callers.ask.openRtp({ id })
      const agentPort = await engine.ask.open({ id, port, agent })
      await engine.ask.text({ id, text: HEARD })
      await callers.ask.start({ id, port: agentPort })
    },
    async close(id) {
      await engine.ask.close({ id })
      await callers.ask.close({ id })
    },
    async stop() {
      engine.stop()
      speech.child.kill()
    },
  }
}

const PIPECAT: Record<Kind, string> = {
  shortest: '200 ms by energy',
  stock: 'Silero 200 ms, Smart Turn',
}

export async function startPipecat(callers: Callers, packages: string, kind: Kind): Promise<System> {
  const program = join(import.meta.dirname, 'pipecat_agent.py')
  // It exits when its standard input closes.
  const child = spawn('python3', ['-s', program, kind], {
    env: { ...withPackages(packages), PYTHONUNBUFFERED: '1' },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const { port } = JSON.parse(await firstLine(child, 'Pipecat'))
  return {
    name: `Pipecat ${PIPECAT_VERSION}, websocket, ${kind} (${PIPECAT[kind]})`,
    silenceMs: 200,
    parts: { agent: child.pid! },
    async open(id, length) {
      await callers.ask.openTwilio({ id, url: `ws://127.0.0.1:${port}/${length}` })
      await callers.ask.start({ id })
    },
    close: id => callers.ask.close({ id }),
    async stop() {
      child.kill()
    },
  }
}

/** Rejects with the process's last output when it exits first. */
function firstLine(child: ChildProcess, name: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let last = ''
    child.stderr?.on('data', text => {
      last = String(text).trim().split('\n').at(-1) ?? last
    })
    createInterface(child.stdout!).once('line', resolve)
    child.once('exit', code => reject(new Error(`${name} ended with ${code}: ${last}`)))
    child.once('error', reject)
  })
}

/** One LiveKit server for all systems, and the callers' access to it. */
export interface Rooms {
  readonly serverPid: number
  /** The room seat of an agent. */
  seat(id: number): Promise<Seat>
  enter(callers: Callers, id: number): Promise<void>
  leave(callers: Callers, id: number): Promise<void>
  stop(): Promise<void>
}

interface Seat {
  url: string
  token: string
  room: string
  caller: string
}

export async function startRooms(cache: string, report: (text: string) => void): Promise<Rooms> {
  const binary = findLiveKit(cache)
  if (!binary) throw new Error('livekit-server is not installed')
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'))
  const keys = { apiKey: 'bench', apiSecret: crypto.randomUUID() + crypto.randomUUID() }
  const port = await freePort(17_880, '127.0.0.1', true)
  const { url, child } = await startLiveKit({ ...keys, binary, port, logFile: join(folder, 'livekit.log'), report })
  const bridge = spawn(await ensureBuilt(cache, 'room-load'), [], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ask = asker(bridge)
  const end = endWithBench(child.pid, folder)
  const token = (room: string, identity: string) => {
    const pass = new AccessToken(keys.apiKey, keys.apiSecret, { identity, ttl: 3600 })
    pass.addGrant({ room, roomJoin: true, canUpdateOwnMetadata: true })
    return pass.toJwt()
  }
  return {
    serverPid: child.pid,
    seat: async id => ({ url, room: `talk-${id}`, caller: 'caller', token: await token(`talk-${id}`, 'agent') }),
    async enter(callers, id) {
      const port = await callers.ask.openRoom({ id })
      await ask({ join: { id, url, token: await token(`talk-${id}`, 'caller'), bridge: `127.0.0.1:${port}` } })
      await callers.ask.start({ id })
    },
    async leave(callers, id) {
      await ask({ leave: { id } })
      await callers.ask.close({ id })
    },
    async stop() {
      bridge.kill()
      await child.stop()
      end()
    },
  }
}

/** Stops the server when the bench is stopped by a signal. The returned function does the same, once. */
function endWithBench(pid: number, folder: string): () => void {
  const exit = () => process.exit(1)
  const signals = ['SIGINT', 'SIGTERM'] as const
  const end = () => {
    process.off('exit', end)
    for (const signal of signals) process.off(signal, exit)
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // has exited already
    }
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', end)
  for (const signal of signals) process.once(signal, exit)
  return end
}

export async function startParleyInRooms(callers: Callers, rooms: Rooms): Promise<System> {
  const speech = await startSpeech()
  const engine = forkRemote<RoomEngineHandlers>(join(import.meta.dirname, '../room-engine.ts'))
  await engine.ask.connect({ port: speech.port })
  return {
    name: `Parley, room (${ours} ms)`,
    silenceMs: ours,
    parts: { engine: engine.pid, speech: speech.child.pid!, server: rooms.serverPid },
    async open(id, length) {
      await rooms.enter(callers, id)
      await engine.ask.open({ id, seat: await rooms.seat(id), agent: length === 'short' ? 'short' : 'conversation' })
    },
    async close(id) {
      await engine.ask.close({ id })
      await rooms.leave(callers, id)
    },
    async stop() {
      engine.stop()
      speech.child.kill()
    },
  }
}

type AgentHandlers = {
  open(seat: Seat & { id: number; length: Length }): Promise<void>
  close(session: { id: number }): Promise<void>
  end(): Promise<void>
}

const AGENTS: Record<Kind, { silenceMs: number; told: string }> = {
  shortest: { silenceMs: 200, told: '200 ms by energy' },
  // With its turn detector it waits longer than Silero's 250 ms.
  stock: { silenceMs: 300, told: 'Silero, 300 ms and its v1-mini' },
}

export async function startLiveKitAgents(callers: Callers, rooms: Rooms, program: string, kind: Kind): Promise<System> {
  const agent = forkRemote<AgentHandlers>(program, [join(import.meta.dirname, '../rpc.ts'), kind])
  const { silenceMs, told } = AGENTS[kind]
  return {
    name: `LiveKit Agents ${agentsVersion()}, room, ${kind} (${told})`,
    silenceMs,
    parts: { agent: agent.pid, server: rooms.serverPid },
    async open(id, length) {
      await rooms.enter(callers, id)
      await agent.ask.open({ id, ...(await rooms.seat(id)), length })
    },
    async close(id) {
      await agent.ask.close({ id })
      await rooms.leave(callers, id)
    },
    async stop() {
      await agent.ask.end().catch(() => {}) // has exited already
      agent.stop()
    },
  }
}
