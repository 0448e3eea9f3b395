/** Chooses the embedder: the configured endpoint, or the local model, or none. */
import type { Embedder } from '../../control/knowledge/documents/types.ts'
import { systemClock } from '../adapters/clock.ts'
import type { Config } from '../config/config.ts'
import { createLocalEmbedder } from '../models/embedding/local.ts'
import { embeddingFiles, hasEmbeddingModel } from '../models/embedding/model.ts'
import { createRemoteEmbedder } from '../models/embedding/remote.ts'

type Settings = Pick<
  Config,
  'cache' | 'EMBEDDINGS' | 'EMBEDDINGS_URL' | 'EMBEDDINGS_KEY' | 'EMBEDDINGS_MODEL' | 'EMBEDDINGS_DIMENSIONS'
>

/** Null limits knowledge to full-text search. */
export function createEmbedder(config: Settings): Embedder | null {
  if (config.EMBEDDINGS === 'off') return null
  if (config.EMBEDDINGS_URL && config.EMBEDDINGS_MODEL) {
    return createRemoteEmbedder({
      url: config.EMBEDDINGS_URL,
      key: config.EMBEDDINGS_KEY ?? null,
      model: config.EMBEDDINGS_MODEL,
      dimensions: config.EMBEDDINGS_DIMENSIONS,
      clock: systemClock,
    })
  }
  return hasEmbeddingModel(config.cache) ? createLocalEmbedder(embeddingFiles(config.cache)) : null
}
