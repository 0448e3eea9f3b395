/** Parts of the knowledge base that tests script. */
import type { KnowledgeParts } from '../../../control/deps.ts'
import type { Embedder, Extracted, Extractor } from '../../../control/knowledge/documents/types.ts'
import type { JobData } from '../../../control/platform/jobs/jobs.ts'
import { onlyJobs } from '../../support/jobs.ts'

/** Vectors by the letters of a text; `before` may wait, count and refuse. */
export function fakeEmbedder(
  before: (texts: readonly string[], signal: AbortSignal) => Promise<void> | void = () => {},
): Embedder {
  const dimensions = 32
  return {
    model: 'letters',
    dimensions,
    async embed(texts, _, signal) {
      await before(texts, signal)
      return texts.map(text => {
        const vector = new Float32Array(dimensions)
        for (const letter of text.toLowerCase()) vector[letter.charCodeAt(0) % dimensions]! += 1
        const length = Math.hypot(...vector) || 1
        return vector.map(value => value / length)
      })
    },
    close: async () => {},
  }
}

export const pageOf = (...texts: string[]): Extracted => ({
  url: null,
  title: null,
  html: null,
  blocks: texts.map(text => ({ heading: 0, text })),
})

export const fakeExtractor = (extract: Extractor['extract']): Extractor => ({ extract, close: async () => {} })

/** Never settles but by its signal, as what hangs does. */
export const hang = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason))
  })

/** So many sections that each are a chunk of their own, or more. */
export const longText = (sections: number) =>
  Array.from(
    { length: sections },
    (_, i) => `# Room ${i}\n\n${`The room number ${i} has a view of the garden and of the sea beyond it. `.repeat(8)}`,
  ).join('\n\n')

export type Changed = Partial<KnowledgeParts>

/** Runs only indexing; other jobs are fetched and discarded. */
export const onlyIndexing = (run: (job: JobData['knowledge.index']) => Promise<void>) =>
  onlyJobs({ 'knowledge.index': run, 'knowledge.long': run })
