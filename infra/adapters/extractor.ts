/**
 * Documents are read by a process each, with an end to its memory and its time: a hostile one takes nothing with it. A
 * thread would not do: its limits see no buffers, and what kills it may kill control. Node's permission model keeps it from
 * files and programs; it has no secrets in its environment, and a low priority beside the calls.
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
  /** Documents read at once. */
  atOnce: number
  /** From its turn to its text. */
  timeMs: number
  /** Resident, of the whole process. */
  memoryBytes: number
}

const MB = 1024 * 1024
export const EXTRACTOR_DEFAULTS: ExtractorOptions = { atOnce: 2, timeMs: 180_000, memoryBytes: 1024 * MB }

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const WORKER = join(ROOT, 'control/knowledge/extract/worker.ts')
/** Code, and nothing of what lies beside it. */
const READABLE = ['control/knowledge', 'package.json', 'node_modules'].map(name => join(ROOT, name))
/** Beside the heap there are the document itself, code and buffers. */
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
        // The queue is not told: a place in it is free when the process is gone, whoever waits need not wait for that.
        return await Promise.race([queue.add(() => extractOne(input, limits, ended)), abandoned.promise])
      } finally {
        ended.removeEventListener('abort', abandon)
      }
    },
    async close() {
      closing.abort(new Error('the extractor is closed'))
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
    child.send(jobOf(input, limits), () => {}) // a worker that is gone is told by its exit
    if (!('file' in input)) child.stdin!.on('error', () => {}).end(input.body)
    return await done
  } finally {
    await file?.close()
  }
}

function start(file: FileHandle | null, { memoryBytes }: ExtractorOptions): ChildProcess {
  const heap = Math.floor((memoryBytes * HEAP_SHARE) / MB)
  // Packages may be linked from elsewhere, and are read where they really are.
  const readable = [...READABLE, realpathSync(join(ROOT, 'node_modules'))].map(path => `--allow-fs-read=${path}`)
  const permissions = ['--permission', ...readable, '--allow-worker']
  const child = spawn(process.execPath, [...permissions, '--no-warnings', `--max-old-space-size=${heap}`, WORKER], {
    // The document is its standard input: a file is never in our memory, and the worker opens none.
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
    // it is gone already
  }
  // Linux alone: where memory ends, this process goes first, not the database.
  writeFile(`/proc/${pid}/oom_score_adj`, '1000').catch(() => {})
}

const jobOf = (input: DocumentInput, { memoryBytes }: ExtractorOptions): WorkerJob => ({
  kind: input.kind,
  url: 'url' in input ? input.url : null,
  charset: 'charset' in input ? input.charset : null,
  memory_bytes: memoryBytes,
  parent_pid: process.pid,
})

/** Settles when the process is gone, so that no more of them live than may. */
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
      () => end(new KnowledgeError('timeout', `The document could not be read within ${Math.ceil(timeMs / 1000)} s.`)),
      timeMs,
    )
    const abort = () => end(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
    child.on('message', message => {
      if (result instanceof Error) return // it is being ended
      const parsed = fromWorkerSchema.safeParse(message)
      if (!parsed.success) return end(new Error('a worker said what it should not'))
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

/** Before it was ready it is our fault, and worth another try; after that the document's. */
const diedOf = (ready: boolean) =>
  ready
    ? new KnowledgeError('too_complex', 'The document is too complex to process.')
    : new Error('a worker did not start')
