/**
 * Indexes a source: reads its pages, splits them into chunks and embeds them. A run may be killed at any point; the
 * next one starts after the chunks if they are complete, or from the beginning. Each run has a number and writes only
 * while it is the latest, so that a run of a deleted source, or of a process that was taken for dead, stops.
 */

import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import type { Tx } from '../platform/db/connect.ts'
import { FairTurns, OwnerUsage } from '../platform/jobs/fair-turns.ts'
import { enqueue, withJobs } from '../platform/jobs/jobs.ts'
import { errorFields } from '../platform/log.ts'
import { crawlSite } from './crawl/crawl.ts'
import {
  type Chunk,
  type Embedder,
  type ExtractedPage,
  type Extractor,
  KnowledgeError,
  type Skipped,
  SliceSpent,
} from './documents/types.ts'
import { chunkAside } from './index/chunk-aside.ts'
import { embedMissing, embedStale } from './index/embed.ts'
import { chunkSteps } from './index/store.ts'
import type { KnowledgeDeps, KnowledgeParts } from './parts.ts'
import { claimSource, hasSomeReadySource, holdsClaim, type SourceRow, updateClaimed } from './sql.ts'
import { contentKey, fetchContent, removeTemp, tempFile } from './storage.ts'

/** Milliseconds that reading a source may take; a site of fifty slow pages with polite pauses takes much less. */
export const LONGEST_MS = 30 * 60_000
/** Twice what the most text of all kinds produces; each chunk costs time in the embedding model. */
export const MOST_CHUNKS = 50_000
/** With pauses of up to five minutes, this covers half an hour of trouble on our side. */
const MOST_TRIES = 12
/** Milliseconds after which a run notices that its source was deleted in another process. */
const WATCH_MS = 1000
const REQUEUE_SECONDS = 3

/** Reason to end a run that no longer holds the claim on its source. */
class Superseded extends Error {}
class Stopping extends Error {
  override readonly message = 'the process is shutting down'
}

/** Passages and characters of the first slice; more is long work. */
const FIRST_CHUNKS = 32
const FIRST_CHARACTERS = 1_000_000
/** Turns of this process at the same time; an embedding model has one thread. */
const CUT_AT_ONCE = 2
const EMBED_AT_ONCE = 2

interface Job {
  owner_id: string
  source_id: string
  /** True after the first slice, which is short. */
  long?: boolean
}
interface Run {
  ownerId: string
  long: boolean
  ending: AbortController
}
/** Owners take turns at what uses the CPU. */
interface Turns {
  cut: FairTurns
  embed: FairTurns
}
/** A run, and all that it needs. */
interface Task extends KnowledgeDeps {
  parts: KnowledgeParts
  turns: Turns
  long: boolean
}

const running = new WeakMap<object, Map<string, Run>>()

function runsOf({ boss }: Pick<KnowledgeDeps, 'boss'>): Map<string, Run> {
  const runs = running.get(boss) ?? new Map()
  running.set(boss, runs)
  return runs
}

/** Stops a run of this process at once. */
export function stopIndexing(deps: Pick<KnowledgeDeps, 'boss'>, sourceId: string): void {
  runsOf(deps).get(sourceId)?.ending.abort(new Superseded())
}

export interface Indexer {
  /** Throws when a retry makes sense. An error of the source itself is saved in its row. */
  run(job: Job): Promise<void>
  /** Loads what queries would otherwise wait for, and embeds sources again after a change of the model. */
  refresh(): Promise<void>
  /** Ends the current runs because the process shuts down. They continue elsewhere or later. */
  stop(): void
}

export function createIndexer(deps: KnowledgeDeps): Indexer {
  const closing = new AbortController()
  const turns = turnsOf(deps)
  return {
    async run(job) {
      closing.signal.throwIfAborted()
      await indexSource(deps, turns, job)
    },
    async refresh() {
      const { embedder } = deps.knowledge ?? {}
      const { signal } = closing
      if (!embedder || signal.aborted) return
      try {
        await warm(deps, embedder, signal)
        await embedStale({ sql: deps.sql, embedder, turns: turns.embed }, signal)
      } catch (error) {
        if (!closing.signal.aborted) throw error
      }
    },
    stop() {
      closing.abort(new Stopping())
      for (const { ending } of runsOf(deps).values()) ending.abort(new Stopping())
    },
  }
}

function turnsOf({ clock, knowledge }: KnowledgeDeps): Turns {
  const usage = knowledge?.usage ?? new OwnerUsage(clock)
  return {
    cut: new FairTurns({ atOnce: CUT_AT_ONCE, usage, clock }),
    embed: new FairTurns({ atOnce: EMBED_AT_ONCE, usage, clock }),
  }
}

