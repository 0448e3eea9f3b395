/** Writes the chunks of a source. Search finds none before all are written, because only then is the source ready. */
import type { Tx } from '../../platform/db/connect.ts'
import type { Chunk } from '../documents/types.ts'
import { countLexemes, deleteChunks, ensureIndex, insertChunks, type SourceKey, touchVersion } from './sql.ts'

/** Rows of one statement. */
const BATCH = 200

type Step = (tx: Tx) => Promise<void>

/**
 * Yields the steps that write the chunks, in order; the first step deletes the old vectors. Each step may be a
 * transaction of its own, so that deleting the source, which the steps lock, waits for one step and not for a hundred.
 */
export function* chunkSteps(source: SourceKey, chunks: readonly Chunk[]): Generator<Step> {
  yield tx => deleteChunks(tx, source)
  for (let at = 0; at < chunks.length; at += BATCH) {
    yield async tx => insertChunks(tx, source, await ensureIndex(tx, source), chunks.slice(at, at + BATCH))
  }
  yield async tx => {
    await countLexemes(tx, source)
    await touchVersion(tx, source)
  }
}

/** Writes all chunks in one transaction. */
export async function replaceChunks(tx: Tx, source: SourceKey, chunks: readonly Chunk[]): Promise<void> {
  for (const step of chunkSteps(source, chunks)) await step(tx)
}
