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
/** About half a second on one core. */
const TEXTS_A_TURN = 8

export function createLocalEmbedder(files: EmbeddingFiles, options: { idleMs?: number } = {}): Embedder {
  let weights: Promise<SharedArrayBuffer> | null = null
  const read = () => (weights ??= readShared(files.weights))
  const makeLane = (idleMs: number | null) => new Lane({ read, graph: files.graph, idleMs })
  const lanes: Record<Role, Lane> = { query: makeLane(null), passage: makeLane(options.idleMs ?? IDLE_MS) }
  return {
    model: MODEL,
    dimensions: DIMENSIONS,
    textsATurn: TEXTS_A_TURN,
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

interface Waiting {
  task: EncoderTask
  resolve(vector: Float32Array): void
  reject(error: unknown): void
}

interface LaneOptions {
  read(): Promise<SharedArrayBuffer>
  /** Path of the model's graph. */
  graph: string
  /** Milliseconds without work after which the thread stops; null keeps it. */
  idleMs: number | null
}

/** One text is with the thread, the others wait in the queue: an aborted one is never computed. */
class Lane {
  readonly #options: LaneOptions
  readonly #queue: Waiting[] = []
  #current: Waiting | null = null
  #worker: Promise<Worker> | null = null
  #idle: NodeJS.Timeout | undefined
  #lastId = 0
  #closed = false

  constructor(options: LaneOptions) {
    this.#options = options
  }

  encode(text: string, role: Role, signal: AbortSignal): Promise<Float32Array> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new Error('The embedder is closed'))
      if (signal.aborted) return reject(signal.reason)
      const give = () => {
        const at = this.#queue.indexOf(waiting)
        if (at >= 0) this.#queue.splice(at, 1)
        reject(signal.reason)
      }
      signal.addEventListener('abort', give, { once: true })
      const end = () => signal.removeEventListener('abort', give)
      const waiting: Waiting = {
        task: { id: ++this.#lastId, text, role },
        resolve(vector) {
          end()
          resolve(vector)
        },
        reject(error) {
          end()
          reject(error)
        },
      }
      this.#queue.push(waiting)
      this.#next()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#idle)
    const last = this.#worker
    this.#fail(new Error('The embedder is closed'))
    const thread = await last?.catch(() => null)
    await thread?.terminate()
  }

  #next(): void {
    clearTimeout(this.#idle)
    if (this.#current) return
    this.#current = this.#queue.shift() ?? null
    if (!this.#current) {
      this.#rest()
      return
    }
    const { task } = this.#current
    this.#worker ??= this.#start()
    this.#worker.then(
      thread => thread.postMessage(task),
      error => this.#fail(error),
    )
  }

  /** Stops the thread once it has had no work for `idleMs`. */
  #rest(): void {
    const { idleMs } = this.#options
    if (idleMs === null || !this.#worker) return
    this.#idle = setTimeout(() => {
      const last = this.#worker
      this.#worker = null
      void last?.then(thread => thread.terminate())
    }, idleMs)
    this.#idle.unref()
  }

  async #start(): Promise<Worker> {
    const workerData: EncoderWorkerData = {
      weights: await this.#options.read(),
      graph: this.#options.graph,
      threads: 1,
    }
    const started = new Worker(new URL('./worker.ts', import.meta.url), { workerData })
    started.unref() // pending calls keep the process alive on their own
    started.on('message', (answer: EncoderAnswer) => this.#answered(answer))
    const mine = this.#worker
    const ended = (error: Error) => {
      if (this.#worker === mine) this.#fail(error)
    }
    started.on('error', error => ended(error as Error))
    started.on('exit', () => ended(new Error('The embedding thread has exited')))
    return started
  }

  #answered(answer: EncoderAnswer): void {
    const current = this.#current
    if (current?.task.id !== answer.id) return
    if ('vector' in answer) current.resolve(answer.vector)
    else current.reject(new Error(answer.error))
    this.#current = null
    this.#next()
  }

  #fail(error: Error): void {
    this.#worker = null
    for (const waiting of [...(this.#current ? [this.#current] : []), ...this.#queue.splice(0)]) waiting.reject(error)
    this.#current = null
  }
}
