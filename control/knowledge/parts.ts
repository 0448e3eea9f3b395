import type { Deps, KnowledgeParts } from '../deps.ts'
import { Problem } from '../platform/http/problem.ts'

export function knowledgeParts({ knowledge }: Pick<Deps, 'knowledge'>): KnowledgeParts {
  if (!knowledge) throw new Problem('service_unavailable', { detail: 'The knowledge base is not configured.' })
  return knowledge
}
