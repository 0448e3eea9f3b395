import type { KnowledgeDeps } from '../../knowledge/parts.ts'
import { Problem } from '../../platform/http/problem.ts'
import { hasDirectories } from './directories-sql.ts'
import type { LeadParts, LeadSource } from './vocabulary/types.ts'

/** Id of the source in sources/directory.ts. */
const DIRECTORY = 'directory'

/** Lead directories are uploaded and read like files of the knowledge base. */
export interface LeadDeps extends KnowledgeDeps {
  /** Null or omitted: there is no lead search, and features that need it are disabled. */
  leads?: LeadParts | null
}

export function leadParts({ leads }: Pick<LeadDeps, 'leads'>): LeadParts {
  if (!leads) throw new Problem('service_unavailable', { detail: 'Lead search is not configured.' })
  return leads
}

/** Returns the sources that have anything for this owner. */
export async function sourcesFor(deps: Pick<LeadDeps, 'sql' | 'leads'>, ownerId: string): Promise<LeadSource[]> {
  const { sources } = leadParts(deps)
  const own = await hasDirectories(deps.sql, ownerId)
  return sources.filter(source => own || source.id !== DIRECTORY)
}
