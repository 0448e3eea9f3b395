/**
 * The local embedder: one thread for queries, which are waited for, and one for passages, which is stopped after a
 * minute without work.
 */
import { open, stat } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import type { Embedder } from '../../../control/knowledge/documents/types.ts'
import type { Role } from './encoder.ts'
import type { EmbeddingFiles } from './model.ts'
import type { EncoderAnswer, EncoderTask, EncoderWorkerData } from './worker.ts'

const MODEL = 'multilingual-e5-small/q8'
const DIMENSIONS = 384
const IDLE_MS = 60_000

export function createLocalEmbedder(files: EmbeddingFiles, options: { idleMs?: number } = {}): Embedder {
  let weights: Promise<SharedArrayBuffer> | null = null
  const read = () => (weights ??= readShared(files.weights))
  const makeLane = (idleMs: number | null) => createLane({ read, graph: files.graph, idleMs })
  const lanes: Record<Role, Lane> = { query: makeLane(null), passage: makeLane(options.idleMs ?? IDLE_MS) }
  return {
    model: MODEL,
    dimensions: DIMENSIONS,
    async embed(texts, role, signal) {
      const vectors: Float32Array[] = []
      for (const text of texts) vectors.push(await lanes[role].encode(text, role, signal))
      return vectors
    },
    async warm(signal) {
      await lanes.query.encode('?', 'query', signal)
    },
    async close() {
      await Promise.all([lanes.query.close(), lanes.passage.close()])
    },
  }
}

async function readShared(path: string): Promise<SharedArrayBuffer> {
  const shared = new SharedArrayBuffer((await stat(path)).size)
  const file = await open(path)
  try {
    for (let at = 0; at < shared.byteLength; ) {
      const { bytesRead } = await file.read(new Uint8Array(shared, at), 0, shared.byteLength - at, at)
      if (bytesRead === 0) throw new Error(`${path} is truncated`)
      at += bytesRead
    }
    return shared
  } finally {
    await file.close()
  }
}

interface Lane {
  encode(text: string, role: Role, signal: AbortSignal): Promise<Float32Array>
  close(): Promise<void>
}

interface Waiting {
  task: EncoderTask
  resolve(vector: Float32Array): void
  reject(error: unknown): void
}

/** One text is with the thread, the others wait in the queue: an aborted one is never computed. */
function createLane(options: { read(): Promise<SharedArrayBuffer>; graph: string; idleMs: number | null }): Lane {
  const queue: Waiting[] = []
  let current: Waiting | null = null
  let worker: Promise<Worker> | null = null
  let idle: NodeJS.Timeout | undefined
  let lastId = 0
  let closed = false

  const fail = (error: Error) => {
    worker = null
    for (const waiting of [...(current ? [current] : []), ...queue.splice(0)]) waiting.reject(error)
    current = null
  }
  async function start(): Promise<Worker> {
    const workerData: EncoderWorkerData = { weights: await options.read(), graph: options.graph, threads: 1 }
    const started = new Worker(new URL('./worker.ts', import.meta.url), { workerData })
    started.unref() // pending calls keep the process alive on their own
    started.on('message', (answer: EncoderAnswer) => {
      if (current?.task.id !== answer.id) return
      if ('vector' in answer) current.resolve(answer.vector)
      else current.reject(new Error(answer.error))
      current = null
      next()
    })
    const mine = worker
    const ended = (error: Error) => {
      if (worker === mine) fail(error)
    }
    started.on('error', error => ended(error as Error))
    started.on('exit', () => ended(new Error('The embedding thread has exited')))
    return started
  }
  function rest(): void {
    if (options.idleMs === null || !worker) return
    idle = setTimeout(() => {
      const last = worker
      worker = null
      void last?.then(thread => thread.terminate())
    }, options.idleMs)
    idle.unref()
  }
  function next(): void {
    clearTimeout(idle)
    if (current) return
    current = queue.shift() ?? null
    if (!current) {
      rest()
      return
    }
    const { task } = current
    worker ??= start()
    worker.then(thread => thread.postMessage(task), fail)
  }
  return {
    encode(text, role, signal) {
      return new Promise((resolve, reject) => {
        if (closed) return reject(new Error('The embedder is closed'))
        if (signal.aborted) return reject(signal.reason)
        const give = () => {
          const at = queue.indexOf(waiting)
          if (at >= 0) queue.splice(at, 1)
          reject(signal.reason)
        }
        signal.addEventListener('abort', give, { once: true })
        const end = () => signal.removeEventListener('abort', give)
        const waiting: Waiting = {
          task: { id: ++lastId, text, role },
          resolve(vector) {
            end()
            resolve(vector)
          },
          reject(error) {
            end()
            reject(error)
          },
        }
        queue.push(waiting)
        next()
      })
    },
    async close() {
      closed = true
      clearTimeout(idle)
      const last = worker
      fail(new Error('The embedder is closed'))
      const thread = await last?.catch(() => null)
      await thread?.terminate()
    },
  }
}
