/**
 * Splits pages into chunks without blocking calls that are answered meanwhile: 20 million characters take six seconds.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Chunk, ExtractedPage } from '../documents/types.ts'
import { chunkPages } from './chunk.ts'

/** Characters that take about 20 ms: less than starting a thread. */
const SHORT = 100_000

/** Like `chunkPages`; rejects with the reason of `signal` when it is aborted first. */
export async function chunkAside(pages: readonly ExtractedPage[], signal: AbortSignal): Promise<Chunk[]> {
  signal.throwIfAborted()
  if (lettersOf(pages) <= SHORT) return chunkPages(pages)
  const worker = new Worker(new URL('./chunk-worker.ts', import.meta.url), { workerData: pages })
  try {
    const [chunks] = (await once(worker, 'message', { signal })) as [Chunk[]]
    return chunks
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    await worker.terminate()
  }
}

const lettersOf = (pages: readonly ExtractedPage[]): number =>
  pages.reduce((sum, { blocks }) => sum + blocks.reduce((all, { text }) => all + text.length, 0), 0)
