/** Requests between the bench and its forked processes, and their common clock. */
import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Milliseconds of CLOCK_MONOTONIC, the same in every process of the machine. */
export const monotonicMs = () => Number(process.hrtime.bigint()) / 1e6

export const wait = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))

type Handlers = Record<string, (args: never) => unknown>
export type Remote<H extends Handlers> = {
  [K in keyof H]: (...args: Parameters<H[K]>) => Promise<Awaited<ReturnType<H[K]>>>
}

interface Answer {
  n: number
  result?: unknown
  error?: string
}

/** Answers the parent's requests and exits with it. */
export function serve(handlers: Handlers): void {
  process.on('message', async ({ n, name, args }: { n: number; name: string; args: never }) => {
    try {
      process.send!({ n, result: await handlers[name]!(args) } satisfies Answer)
    } catch (error) {
      process.send!({ n, error: (error as Error).stack ?? String(error) } satisfies Answer)
    }
  })
  process.on('disconnect', () => process.exit(0))
}

export interface Forked<H extends Handlers> {
  ask: Remote<H>
  pid: number
  stop(): void
}

export function forkRemote<H extends Handlers>(file: string, args: readonly string[] = []): Forked<H> {
  const child: ChildProcess = fork(file, args, {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    serialization: 'advanced',
  })
  const waiting = new Map<number, (answer: Answer) => void>()
  let asked = 0
  child.on('message', (answer: Answer) => {
    waiting.get(answer.n)?.(answer)
    waiting.delete(answer.n)
  })
  child.on('exit', code => {
    for (const [n, settle] of waiting) settle({ n, error: `${file} ended with ${code}` })
  })
  const ask = new Proxy({} as Remote<H>, {
    get: (_, name: string) => (args?: unknown) =>
      new Promise((resolve, reject) => {
        const n = ++asked
        waiting.set(n, ({ result, error }) => (error === undefined ? resolve(result) : reject(new Error(error))))
        child.send({ n, name, args })
      }),
  })
  return { ask, pid: child.pid!, stop: () => void child.kill() }
}

/** Linux counts a process's CPU time in hundredths of a second. */
const TICK_MS = 10

export function usageOf(pid: number): { cpuMs: number; residentMb: number } {
  // The name in brackets may contain spaces; the fields after it are numbered from 3.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  const kb = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]!
  return { cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS, residentMb: Number(kb) / 1024 }
}

/** A load generator is valid when 99 of 100 packets leave within this many milliseconds of their time. */
export const LATE_MS = 5
export const lateness = (ms: readonly number[]) => percentile(ms, 99)

export const median = (values: readonly number[]) => percentile(values, 50)

export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1))] ?? Number.NaN
}
