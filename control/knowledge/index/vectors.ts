/**
 * Vectors of the projects in use, in a thread of this process. The table is authoritative: each search states the
 * revision of the project that it saw, and sources that changed since are loaded again, so that several processes stay
 * consistent.
 */
import { Worker } from 'node:worker_threads'
import type { Log } from '../../../media/shared/log.ts'
import type { Sql } from '../../platform/db/connect.ts'
import { errorFields } from '../../platform/log.ts'
import type { Hit } from './matrix.ts'
import { quantise } from './quantise.ts'
import { type ChunkRef, selectVectors, selectVersions } from './sql.ts'
import type { VectorAnswer, VectorCommand, VectorWorkerData } from './vectors-worker.ts'

/** Enough for 340 projects of a thousand chunks, or one of 1.3 million. */
export const VECTOR_BYTES = 512 * 1024 * 1024
/** Rows of one database result: 0.8 MB; more would block the event loop. */
const ROWS = 2000

export interface VectorProject {
  ownerId: string
  projectId: string
  modelId: number
  dimensions: number
  revision: bigint
}

export interface VectorIndex {
  /** Loads what changed. Resolves with true when nothing is newer than `project.revision`. */
  refresh(project: VectorProject): Promise<boolean>
  /** Searches the loaded vectors; nearest first. */
  search(project: VectorProject, vector: Float32Array, limit: number): Promise<(ChunkRef & { score: number })[]>
  close(): Promise<void>
}

interface Held {
  key: string
  revision: bigint
  rows: number
  width: number
  /** Version by source, and the number that identifies the source in the thread. */
  sources: Map<string, { version: bigint; number: number; rows: number }>
  names: Map<number, string>
  loading: Promise<void> | null
}

export function createVectorIndex(deps: { sql: Sql; log: Log }, options: { mostBytes?: number } = {}): VectorIndex {
  return new ThreadedVectorIndex(deps.sql, deps.log, options.mostBytes ?? VECTOR_BYTES)
}

class ThreadedVectorIndex implements VectorIndex {
  readonly #sql: Sql
  readonly #mostBytes: number
  readonly #thread: Thread
  /** Least recently used first. */
  readonly #projects = new Map<string, Held>()
  #lastNumber = 0

  constructor(sql: Sql, log: Log, mostBytes: number) {
    this.#sql = sql
    this.#mostBytes = mostBytes
    this.#thread = createThread(mostBytes, log)
    this.#thread.onEnd(() => this.#projects.clear())
  }

  async refresh(project: VectorProject): Promise<boolean> {
    const into = this.#held(project)
    while (into.revision < project.revision) {
      const { revision } = project
      into.loading ??= this.#load(project, into)
        .then(() => {
          if (into.revision < revision) into.revision = revision
        })
        .finally(() => {
          into.loading = null
        })
      await into.loading
    }
    return into.revision >= project.revision
  }

  async search(project: VectorProject, vector: Float32Array, limit: number): Promise<(ChunkRef & { score: number })[]> {
    const from = this.#held(project)
    const hits = await this.#thread.search(from.key, new Uint8Array(quantise(vector)), limit)
    return hits.flatMap(({ source, ordinal, score }) => {
      const source_id = from.names.get(source)
      return source_id === undefined ? [] : [{ source_id, ordinal, score }]
    })
  }

  close(): Promise<void> {
    return this.#thread.close()
  }

