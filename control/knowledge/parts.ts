import type { Deps } from '../platform/deps.ts'
import { Problem } from '../platform/http/problem.ts'
import type { Embedder, Extractor } from './documents/types.ts'
import type { VectorIndex } from './index/vectors.ts'

/** What the knowledge base needs besides. */
export interface KnowledgeParts {
  extractor: Extractor
  /** Null: full text alone finds. */
  embedder: Embedder | null
  /** Null where there is no embedder. */
  vectors: VectorIndex | null
  /** Folder of files on their way. */
  temp: string
}

export interface KnowledgeDeps extends Deps {
  /** Null or left out: there is no knowledge base, and nothing works that needs it. */
  knowledge?: KnowledgeParts | null
}

export function knowledgeParts({ knowledge }: Pick<KnowledgeDeps, 'knowledge'>): KnowledgeParts {
  if (!knowledge) throw new Problem('service_unavailable', { detail: 'The knowledge base is not configured.' })
  return knowledge
}
