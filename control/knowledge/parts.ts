import type { Deps } from '../platform/deps.ts'
import { Problem } from '../platform/http/problem.ts'
import type { Embedder, Extractor } from './documents/types.ts'
import type { VectorIndex } from './index/vectors.ts'

/** Parts that the knowledge base needs. */
export interface KnowledgeParts {
  extractor: Extractor
  /** Null: full-text search only. */
  embedder: Embedder | null
  /** Null without an embedder. */
  vectors: VectorIndex | null
  /** Folder for temporary files. */
  temp: string
}

export interface KnowledgeDeps extends Deps {
  /** Null or omitted: there is no knowledge base, and features that need it are disabled. */
  knowledge?: KnowledgeParts | null
}

export function knowledgeParts({ knowledge }: Pick<KnowledgeDeps, 'knowledge'>): KnowledgeParts {
  if (!knowledge) throw new Problem('service_unavailable', { detail: 'The knowledge base is not configured.' })
  return knowledge
}
