/** Searches a project's knowledge by full text and vectors in parallel, and waits for neither longer than useful. */
import type { Clock } from '../../../media/shared/clock.ts'
import type { Log } from '../../../media/shared/log.ts'
import type { Sql } from '../../platform/db/connect.ts'
import { cleanText } from '../../platform/db/text.ts'
import { errorFields } from '../../platform/log.ts'
import type { Embedder, KnowledgeFound } from '../documents/types.ts'
import { planCandidates } from './candidates.ts'
import { fuse, type Lists, NAMED_CHUNKS, type Ranked, withoutRepeats } from './fuse.ts'
import { type Asked, ensureModel, selectAsked, selectFound, selectRanked, type Worded } from './sql.ts'
import type { VectorIndex } from './vectors.ts'
import { meaningfulWords } from './words.ts'

export interface SearchDeps {
  sql: Sql
  clock: Clock
  log: Log
  /** Null: full-text search only. */
  embedder: Embedder | null
  vectors: VectorIndex | null
}

export interface Searched {
  ownerId: string
  projectId: string
  query: string
  limit: number
  /** When it is aborted, nobody wants the result any more, and the search rejects. */
  signal: AbortSignal
  /** Milliseconds after which the search returns what it has found so far, for phone calls; 300 by default. */
  deadlineMs?: number
}

const DEADLINE_MS = 300
/** Length of each list; later entries add nothing that would be returned. */
const LIST = 60
/** Repeated texts are detected only after they are read, so a few more are read than requested. */
const SPARE = 6
const MOST_LETTERS = 1000

export async function searchKnowledge(deps: SearchDeps, search: Searched): Promise<KnowledgeFound[]> {
  const lists = await rankedLists(deps, search)
  const places = fuse(lists).slice(0, search.limit + SPARE)
  if (places.length === 0) return []
  const rows = await selectFound(deps.sql, search.ownerId, search.projectId, places)
  const scores = new Map(places.map(place => [`${place.source_id}:${place.ordinal}`, place.score]))
  return withoutRepeats(rows)
    .slice(0, search.limit)
    .map(({ ordinal, ...row }) => ({ ...row, score: scores.get(`${row.source_id}:${ordinal}`)! }))
}

/** A list is null when it was not ready in time or has no source. The benchmark judges each list alone. */
export async function rankedLists(deps: SearchDeps, search: Searched): Promise<Lists> {
  search.signal.throwIfAborted()
  const query = cleanText(search.query.slice(0, MOST_LETTERS)).trim()
  if (query === '') return { text: null, vectors: null, named: false }
  const stop = new AbortController()
  const signal = AbortSignal.any([search.signal, stop.signal])
  const words = meaningfulWords(query)
  const asked = selectAsked(deps.sql, search.ownerId, search.projectId, words)
  const lists: Lists = { text: null, vectors: null, named: false }
  const arms = [
    byText(deps, search, asked, signal).then(async found => {
      const rarest = (await asked)?.words[0]
      lists.named = rarest !== undefined && rarest.chunks <= NAMED_CHUNKS
      lists.text = found
    }),
    byVectors(deps, { ...search, query }, asked, signal).then(found => {
      lists.vectors = found
    }),
  ].map((arm, i) =>
    arm.catch(error => {
      if (signal.aborted) return
      deps.log.warn({ error: errorFields(error) }, i === 0 ? 'full-text search failed' : 'vector search failed')
      throw error
    }),
  )
  try {
    await enough(deps.clock, arms, search)
    return { ...lists }
  } finally {
    stop.abort()
  }
}

/** Waits for both, or after the deadline for at least one; rejects when both failed. */
async function enough(
  clock: Clock,
  arms: Promise<void>[],
  { signal, deadlineMs = DEADLINE_MS }: Searched,
): Promise<void> {
  let cancel = () => {}
  const late = new Promise<void>(resolve => {
    cancel = clock.after(deadlineMs, resolve)
  })
  const any = Promise.any(arms)
  any.catch(() => {})
  const wait = Promise.race([Promise.allSettled(arms), late])
  try {
    await Promise.race([wait, aborted(signal)])
    await Promise.race([any, aborted(signal)])
  } catch (error) {
    throw error instanceof AggregateError ? error.errors[0] : error
  } finally {
    cancel()
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  const promise = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  promise.catch(() => {})
  return promise
}

async function byText(
  deps: SearchDeps,
  { projectId }: Searched,
  asking: Promise<Asked | null>,
  signal: AbortSignal,
): Promise<Worded[]> {
  const asked = await asking
  const plan = asked && planCandidates(asked.words, asked.unknown, asked.total)
  if (!plan || signal.aborted) return []
  return selectRanked(deps.sql, projectId, plan, LIST, signal)
}

async function byVectors(
  { sql, log, embedder, vectors }: SearchDeps,
  { ownerId, projectId, query }: Searched,
  asking: Promise<Asked | null>,
  signal: AbortSignal,
): Promise<Ranked[] | null> {
  if (!embedder || !vectors) return null
  // Runs in parallel with the database query that shows whether there is anything to compare with.
  const embedding = embedder.embed([query], 'query', signal)
  embedding.catch(() => {})
  const asked = await asking
  if (!asked) return null
  const { model, dimensions } = embedder
  const modelId = await modelIdOf(sql, model, dimensions)
  const project = { ownerId, projectId, modelId, dimensions, revision: asked.revision }
  const [[vector]] = await Promise.all([embedding, vectors.refresh(project)])
  if (signal.aborted || !vector) return null
  const found = await vectors.search(project, vector, LIST)
  log.debug({ project_id: projectId, best: found[0]?.score ?? null }, 'vector search done')
  return found
}

const models = new WeakMap<Sql, Map<string, Promise<number>>>()

/** Caches model ids, which never change. */
function modelIdOf(sql: Sql, name: string, dimensions: number): Promise<number> {
  const known = models.get(sql) ?? new Map<string, Promise<number>>()
  models.set(sql, known)
  const key = `${name}:${dimensions}`
  const id = known.get(key) ?? ensureModel(sql, name, dimensions)
  known.set(key, id)
  id.catch(() => known.delete(key))
  return id
}
