/**
 * The home directory of one Parley: a lock with the PIDs of our process and its children, so that leftovers of a killed
 * one can be stopped; and the addresses of its servers, for commands that run beside it.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isRunning, startOf, takeLock } from '../setup/lock.mjs'

export class HomeInUse extends Error {}

export interface Home {
  logs: string
  /** Records a child process, so that it can be stopped if we are killed. */
  note(pid: number): void
  /** Publishes the servers' addresses for other processes of this user, until release. */
  publish(connections: Connections): void
  release(): void
}

export interface Connections {
  database_url: string
  redis_url: string
  /** Other settings of its processes, once known; without the secret, which is in a file or the environment. */
  settings?: Record<string, string>
}

const CONNECTIONS = 'connections.json'

/** Addresses of the Parley running in this directory; null when none is running, or not ready yet. */
export function readConnections(folder: string): Connections | null {
  try {
    const running = JSON.parse(readFileSync(join(folder, 'running.json'), 'utf8'))
    if (!isRunning(running)) return null
    return JSON.parse(readFileSync(join(folder, CONNECTIONS), 'utf8')) as Connections
  } catch {
    return null
  }
}

export async function lockHome(folder: string): Promise<Home> {
  const logs = join(folder, 'logs')
  mkdirSync(logs, { recursive: true })
  closeToOthers(folder)
  const file = join(folder, 'running.json')
  // Two processes that start at the same moment must see each other.
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
    // Written atomically: an incomplete file would leave a killed Parley's children running.
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
    publish(values) {
      // The file contains a password.
      writeFileSync(`${connections}.new`, JSON.stringify(values), { mode: 0o600 })
      renameSync(`${connections}.new`, connections)
    },
    release() {
      rmSync(connections, { force: true })
      rmSync(file, { force: true })
    },
  }
}

/** As root, Postgres runs as another user, who must be able to enter the directory, but not to list it. */
const HOME_MODE = process.getuid?.() === 0 ? 0o711 : 0o700

/** Files and directories that contain call content, traces or mail. */
const PRIVATE = ['logs', 'redis', 'blobs', 'mail', 'spool', 'demo-call.wav']

/** Closes files that an earlier version left readable; new ones are covered by the umask of `npm start`. */
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
    return // incomplete: its writer was killed
  }
  if (isRunning(before)) throw new HomeInUse(`Parley is already running in this directory (process ${before.pid}).`)
  // SIGINT stops all of them cleanly and quickly: for Postgres it means a fast shutdown.
  for (const child of before.children) if (isRunning(child)) signal(child.pid, 'SIGINT')
  const until = Date.now() + CLEAR_MS
  while (before.children.some(isRunning) && Date.now() < until) await new Promise(resolve => setTimeout(resolve, 50))
  for (const child of before.children) if (isRunning(child)) signal(child.pid, 'SIGKILL')
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // exited meanwhile
  }
}
