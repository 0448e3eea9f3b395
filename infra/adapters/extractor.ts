/**
 * Extracts each document in its own process with limits on memory and time, so that a hostile document harms nothing
 * else. A worker thread would not do: its limits exclude buffers, and exceeding them may kill control. Node's
 * permission model denies the process access to files and programs; it has no secrets in its environment, and a lower
 * priority than calls. Owners take turns, in slices.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { type FileHandle, open, stat, writeFile } from 'node:fs/promises'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type Block,
  type DocumentInput,
  type Extracted,
  type Extractor,
  type ExtractTurn,
  KnowledgeError,
  SliceSpent,
} from '../../control/knowledge/documents/types.ts'
import type { WorkerJob } from '../../control/knowledge/extract/worker.ts'
import { fromWorkerSchema } from '../../control/knowledge/extract/worker-messages.ts'
import { FairTurns, OwnerUsage } from '../../control/platform/jobs/fair-turns.ts'
import { systemClock } from './clock.ts'
import { cpuTimeOf } from './cpu-time.ts'

export interface ExtractorOptions {
  /** Documents extracted at once in their first slice; 2 by default. */
  atOnce: number
  /** Milliseconds of CPU time for a document; 120,000 by default. */
  timeMs: number
  /** Resident memory of the process; 1 GiB by default. */
  memoryBytes: number
  /** Shared with other work of the owners, which then counts as well. */
  usage?: OwnerUsage
}

const MB = 1024 * 1024
export const EXTRACTOR_DEFAULTS: ExtractorOptions = { atOnce: 2, timeMs: 120_000, memoryBytes: 1024 * MB }

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const WORKER = join(ROOT, 'control/knowledge/extract/worker.ts')
/** Only code, nothing beside it. */
const READABLE = ['control/knowledge', 'package.json', 'node_modules'].map(name => join(ROOT, name))
/** Besides the heap, memory holds the document, code and buffers. */
const HEAP_SHARE = 0.75

interface Slice {
  /** Milliseconds of CPU time after the worker's code is loaded. */
  cpuMs: number
  /** Milliseconds in all: a process that waits uses no CPU time. */
  wallMs: number
  /** Niceness of the process: longer work yields to shorter work. */
  nice: number
  /** True: a longer slice follows. */
  more: boolean
  turns: FairTurns
}

/**
 * A document that needs longer than its slice is read again from its beginning, in the next one. So short documents wait
 * for short turns only, and a long one costs an eighth more. Each of the longer slices has one process.
 */
const SLICES = [
  { cpuMs: 1500, wallMs: 20_000, nice: constants.priority.PRIORITY_BELOW_NORMAL },
  { cpuMs: 12_000, wallMs: 120_000, nice: 15 },
]
const LAST_NICE = constants.priority.PRIORITY_LOW
/** Wall time of the last slice, as a multiple of its CPU time. */
const SLOWEST = 3
const LOOK_MS = 50

function slicesOf({ atOnce, timeMs, usage = new OwnerUsage(systemClock) }: ExtractorOptions): Slice[] {
  const short = SLICES.filter(({ cpuMs }) => cpuMs < timeMs)
  const last = { cpuMs: timeMs, wallMs: timeMs * SLOWEST, nice: LAST_NICE }
  return [...short, last].map((slice, i) => ({
    ...slice,
    more: i < short.length,
    turns: new FairTurns({ atOnce: i === 0 ? atOnce : 1, usage, clock: systemClock }),
  }))
}

function partOf(slices: readonly Slice[], part: ExtractTurn['part'] = 'all'): readonly Slice[] {
  if (part === 'first') return slices.slice(0, 1)
  return part === 'rest' && slices.length > 1 ? slices.slice(1) : slices
}

/** Without an owner, a document belongs to the operator. */
const NOBODY: ExtractTurn = { owner: '' }

export function createExtractor(options: Partial<ExtractorOptions> = {}): Extractor {
  const limits = { ...EXTRACTOR_DEFAULTS, ...options }
  const slices = slicesOf(limits)
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()
  const track = <T>(work: Promise<T>): Promise<T> => {
    const ended = work.then(
      () => {},
      () => {},
    )
    running.add(ended)
    void ended.then(() => running.delete(ended))
    return work
  }
  return {
    async extract(input, signal, { owner, part } = NOBODY) {
      const ended = AbortSignal.any([signal, closing.signal])
      ended.throwIfAborted()
      const size = 'file' in input ? (await stat(input.file)).size : input.body.length
      for (const slice of partOf(slices, part)) {
        const work = (charge: (ms: number) => void) => track(extractOne(input, { ...limits, slice, charge }, ended))
        // The turn stays taken until the process has exited, but the caller need not wait for that.
        const found = await orAborted(slice.turns.run({ owner, size }, ended, work), ended)
        if (found) return found
      }
      throw new SliceSpent()
    },
    async close() {
      closing.abort(new Error('The extractor is closed'))
      while (running.size > 0) await Promise.all(running)
    },
  }
}

async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