async function warm({ sql }: KnowledgeDeps, embedder: Embedder, signal: AbortSignal): Promise<void> {
  if (embedder.warm && (await hasSomeReadySource(sql))) await embedder.warm(signal)
}

async function indexSource(deps: KnowledgeDeps, turns: Turns, job: Job): Promise<void> {
  const parts = deps.knowledge
  if (!parts) throw new Error('knowledge base is not configured in this process')
  if (isBusyFor(deps, job)) return requeue(deps, job)
  const long = job.long ?? false
  const run: Run = { ownerId: job.owner_id, long, ending: new AbortController() }
  runsOf(deps).set(job.source_id, run)
  try {
    const source = await claimSource(deps.sql, job.owner_id, job.source_id)
    if (source) await runClaimed({ ...deps, parts, turns, long }, source, run.ending)
  } finally {
    if (runsOf(deps).get(job.source_id) === run) runsOf(deps).delete(job.source_id)
  }
}

async function runClaimed(deps: Task, source: SourceRow, ending: AbortController): Promise<void> {
  const stopWatching = watch(deps, source, ending)
  try {
    if (source.tries > MOST_TRIES) throw givenUp()
    // Files of runs that were killed on this machine.
    await removeTemp(deps.parts.temp, tempPrefix(source))
    const chunks = source.chunked ? source.chunks : await readAndCut(deps, source, ending)
    await embedAndShow(deps, source, chunks, ending.signal)
  } catch (error) {
    await settle(deps, source, ending.signal.aborted ? ending.signal.reason : error)
  } finally {
    await stopWatching()
  }
}

/** The job queue runs one job per owner, except when two workers fetch jobs at the same moment. */
const isBusyFor = (deps: KnowledgeDeps, { owner_id, source_id, long = false }: Job): boolean =>
  [...runsOf(deps)].some(([id, run]) => run.ownerId === owner_id && run.long === long && id !== source_id)

async function requeue(deps: KnowledgeDeps, { long = false, ...job }: Job): Promise<void> {
  const options = { startAfter: REQUEUE_SECONDS, group: { id: job.owner_id } }
  await deps.sql.begin(tx =>
    long
      ? enqueue(deps, tx, 'knowledge.long', { ...job, long: true }, options)
      : enqueue(deps, tx, 'knowledge.index', job, options),
  )
}

/** Big work yields: it goes on in the queue of long work, from what is stored. */
const continueLater = (deps: KnowledgeDeps, source: SourceRow): Promise<void> =>
  withJobs(deps, async tx => {
    if (!(await updateClaimed(tx, source, { tries: source.tries - 1 }))) return
    const { owner_id, id: source_id } = source
    await enqueue(deps, tx, 'knowledge.long', { owner_id, source_id, long: true }, { group: { id: owner_id } })
  })

const givenUp = () =>
  new KnowledgeError('internal', 'An internal error prevented indexing. Add the source again later.')

async function settle(deps: KnowledgeDeps, source: SourceRow, error: unknown): Promise<void> {
  if (error instanceof Superseded) return
  if (error instanceof SliceSpent) return continueLater(deps, source)
  if (error instanceof Stopping) {
    await updateClaimed(deps.sql, source, { tries: source.tries - 1 })
    throw error
  }
  const lasting = error instanceof KnowledgeError && !OURS.has(error.code) ? error : null
  if (!lasting && source.tries < MOST_TRIES) throw error
  if (!lasting)
    deps.log.error({ error: errorFields(error), source_id: source.id }, 'knowledge source failed permanently')
  const { code, message } = lasting ?? (error instanceof KnowledgeError ? error : givenUp())
  await updateClaimed(deps.sql, source, { status: 'error', error_code: code, error_message: message })
}

/** Errors on our side, which a retry may resolve. */
const OURS: ReadonlySet<string> = new Set(['internal', 'embedding_failed'])

/** Returns the number of chunks. */
async function readAndCut(deps: Task, source: SourceRow, ending: AbortController): Promise<number> {
  const { signal } = ending
  const cancel = deps.clock.after(LONGEST_MS, () =>
    ending.abort(new KnowledgeError('timeout', 'Reading the source took longer than half an hour.')),
  )
  try {
    const { pages, skipped } = await readPages(deps, source, signal)
    const chunks = await cut(deps, source, pages, signal)
    if (chunks.length === 0) throw new KnowledgeError('no_text', 'The source has no text.')
    if (chunks.length > MOST_CHUNKS) {
      throw new KnowledgeError('too_complex', `The source has more than ${MOST_CHUNKS} passages.`)
    }
    for (const step of chunkSteps(source, chunks)) {
      signal.throwIfAborted()
      await claimed(deps, source, step)
    }
    const read = { chunked: true, chunks: chunks.length, pages: pages.length, skipped }
    await claimed(deps, source, async tx => void (await updateClaimed(tx, source, read)))
    return chunks.length
  } finally {
    cancel()
  }
}

