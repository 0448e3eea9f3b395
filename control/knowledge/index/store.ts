/** A source's chunks, all at once or not at all. */
import type { Tx } from '../../db/connect.ts'
import type { Chunk } from '../types.ts'
import { countLexemes, deleteChunks, ensureIndex, insertChunks, type SourceKey, touchVersion } from './sql.ts'

/** Rows of one statement. */
const BATCH = 200

/** In the transaction that says so of the source; the vectors of what was there before go with it. */
export async function replaceChunks(tx: Tx, source: SourceKey, chunks: readonly Chunk[]): Promise<void> {
  const number = await ensureIndex(tx, source)
  await deleteChunks(tx, source)
  for (let at = 0; at < chunks.length; at += BATCH) {
    await insertChunks(tx, source, number, chunks.slice(at, at + BATCH))
  }
  await countLexemes(tx, source)
  await touchVersion(tx, source)
}
