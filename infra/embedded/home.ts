/**
 * One Parley a folder: a lock with our process and its children, so that what a killed one left can be cleared away; and
 * where its servers are, for commands that work beside it.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isRunning, startOf, takeLock } from '../setup/lock.mjs'

export class HomeInUse extends Error {}

export interface Home {
  logs: string
  /** Remembers a child until the end. */
  note(pid: number): void
  /** Tells other processes of this user where the servers are, until the end. */
  tell(connections: Connections): void
  release(): void
}

export interface Connections {
  database_url: string
  redis_url: string
  /** What its processes were given beyond that, once they are told; without the secret, which is in a file or the environment. */
  settings?: Record<string, string>
}

const CONNECTIONS = 'connections.json'

/** Of the Parley that runs in this folder; null when none does, or not yet so far. */
export function readConnections(folder: string): Connections | null {
  try {
    const running = JSON.parse(readFileSync(join(folder, 'running.json'), 'utf8'))
    if (!isRunning(running)) return null
    return JSON.parse(readFileSync(join(folder, CONNECTIONS), 'utf8')) as Connections
  } catch {
    return null
  }
}

export async function takeHome(folder: string): Promise<Home> {
  const logs = join(folder, 'logs')
  mkdirSync(logs, { recursive: true })
  closeToOthers(folder)
  const file = join(folder, 'running.json')
  // Two that start at the same moment must see each other.
  const release = await takeLock(join(folder, 'running.lock'))
  try {
    await clearLeftovers(file)
    return take(folder, file, logs)
  } finally {
    release()
  }
}

function take(folder: string, file: string, logs: string): Home {
  const connections = join(folder, CONNECTIONS)
  rmSync(connections, { force: true })
  const pids: { pid: number; started: string }[] = []
  const write = () => {
    // Whole or not at all: half of it would leave a killed one's children running.
    writeFileSync(`${file}.new`, JSON.stringify({ pid: process.pid, started: startOf(process.pid), children: pids }))
    renameSync(`${file}.new`, file)
  }
  write()
  return {
    logs,
    note(pid) {
      pids.push({ pid, started: startOf(pid) })
      write()
    },
    tell(values) {
      // There is a password in it.
      writeFileSync(`${connections}.new`, JSON.stringify(values), { mode: 0o600 })
      renameSync(`${connections}.new`, connections)
    },
    release() {
      rmSync(connections, { force: true })
      rmSync(file, { force: true })
    },
  }
}

/** Postgres of root runs as another user, who must get to its folder; to enter is not to list. */
const HOME_MODE = process.getuid?.() === 0 ? 0o711 : 0o700

/** Where words and sound of calls, traces and mails lie. */
const PRIVATE = ['logs', 'redis', 'blobs', 'mail', 'spool', 'demo-call.wav']

/** What is made from now on is its owner's by the umask of `npm start`; what an earlier version left open is closed. */
function closeToOthers(folder: string): void {
  chmodSync(folder, HOME_MODE & statSync(folder).mode)
  for (const file of PRIVATE.map(name => join(folder, name)).filter(existsSync))
    chmodSync(file, statSync(file).isDirectory() ? 0o700 : 0o600)
}

const CLEAR_MS = 8000

async function clearLeftovers(file: string): Promise<void> {
  if (!existsSync(file)) return
  let before: { pid: number; started: string; children: { pid: number; started: string }[] }
  try {
    before = JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return // written half by a process that was killed
  }
  if (isRunning(before)) throw new HomeInUse(`Parley already runs in this folder (process ${before.pid}).`)
  // SIGINT is a clean and quick end for all of them: to Postgres it means a fast shutdown.
  for (const child of before.children) if (isRunning(child)) signal(child.pid, 'SIGINT')
  const until = Date.now() + CLEAR_MS
  while (before.children.some(isRunning) && Date.now() < until) await new Promise(resolve => setTimeout(resolve, 50))
  for (const child of before.children) if (isRunning(child)) signal(child.pid, 'SIGKILL')
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // gone meanwhile
  }
}
