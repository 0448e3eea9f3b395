/**
 * The two systems that the signalling benchmarks compare, and their caller: Parley as `npm start` runs it, and diago.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../infra/config/config.ts'
import { startSipServer } from '../../infra/embedded/programs.ts'
import { forkRemote, usageOf } from './rpc.ts'
import type { EdgeOrder } from './sip-edge.ts'
import type { SipEngineHandlers } from './sip-engine.ts'
import { type SipCaller, startDiago, startSipCaller } from './sip-peers.ts'

export interface Side {
  target: string
  pids: Record<string, number>
}
export const sideNames = ['parley', 'diago'] as const
export type SideName = (typeof sideNames)[number]

export interface SipSides {
  caller: SipCaller
  sides: Record<SideName, Side>
  stop(): Promise<void>
}

/** The called number. */
export const NUMBER = '+12025550100'
export const HOLD_MS = 500
/** Milliseconds; beyond 64*T1 (RFC 3261 §17), when nothing is left of earlier calls. */
export const REST_MS = 33_000

export async function startSides(report: (text: string) => void): Promise<SipSides> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'))
  const stops: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  const stop = async () => {
    for (const one of stops.splice(0).reverse()) await one()
  }
  try {
    const caller = await startSipCaller(readConfig().cache)
    stops.push(caller.stop)
    const diago = await startDiago(readConfig().cache)
    stops.push(diago.stop)
    const parley = await startOurs(folder, report, stops)
    return { caller, sides: { parley, diago: { target: diago.target, pids: { diago: diago.pid } } }, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The server and the engine's edge, one process each. */
async function startOurs(folder: string, report: (text: string) => void, stops: (() => unknown)[]): Promise<Side> {
  const server = await startServer(folder, report, stops)
  const engine = forkRemote<SipEngineHandlers>(join(import.meta.dirname, 'sip-engine.ts'))
  stops.push(engine.stop)
  await engine.ask.connect(server.edge)
  return { target: server.target, pids: { server: server.pid, srf: engine.pid } }
}

/** The embedded server: its SIP address, and how an engine's edge connects. */
export async function startServer(
  folder: string,
  report: (text: string) => void,
  stops: (() => unknown)[],
): Promise<{ target: string; pid: number; edge: EdgeOrder }> {
  const secret = crypto.randomUUID()
  const listen = ['udp:127.0.0.1:0']
  const logFile = join(folder, 'sip-server.log')
  const { child, listen: at } = await startSipServer({ admin: '127.0.0.1:0', secret, listen, logFile, report })
  stops.push(() => child.stop())
  const { admin } = JSON.parse(child.readyLine) as { admin: string }
  const edge = { port: Number(admin.split(':').at(-1)), secret, number: NUMBER }
  return { target: at[0]!.split('/')[1]!, pid: child.pid, edge }
}

/** CPU seconds of each process since `before`. */
export const cpuOf = ({ pids }: Side, before: Record<string, number> = {}): Record<string, number> =>
  Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, usageOf(pid).cpuMs - (before[name] ?? 0)]))

export const failuresOf = (failed: Record<string, number>) =>
  Object.values(failed).reduce((sum, count) => sum + count, 0)
