import type { Deps } from '../platform/deps.ts'
import { Problem } from '../platform/http/problem.ts'
import type { OwnerUsage } from '../platform/jobs/fair-turns.ts'
import type { Embedder, Extractor } from './documents/types.ts'
import type { VectorIndex } from './index/vectors.ts'

/** Parts that the knowledge base needs in addition to `Deps`. */
export interface KnowledgeParts {
  extractor: Extractor
  /** Null: search uses full text only. */
  embedder: Embedder | null
  /** Null when there is no embedder. */
  vectors: VectorIndex | null
  /** Shared with the extractor, so that owners are charged for both; the indexer has its own when omitted. */
  usage?: OwnerUsage
  /** Directory of temporary files. */
  temp: string
}

export interface KnowledgeDeps extends Deps {
  /** Null or omitted: there is no knowledge base, and operations that need it fail. */
  knowledge?: KnowledgeParts | null
}

export function knowledgeParts({ knowledge }: Pick<KnowledgeDeps, 'knowledge'>): KnowledgeParts {
  if (!knowledge) throw new Problem('service_unavailable', { detail: 'The knowledge base is not configured.' })
  return knowledge
}
