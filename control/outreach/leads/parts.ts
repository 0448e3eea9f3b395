import type { KnowledgeDeps } from '../../knowledge/parts.ts'
import { Problem } from '../../platform/http/problem.ts'
import { hasDirectories } from './directories-sql.ts'
import type { LeadParts, LeadSource } from './vocabulary/types.ts'

/** Id of the source in sources/directory.ts. */
const DIRECTORY = 'directory'

/** Directories of leads are uploaded and read as files of the knowledge base are. */
export interface LeadDeps extends KnowledgeDeps {
  /** Null or left out: there is no lead search, and nothing works that needs it. */
  leads?: LeadParts | null
}

export function leadParts({ leads }: Pick<LeadDeps, 'leads'>): LeadParts {
  if (!leads) throw new Problem('service_unavailable', { detail: 'Lead search is not configured.' })
  return leads
}

/** Those that have anything for this owner. */
export async function sourcesFor(deps: Pick<LeadDeps, 'sql' | 'leads'>, ownerId: string): Promise<LeadSource[]> {
  const { sources } = leadParts(deps)
  const own = await hasDirectories(deps.sql, ownerId)
  return sources.filter(source => own || source.id !== DIRECTORY)
}
