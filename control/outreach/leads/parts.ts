import type { Deps } from '../../deps.ts'
import { Problem } from '../../platform/http/problem.ts'
import { hasDirectories } from './directories-sql.ts'
import type { LeadParts, LeadSource } from './vocabulary/types.ts'

/** As sources/directory.ts is called. */
const DIRECTORY = 'directory'

export function leadParts({ leads }: Pick<Deps, 'leads'>): LeadParts {
  if (!leads) throw new Problem('service_unavailable', { detail: 'This process has no lead search.' })
  return leads
}

/** Those that have anything for this owner. */
export async function sourcesFor(deps: Pick<Deps, 'sql' | 'leads'>, ownerId: string): Promise<LeadSource[]> {
  const { sources } = leadParts(deps)
  const own = await hasDirectories(deps.sql, ownerId)
  return sources.filter(source => own || source.id !== DIRECTORY)
}
