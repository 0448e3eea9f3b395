/** A source's chunks: none is found before all are there, since the source is ready then. */
import type { Tx } from '../../platform/db/connect.ts'
import type { Chunk } from '../documents/types.ts'
import { countLexemes, deleteChunks, ensureIndex, insertChunks, type SourceKey, touchVersion } from './sql.ts'

/** Rows of one statement. */
const BATCH = 200

type Step = (tx: Tx) => Promise<void>

/**
 * What writes them, in order; the vectors of what was there before go with the first step. Each may be a transaction, so
 * that who deletes the source, which they lock, waits for one of them and not for a hundred.
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

/** All at once, or not at all. */
export async function replaceChunks(tx: Tx, source: SourceKey, chunks: readonly Chunk[]): Promise<void> {
  for (const step of chunkSteps(source, chunks)) await step(tx)
}
