/**
 * Extracts each document in its own process with limits on memory and time, so that a hostile document harms nothing
 * else. A worker thread would not do: its limits exclude buffers, and exceeding them may kill control. Node's
 * permission model denies the process access to files and programs; it has no secrets in its environment, and a lower
 * priority than calls.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { type FileHandle, open, writeFile } from 'node:fs/promises'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import PQueue from 'p-queue'
import {
  type Block,
  type DocumentInput,
  type Extracted,
  type Extractor,
  KnowledgeError,
} from '../../control/knowledge/documents/types.ts'
import type { WorkerJob } from '../../control/knowledge/extract/worker.ts'
import { fromWorkerSchema } from '../../control/knowledge/extract/worker-messages.ts'

export interface ExtractorOptions {
  /** Documents extracted at once; 2 by default. */
  atOnce: number
  /** Milliseconds from the start of an extraction to its result; 180,000 by default. */
  timeMs: number
  /** Resident memory of the process; 1 GiB by default. */
  memoryBytes: number
}

const MB = 1024 * 1024
export const EXTRACTOR_DEFAULTS: ExtractorOptions = { atOnce: 2, timeMs: 180_000, memoryBytes: 1024 * MB }

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const WORKER = join(ROOT, 'control/knowledge/extract/worker.ts')
/** Only code, nothing beside it. */
const READABLE = ['control/knowledge', 'package.json', 'node_modules'].map(name => join(ROOT, name))
/** Besides the heap, memory holds the document, code and buffers. */
const HEAP_SHARE = 0.75

export function createExtractor(options: Partial<ExtractorOptions> = {}): Extractor {
  const limits = { ...EXTRACTOR_DEFAULTS, ...options }
  const queue = new PQueue({ concurrency: limits.atOnce })
  const closing = new AbortController()
  return {
    async extract(input, signal) {
      const ended = AbortSignal.any([signal, closing.signal])
      const abandoned = Promise.withResolvers<never>()
      const abandon = () => abandoned.reject(ended.reason)
      ended.addEventListener('abort', abandon)
      if (ended.aborted) abandon()
      try {
        // The queue slot stays taken until the process has exited, but the caller need not wait for that.
        return await Promise.race([queue.add(() => extractOne(input, limits, ended)), abandoned.promise])
      } finally {
        ended.removeEventListener('abort', abandon)
      }
    },
    async close() {
      closing.abort(new Error('The extractor is closed'))
      await queue.onIdle()
    },
  }
}

async function extractOne(input: DocumentInput, limits: ExtractorOptions, signal: AbortSignal): Promise<Extracted> {
  signal.throwIfAborted()
  const file = 'file' in input ? await open(input.file) : null
  try {
    const child = start(file, limits)
    const done = outcome(child, limits, signal)
    child.send(jobOf(input, limits), () => {}) // the exit of a dead worker is reported separately
    if (!('file' in input)) child.stdin!.on('error', () => {}).end(input.body)
    return await done
  } finally {
    await file?.close()
  }
}

function start(file: FileHandle | null, { memoryBytes }: ExtractorOptions): ChildProcess {
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
  if (child.pid !== undefined) yieldToOthers(child.pid)
  return child
}

function yieldToOthers(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
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

/** Settles when the process has exited, so that no more than `atOnce` exist. */
function outcome(child: ChildProcess, { timeMs }: ExtractorOptions, signal: AbortSignal): Promise<Extracted> {
  return new Promise((resolve, reject) => {
    const blocks: Block[] = []
    let ready = false
    let result: Extracted | Error | null = null
    const end = (error: Error) => {
      result = error
      child.kill('SIGKILL')
    }
    const timer = setTimeout(
      () => end(new KnowledgeError('timeout', `Reading the document took longer than ${Math.ceil(timeMs / 1000)} s.`)),
      timeMs,
    )
    const abort = () => end(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
    child.on('message', message => {
      if (result instanceof Error) return // it is being killed
      const parsed = fromWorkerSchema.safeParse(message)
      if (!parsed.success) return end(new Error('worker sent an invalid message'))
      const said = parsed.data
      if (said.type === 'ready') ready = true
      else if (said.type === 'blocks') for (const block of said.blocks) blocks.push(block)
      else if (said.type === 'failed') result = new KnowledgeError(said.code, said.message)
      else result = { url: said.url, title: said.title, blocks, html: said.html, ...(said.site && { site: said.site }) }
    })
    const settle = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      if (result === null) reject(diedOf(ready))
      else if (result instanceof Error) reject(result)
      else resolve(result)
    }
    child.once('error', settle) // it could not be started
    child.once('close', settle)
  })
}

/** A failure before `ready` is ours and worth a retry; after that it is the document's. */
const diedOf = (ready: boolean) =>
  ready ? new KnowledgeError('too_complex', 'The document is too complex to read.') : new Error('worker did not start')
