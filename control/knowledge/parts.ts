import type { Deps, KnowledgeParts } from '../deps.ts'
import { Problem } from '../platform/http/problem.ts'

export function knowledgeParts({ knowledge }: Pick<Deps, 'knowledge'>): KnowledgeParts {
  if (!knowledge) throw new Problem('service_unavailable', { detail: 'This process has no knowledge base.' })
  return knowledge
}