  #held({ projectId, modelId, dimensions }: VectorProject): Held {
    const key = `${projectId}:${modelId}`
    const found = this.#projects.get(key) ?? newHeld(key, dimensions)
    this.#projects.delete(key)
    this.#projects.set(key, found)
    return found
  }

  #makeRoom(keep: Held, more: number): void {
    const used = () => [...this.#projects.values()].reduce((sum, { rows, width }) => sum + rows * width, 0)
    for (const other of this.#projects.values()) {
      if (used() + more * keep.width <= this.#mostBytes) return
      if (other === keep || other.loading) continue
      this.#projects.delete(other.key)
      this.#thread.send({ do: 'forget', project: other.key })
    }
  }

  async #load(project: VectorProject, into: Held): Promise<void> {
    const versions = await selectVersions(this.#sql, project.ownerId, project.projectId)
    const wanted = new Map(versions.map(({ source_id, version }) => [source_id, version]))
    for (const [id, { version }] of into.sources) if (wanted.get(id) !== version) this.#drop(into, id)
    for (const [id, version] of wanted) if (!into.sources.has(id)) await this.#loadSource(project, into, id, version)
  }

  #drop(from: Held, id: string): void {
    const { number, rows } = from.sources.get(id)!
    from.sources.delete(id)
    from.names.delete(number)
    from.rows -= rows
    this.#thread.send({ do: 'drop', project: from.key, source: number })
  }

  async #loadSource(project: VectorProject, into: Held, id: string, version: bigint): Promise<void> {
    const source = { version, number: ++this.#lastNumber, rows: 0 }
    into.sources.set(id, source)
    into.names.set(source.number, id)
    try {
      for (let after = -1; ; ) {
        const rows = await selectVectors(this.#sql, id, project.modelId, after, ROWS)
        if (rows.length === 0) return
        this.#makeRoom(into, rows.length)
        const ordinals = rows.map(({ ordinal }) => ordinal)
        const vectors = new Uint8Array(Buffer.concat(rows.map(({ vector }) => vector)))
        const { number } = source
        const { key } = into
        this.#thread.send({
          do: 'add',
          project: key,
          dimensions: project.dimensions,
          source: number,
          ordinals,
          vectors,
        })
        source.rows += rows.length
        into.rows += rows.length
        after = ordinals.at(-1)!
      }
    } catch (error) {
      this.#drop(into, id)
      throw error
    }
  }
}

const newHeld = (key: string, width: number): Held => ({
  key,
  width,
  revision: -1n,
  rows: 0,
  sources: new Map(),
  names: new Map(),
  loading: null,
})

// ---- Thread ----

interface Thread {
  send(command: VectorCommand): void
  search(project: string, query: Uint8Array, limit: number): Promise<Hit[]>
  /** Called when the thread ends and everything it held is lost. */
  onEnd(then: () => void): void
  close(): Promise<void>
}

/** Started by the first command, and again after it died. */
function createThread(mostBytes: number, log: Log): Thread {
  let worker: Worker | null = null
  let lastId = 0
  let ended = () => {}
  const waiting = new Map<number, { resolve(hits: Hit[]): void; reject(error: Error): void }>()
  const fail = (started: Worker, error: Error) => {
    if (worker !== started) return
    worker = null
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
    ended()
  }
  const start = () => {
    const workerData: VectorWorkerData = { mostBytes }
    const started = new Worker(new URL('./vectors-worker.ts', import.meta.url), { workerData })
    started.on('message', (answer: VectorAnswer) => {
      if ('full' in answer) return log.warn({ project: answer.full }, 'not enough memory for all vectors of a project')
      waiting.get(answer.id)?.resolve(answer.hits)
      waiting.delete(answer.id)
    })
    started.on('error', error => {
      log.error({ error: errorFields(error) }, 'vector thread failed')
      fail(started, error as Error)
    })
    started.on('exit', () => fail(started, new Error('vector thread has ended')))
    // Callers wait for the results; the idle thread must not keep the process alive.
    started.unref()
    return started
  }
  const send = (command: VectorCommand) => {
    worker ??= start()
    worker.postMessage(command, command.do === 'add' ? [command.vectors.buffer as ArrayBuffer] : [])
  }
  return {
    send,
    search(project, query, limit) {
      const id = ++lastId
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject })
        send({ do: 'search', id, project, query, limit })
      })
    },
    onEnd(then) {
      ended = then
    },
    async close() {
      const last = worker
      if (last) fail(last, new Error('vector index is closed'))
      await last?.terminate()
    },
  }
}
