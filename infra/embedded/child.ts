/**
 * One supervised child process: started, awaited until ready, restarted with back-off when it exits, and stopped
 * together with its own children. Each unexpected exit is reported once.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'

export interface ChildOptions {
  name: string
  command: string
  args: string[]
  env?: NodeJS.ProcessEnv
  cwd?: string
  /** User to run as (root only). */
  user?: { uid: number; gid: number }
  logFile: string
  /** Matches the line that reports readiness (stdout or stderr), or resolves when the process is ready. */
  ready: ((line: string) => boolean) | (() => Promise<void>)
  readyTimeoutMs: number
  stopSignal?: NodeJS.Signals
  stopTimeoutMs?: number
  /** False for a process whose exit ends everything. */
  restart?: boolean
  /** Receives one sentence for people. */
  report(text: string): void
  /** Called with the PID of every started process, including restarted ones. */
  note?: ((pid: number) => void) | undefined
}

export interface Child {
  readonly pid: number
  /** The line that matched `ready`; empty when a check was used. */
  readonly readyLine: string
  stop(): Promise<void>
  /** Repeats the stop signal while stopping, which asks the process to stop waiting. */
  hurry(): void
}

const BACKOFF_MS = [500, 1000, 2000, 5000, 10_000]
const STABLE_MS = 30_000

export async function startChild(options: ChildOptions): Promise<Child> {
  let current = await launch(options)
  let stopping = false
  let deaths = 0
  let timer: NodeJS.Timeout | undefined
  let startedAt = Date.now()

  const watch = () => {
    current.process.once('exit', (code, signal) => {
      if (stopping) return
      options.report(
        `${options.name} exited (${signal ?? `status ${code}`}).${options.restart === false ? '' : ' Restarting.'}`,
      )
      if (options.restart === false) return
      if (Date.now() - startedAt > STABLE_MS) deaths = 0
      again()
    })
  }
  const again = () => {
    const delay = BACKOFF_MS[Math.min(deaths++, BACKOFF_MS.length - 1)]
    timer = setTimeout(async () => {
      if (stopping) return
      try {
        // Set at once, so that a stop during the launch ends the new process too.
        current = await launch(options, process => (current = { ...current, process }))
        startedAt = Date.now()
        options.report(`${options.name} is back.`)
        if (!stopping) watch()
      } catch (error) {
        if (stopping) return
        options.report(`${options.name} could not be restarted: ${(error as Error).message}`)
        again()
      }
    }, delay)
  }
  watch()
  return {
    get pid() {
      return current.process.pid!
    },
    get readyLine() {
      return current.readyLine
    },
    async stop() {
      stopping = true
      clearTimeout(timer)
      await end(current.process, options)
    },
    hurry() {
      if (stopping) current.process.kill(options.stopSignal ?? 'SIGTERM')
    },
  }
}

async function launch(
  options: ChildOptions,
  onSpawn: (process: ChildProcess) => void = () => {},
): Promise<{ process: ChildProcess; readyLine: string }> {
  const log = createWriteStream(options.logFile, { flags: 'a' })
  log.on('error', () => {}) // a full disk loses the log, not the supervisor with its children
  const spawnOptions: SpawnOptions = {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: options.env ?? process.env,
    // A process group of its own: we pass on Ctrl-C ourselves, in the right order.
    detached: true,
    ...(options.cwd ? { cwd: options.cwd } : {}),
    ...(options.user ?? {}),
  }
  const child = spawn(options.command, options.args, spawnOptions)
  onSpawn(child)
  if (child.pid !== undefined) options.note?.(child.pid)
  const tail: string[] = []
  return new Promise((resolve, reject) => {
    const fail = (why: string) => {
      clearTimeout(timeout)
      if (child.pid && child.exitCode === null) child.kill('SIGKILL')
      reject(new Error(`${options.name} ${why}${tail.length > 0 ? `\n${tail.join('\n')}` : ''}`))
    }
    const timeout = setTimeout(
      () => fail(`was not ready within ${options.readyTimeoutMs / 1000} s`),
      options.readyTimeoutMs,
    )
    const done = (readyLine: string) => {
      clearTimeout(timeout)
      child.off('exit', early)
      child.on('exit', () => log.end())
      resolve({ process: child, readyLine })
    }
    child.on('error', error => fail(`could not be started: ${error.message}`))
    const early = (code: number | null, signal: string | null) =>
      fail(`exited during start (${signal ?? `status ${code}`})`)
    child.once('exit', early)
    for (const stream of [child.stdout!, child.stderr!]) {
      createInterface({ input: stream }).on('line', line => {
        if (!log.writableEnded) log.write(`${line}\n`)
        if (tail.push(line) > 8) tail.shift()
        if (options.ready.length === 1 && (options.ready as (line: string) => boolean)(line)) done(line)
      })
    }
    if (options.ready.length === 0)
      (options.ready as () => Promise<void>)().then(
        () => done(''),
        error => fail(String(error)),
      )
  })
}

async function end(child: ChildProcess, options: ChildOptions): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const exited = new Promise<void>(resolve => child.once('exit', () => resolve()))
  child.kill(options.stopSignal ?? 'SIGTERM')
  const timer = setTimeout(() => killGroup(child.pid!), options.stopTimeoutMs ?? 5000)
  await exited
  clearTimeout(timer)
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // it has exited already
  }
}