interface OneTurn extends ExtractorOptions {
  slice: Slice
  /** Reports the CPU time of the process in milliseconds. */
  charge(ms: number): void
}

/** Null when the slice is spent. */
async function extractOne(input: DocumentInput, turn: OneTurn, signal: AbortSignal): Promise<Extracted | null> {
  signal.throwIfAborted()
  const file = 'file' in input ? await open(input.file) : null
  try {
    signal.throwIfAborted()
    const child = start(file, turn)
    const done = outcome(child, turn, signal)
    child.send(jobOf(input, turn), () => {}) // the exit of a dead worker is reported separately
    if (!('file' in input)) child.stdin!.on('error', () => {}).end(input.body)
    return await done
  } finally {
    await file?.close()
  }
}

function start(file: FileHandle | null, { memoryBytes, slice }: OneTurn): ChildProcess {
  const heap = Math.floor((memoryBytes * HEAP_SHARE) / MB)
  // Packages may be symlinks, and are read at their real path.
  const readable = [...READABLE, realpathSync(join(ROOT, 'node_modules'))].map(path => `--allow-fs-read=${path}`)
  const permissions = ['--permission', ...readable, '--allow-worker']
  const child = spawn(process.execPath, [...permissions, '--no-warnings', `--max-old-space-size=${heap}`, WORKER], {
    // The document is standard input: a file never enters our memory, and the worker opens none.
    stdio: [file ? file.fd : 'pipe', 'ignore', 'ignore', 'ipc'],
    env: {},
    cwd: ROOT,
  })
  if (child.pid !== undefined) yieldToOthers(child.pid, slice.nice)
  return child
}

function yieldToOthers(pid: number, nice: number): void {
  try {
    setPriority(pid, nice)
  } catch {
    // it has exited already
  }
  // Linux only: when memory runs out, this process is killed before the database.
  writeFile(`/proc/${pid}/oom_score_adj`, '1000').catch(() => {})
}

const jobOf = (input: DocumentInput, { memoryBytes }: ExtractorOptions): WorkerJob => ({
  kind: input.kind,
  url: 'url' in input ? input.url : null,
  charset: 'charset' in input ? input.charset : null,
  memory_bytes: memoryBytes,
  parent_pid: process.pid,
})

/** Settles when the process has exited, so that no more than `atOnce` exist. Null when the slice is spent. */
function outcome(child: ChildProcess, turn: OneTurn, signal: AbortSignal): Promise<Extracted | null> {
  return new Promise((resolve, reject) => {
    const blocks: Block[] = []
    let result: Extracted | Error | null = null
    const end = (error: Error) => {
      if (!(result instanceof Error)) result = error
      child.kill('SIGKILL')
    }
    const meter = watchTime(child, turn, () => end(turn.slice.more ? new SliceSpent() : tooLong(turn)))
    const abort = () => end(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
    child.on('message', message => {
      if (result instanceof Error) return // it is being killed
      const parsed = fromWorkerSchema.safeParse(message)
      if (!parsed.success) return end(new Error('worker sent an invalid message'))
      const said = parsed.data
      if (said.type === 'ready') meter.ready()
      else if (said.type === 'blocks') for (const block of said.blocks) blocks.push(block)
      else if (said.type === 'failed') result = new KnowledgeError(said.code, said.message)
      else result = { url: said.url, title: said.title, blocks, html: said.html, ...(said.site && { site: said.site }) }
    })
    const settle = () => {
      meter.stop()
      signal.removeEventListener('abort', abort)
      if (result === null) reject(diedOf(meter.isReady))
      else if (result instanceof SliceSpent) resolve(null)
      else if (result instanceof Error) reject(result)
      else resolve(result)
    }
    child.once('error', settle) // it could not be started
    child.once('close', settle)
  })
}

const tooLong = ({ timeMs }: ExtractorOptions) =>
  new KnowledgeError('timeout', `Reading the document took longer than ${Math.ceil(timeMs / 1000)} s.`)

/** Calls `onSpent` when the slice is spent, and charges the owner for the CPU time of the process. */
function watchTime(child: ChildProcess, { slice, charge }: OneTurn, onSpent: () => void) {
  let loadedMs: number | null = null
  const startedMs = systemClock.now()
  const read = (): number | null => {
    if (process.platform !== 'linux') return systemClock.now() - startedMs
    return child.pid === undefined ? null : cpuTimeOf(child.pid)
  }
  const wall = setTimeout(onSpent, slice.wallMs)
  const look = setInterval(() => {
    const usedMs = read()
    if (usedMs === null) return
    charge(usedMs)
    if (loadedMs !== null && usedMs - loadedMs > slice.cpuMs) onSpent()
  }, LOOK_MS)
  return {
    get isReady() {
      return loadedMs !== null
    },
    ready() {
      loadedMs = read() ?? 0
    },
    stop() {
      clearTimeout(wall)
      clearInterval(look)
    },
  }
}

/** A failure before `ready` is ours and worth a retry; after that it is the document's. */
const diedOf = (ready: boolean) =>
  ready ? new KnowledgeError('too_complex', 'The document is too complex to read.') : new Error('worker did not start')
