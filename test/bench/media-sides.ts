/** The systems of the media benchmark, each with the processes to measure and the address to call. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadClips, makeRoom } from './clips.ts'
import { startSpeech } from './conversation.ts'
import type { Calls, MediaCaller } from './media-caller.ts'
import type { MediaEchoHandlers } from './media-echo.ts'
import type { MediaEngineHandlers } from './media-engine.ts'
import { forkRemote } from './rpc.ts'
import { nextLine, startDiago, startPeer } from './sip-peers.ts'
import { NUMBER, startServer } from './sip-sides.ts'

export const ECHO = 'Parley, echo'
export const DIAGO = 'diago, echo'
export const NODE = 'bare UDP echo in Node'
export const GO = 'bare UDP echo in Go'
export const TALK = 'Parley, conversation'

/** Calls per second during set-up. */
const RATE = 100

export interface System {
  readonly name: string
  readonly pids: Readonly<Record<string, number>>
  calls(count: number): Promise<Calls>
  /** Calls that the system ended itself, by reason; none is expected. */
  hungUp?(): Promise<Record<string, number>>
}

export interface Systems {
  systems: System[]
  stop(): Promise<void>
}

type Report = (text: string) => void
type Stops = (() => unknown)[]

/** Parley, an application on emiago/diago, and the limit of bare sockets. */
export const startEchoes = (cache: string, report: Report): Promise<Systems> =>
  started(async stops => [
    await startParley(ECHO, null, report, stops),
    await startDiagoEcho(cache, stops),
    await startNodeEcho(stops),
    await startGoEcho(cache, stops),
  ])

/** Parley alone. `heard`: the text that scripted STT returns for any audio. */
export const startTalk = (caller: MediaCaller, heard: string, report: Report): Promise<Systems> =>
  started(async stops => {
    const folder = makeFolder(stops)
    const write = (name: string, frames: readonly Uint8Array[]) => {
      writeFileSync(join(folder, name), Buffer.concat(frames))
      return join(folder, name)
    }
    const clips = [...loadClips()].map(([name, frames]) => write(name, frames))
    await caller.sound({ clips, room: write('room', makeRoom()) })
    return [await startParley(TALK, heard, report, stops)]
  })

async function started(start: (stops: Stops) => Promise<System[]>): Promise<Systems> {
  const stops: Stops = []
  const stop = async () => {
    for (const one of stops.splice(0).reverse()) await one()
  }
  try {
    return { systems: await start(stops), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The embedded server and an engine's edge with real RTP sessions; in a conversation also the speech process. */
async function startParley(name: string, heard: string | null, report: Report, stops: Stops): Promise<System> {
  const server = await startServer(makeFolder(stops), report, stops)
  const engine = forkRemote<MediaEngineHandlers>(join(import.meta.dirname, 'media-engine.ts'))
  stops.push(engine.stop)
  const pids: Record<string, number> = { server: server.pid, engine: engine.pid }
  if (heard === null) await engine.ask.connect({ edge: server.edge, talk: null })
  else {
    const { child, port } = await startSpeech()
    stops.push(() => child.kill())
    pids['speech'] = child.pid!
    await engine.ask.connect({ edge: server.edge, talk: { port, heard } })
  }
  const calls = async (count: number) => placed(server.target, count, heard !== null)
  return { name, pids, calls, hungUp: engine.ask.hungUp }
}

async function startDiagoEcho(cache: string, stops: Stops): Promise<System> {
  const diago = await startDiago(cache, 'echo')
  stops.push(diago.stop)
  return { name: DIAGO, pids: { diago: diago.pid }, calls: async calls => placed(diago.target, calls, false) }
}

async function startNodeEcho(stops: Stops): Promise<System> {
  const echo = forkRemote<MediaEchoHandlers>(join(import.meta.dirname, 'media-echo.ts'))
  stops.push(echo.stop)
  return { name: NODE, pids: { node: echo.pid }, calls: async calls => ({ ports: await echo.ask.open({ calls }) }) }
}

async function startGoEcho(cache: string, stops: Stops): Promise<System> {
  const peer = await startPeer(cache, 'udp-echo')
  stops.push(() => peer.child.kill())
  const open = async (calls: number): Promise<number[]> => {
    peer.child.stdin!.write(`${calls}\n`)
    return JSON.parse(await nextLine(peer))
  }
  return { name: GO, pids: { go: peer.child.pid! }, calls: async calls => ({ ports: await open(calls) }) }
}

const placed = (target: string, calls: number, talk: boolean) => ({ target, to: NUMBER, calls, rate: RATE, talk })

function makeFolder(stops: Stops): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'))
  stops.push(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
