/** Embeds chunks in batches. A batch that is written stays when the process is killed. */
import type { Sql } from '../../platform/db/connect.ts'
import type { FairTurns } from '../../platform/jobs/fair-turns.ts'
import { type Chunk, type Embedder, KnowledgeError } from '../documents/types.ts'
import { quantise } from './quantise.ts'
import {
  countEmbedded,
  ensureModel,
  finishVectors,
  insertVectors,
  type SourceKey,
  selectStale,
  selectUnembedded,
} from './sql.ts'

/** Chunks in one request. */
const BATCH = 32
/** Sources with an old model that are selected at once. */
const STALE_AT_ONCE = 20

export interface EmbedDeps {
  sql: Sql
  embedder: Embedder
  /** Turns of the owners at the model; none when omitted. */
  turns?: FairTurns
}

/** Includes the heading, which is part of the meaning of a chunk. */
export const embeddedText = ({ heading, text }: Pick<Chunk, 'heading' | 'text'>) =>
  heading ? `${heading}\n${text}` : text

/** Rejects with `KnowledgeError('embedding_failed')` when the model or its endpoint fails. */
export async function embedMissing(
  deps: EmbedDeps,
  source: SourceKey,
  signal: AbortSignal,
  onProgress: (done: number, of: number) => void | Promise<void>,
): Promise<void> {
  const { sql, embedder } = deps
  const modelId = await ensureModel(sql, embedder.model, embedder.dimensions)
  const { chunks, embedded } = await countEmbedded(sql, source, modelId)
  let done = embedded
  for (let after = -1; ; ) {
    signal.throwIfAborted()
    const batch = await selectUnembedded(sql, source, modelId, after, BATCH)
    if (batch.length === 0) break
    const vectors = await embedInTurns(deps, source.owner_id, batch.map(embeddedText), signal)
    await insertVectors(
      sql,
      source,
      modelId,
      batch.map(({ ordinal }, i) => ({ ordinal, vector: quantise(vectors[i]!) })),
    )
    after = batch.at(-1)!.ordinal
    done += batch.length
    await onProgress(done, chunks)
  }
  await sql.begin(tx => finishVectors(tx, source, modelId))
}

async function embedInTurns(
  { embedder, turns }: EmbedDeps,
  owner: string,
  texts: string[],
  signal: AbortSignal,
): Promise<Float32Array[]> {
  if (!turns) return embedBatch(embedder, texts, signal)
  const { textsATurn = texts.length } = embedder
  const vectors: Float32Array[] = []
  for (let at = 0; at < texts.length; at += textsATurn) {
    const some = texts.slice(at, at + textsATurn)
    vectors.push(...(await turns.run({ owner }, signal, () => embedBatch(embedder, some, signal))))
  }
  return vectors
}

async function embedBatch(embedder: Embedder, texts: string[], signal: AbortSignal): Promise<Float32Array[]> {
  try {
    return await embedder.embed(texts, 'passage', signal)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof KnowledgeError) throw error
    throw new KnowledgeError('embedding_failed', 'The embedding model failed.', { cause: error })
  }
}

/** Embeds ready sources again that have vectors of another model. Until then, full-text search finds them. */
export async function embedStale(deps: EmbedDeps, signal: AbortSignal): Promise<number> {
  const modelId = await ensureModel(deps.sql, deps.embedder.model, deps.embedder.dimensions)
  const tried = new Set<string>()
  for (;;) {
    const sources = await selectStale(deps.sql, modelId, STALE_AT_ONCE)
    // A source that is stale again has changed meanwhile; the next run handles it.
    const fresh = sources.filter(({ id }) => !tried.has(id))
    if (fresh.length === 0) return tried.size
    for (const source of fresh) {
      tried.add(source.id)
      await embedMissing(deps, source, signal, () => {})
    }
  }
}