/** Cuts pages into chunks, when it is the owner's turn. */
function cut(
  deps: Task,
  { owner_id: owner }: SourceRow,
  pages: ExtractedPage[],
  signal: AbortSignal,
): Promise<Chunk[]> {
  const size = pages.reduce((sum, { blocks }) => sum + blocks.reduce((all, { text }) => all + text.length, 0), 0)
  if (!deps.long && size > FIRST_CHARACTERS) throw new SliceSpent()
  return deps.turns.cut.run({ owner, size }, signal, () => chunkAside(pages, signal))
}

/** Has no time limit: finished vectors are kept when the run is interrupted. */
async function embedAndShow(deps: Task, source: SourceRow, chunks: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const { sql, turns, long } = deps
  const { embedder } = deps.parts
  if (embedder) {
    if (!long && chunks > FIRST_CHUNKS) throw new SliceSpent()
    await embedMissing({ sql, embedder, turns: turns.embed }, source, signal, () => {})
  }
  await claimed(deps, source, async tx => void (await updateClaimed(tx, source, { status: 'ready' })))
}

/** Writes in a transaction if the run still holds the claim; otherwise throws `Superseded`. */
async function claimed(deps: KnowledgeDeps, source: SourceRow, write: (tx: Tx) => Promise<void>): Promise<void> {
  await deps.sql.begin(async tx => {
    if (!(await holdsClaim(tx, source, true))) throw new Superseded()
    await write(tx)
  })
}

async function readPages(
  deps: Task,
  source: SourceRow,
  signal: AbortSignal,
): Promise<{ pages: ExtractedPage[]; skipped: Skipped }> {
  if (source.kind !== 'url') return { pages: [await readContent(deps, source, signal)], skipped: {} }
  // A site may let its pages drip.
  if (!deps.long) throw new SliceSpent()
  const pages: ExtractedPage[] = []
  let chunks = 0
  const { fetch, clock } = deps
  const extractor: Pick<Extractor, 'extract'> = {
    extract: (input, ending) => deps.parts.extractor.extract(input, ending, { owner: source.owner_id }),
  }
  const onPage = async (page: ExtractedPage) => {
    pages.push(page)
    chunks += (await cut(deps, source, [page], signal)).length
    if (!(await updateClaimed(deps.sql, source, { pages: pages.length, chunks }))) throw new Superseded()
  }
  const { url, crawl, max_pages: maxPages } = source
  const { skipped } = await crawlSite({ url: url!, crawl, maxPages, fetch, extractor, clock, signal, onPage })
  return { pages, skipped }
}

async function readContent(deps: Task, source: SourceRow, signal: AbortSignal): Promise<ExtractedPage> {
  const { extractor, temp } = deps.parts
  const file = await tempFile(temp, `${tempPrefix(source)}-${randomUUID()}`)
  try {
    const found = await fetchContent(deps.blobs, contentKey(source), file, signal)
    if (!found) throw new Error('content of the source is missing')
    const turn = { owner: source.owner_id, part: deps.long ? ('rest' as const) : ('first' as const) }
    const page = await extractor.extract({ kind: source.document_kind!, file }, signal, turn)
    await updateClaimed(deps.sql, source, { pages: 1 })
    return page
  } finally {
    await rm(file, { force: true })
  }
}

const tempPrefix = ({ id }: SourceRow) => `index-${id}`

function watch(deps: KnowledgeDeps, source: SourceRow, ending: AbortController): () => Promise<void> {
  let checking: Promise<void> = Promise.resolve()
  let cancel = () => {}
  const check = async () => {
    // While the database is unreachable, nothing is written either.
    const holds = await holdsClaim(deps.sql, source).catch(() => true)
    if (!holds) ending.abort(new Superseded())
    else if (!ending.signal.aborted) cancel = deps.clock.after(WATCH_MS, again)
  }
  const again = () => {
    checking = check()
  }
  cancel = deps.clock.after(WATCH_MS, again)
  return async () => {
    cancel()
    await checking
    cancel()
  }
}
