/** Engines and controls of one installation, each a separate process, the controls behind one address. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Child } from '../../infra/embedded/child.ts'
import { startProcess } from '../../infra/embedded/programs.ts'
import { startBalancer } from './balancer.ts'

export interface FleetSize {
  engines: number
  controls: number
}

/** Ports of one engine: two per call. */
export const RTP_PORTS = 400

interface FleetProcess {
  /** The supervisor's name for it: `Engine 2 is back.` */
  title: string
  child: Child
  logFile: string
}

export interface EngineProcess extends FleetProcess {
  /** ENGINE_NAME. */
  name: string
  rtp: { min: number; max: number }
}

export interface ControlProcess extends FleetProcess {
  port: number
}

export interface Fleet {
  engines: readonly EngineProcess[]
  controls: readonly ControlProcess[]
}

/** Parses `2x2`: engines, then controls. */
export function readFleet(text: string): FleetSize {
  const [, engines, controls] = /^([1-9])x([1-9])$/.exec(text) ?? []
  if (!engines || !controls) throw new Error(`PARLEY_TEST_FLEET must be <engines>x<controls>, such as 2x2, not ${text}`)
  return { engines: Number(engines), controls: Number(controls) }
}

export interface FleetOptions {
  size: FleetSize
  /**
   * Settings of all processes; HTTP_PORT is the customers' address of control, ENGINE_NAME that of the first engine.
   */
  env: Readonly<Record<string, string>>
  folder: string
  report(text: string): void
  /** Called for every started process, even when another one fails to start. */
  note(pid: number): void
  /** Registers a process to be stopped at the end. */
  keep(child: Child): Child
  onStop(close: () => unknown): void
  freePort(): Promise<number>
}

/** The first process has no number, as when it is the only one. */
const nth = (name: string, index: number, between: string) => (index === 0 ? name : `${name}${between}${index + 1}`)

export async function startFleet(options: FleetOptions): Promise<Fleet> {
  // Engines ask control as soon as they are running.
  const controls = await startControls(options)
  const engines = await Promise.all(
    Array.from({ length: options.size.engines }, (_, index) => startEngine(options, index)),
  )
  return { engines, controls }
}

async function startControls({ size, env, folder, report, note, keep, onStop, freePort }: FleetOptions) {
  const address = Number(env['HTTP_PORT'])
  const ports = size.controls === 1 ? [address] : await different(size.controls, freePort)
  const start = async (port: number, index: number): Promise<ControlProcess> => {
    const title = nth('Control', index, ' ')
    const logFile = join(folder, `${nth('control', index, '-')}.log`)
    // The public address is the balancer's.
    const told: Record<string, string> = size.controls === 1 ? {} : { PUBLIC_URL: `http://127.0.0.1:${address}` }
    const own = { ...told, ...env, HTTP_PORT: String(port) }
    const child = await startProcess({ name: title, file: 'control.ts', env: own, logFile, report, note })
    return { title, child: keep(child), logFile, port }
  }
  const controls = await Promise.all(ports.map(start))
  if (size.controls > 1) {
    const balancer = await startBalancer(address, ports)
    onStop(() => balancer.close())
  }
  return controls
}

async function startEngine({ env, folder, report, note, keep }: FleetOptions, index: number): Promise<EngineProcess> {
  const name = nth(env['ENGINE_NAME']!, index, '-')
  const title = nth('Engine', index, ' ')
  const logFile = join(folder, `${nth('engine', index, '-')}.log`)
  const min = Number(env['RTP_PORT_MIN']) + RTP_PORTS * index
  const rtp = { min, max: min + RTP_PORTS - 1 }
  const own = { ...env, ENGINE_NAME: name, RTP_PORT_MIN: String(rtp.min), RTP_PORT_MAX: String(rtp.max) }
  const child = await startProcess({ name: title, file: 'engine.ts', env: own, logFile, report, note })
  return { name, title, child: keep(child), logFile, rtp }
}

/** Free ports, all different: each search starts at another port and may find the same one. */
async function different(count: number, freePort: () => Promise<number>): Promise<number[]> {
  const found = new Set<number>()
  while (found.size < count) found.add(await freePort())
  return [...found]
}

/** Log lines of processes so far, one JSON object per line. */
export const logged = (files: readonly string[]): Record<string, unknown>[] =>
  files.flatMap(file =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter(line => line.startsWith('{'))
      .map(line => JSON.parse(line)),
  )
