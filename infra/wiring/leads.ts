/** Builds lead search: brief readers, company sources and the enricher. */

import { createModelReader } from '../../control/outreach/leads/brief/model.ts'
import { plainReader } from '../../control/outreach/leads/brief/parse.ts'
import { createDirectoryRows } from '../../control/outreach/leads/directories-sql.ts'
import { createEnricher } from '../../control/outreach/leads/enrich/enricher.ts'
import type { LeadParts } from '../../control/outreach/leads/vocabulary/types.ts'
import type { Sql } from '../../control/platform/db/connect.ts'
import type { OwnerUsage } from '../../control/platform/jobs/fair-turns.ts'
import type { Clock } from '../../media/shared/clock.ts'
import { createExtractor } from '../adapters/extractor.ts'
import { createSafeFetch, type Guarded } from '../adapters/safe-fetch.ts'
import type { Config } from '../config/config.ts'
import { createBriefModel } from '../models/brief-model.ts'
import { createLeadSources } from './lead-sources.ts'

/** Milliseconds per page: a search reads hundreds, so a slower page is skipped. */
const PAGE_TIMEOUT_MS = 30_000

interface LeadDeps {
  sql: Sql
  clock: Clock
  usage: OwnerUsage
  publicUrl: string
  guarded?: Guarded
}

export function createLeads(
  config: Config,
  { sql, clock, usage, publicUrl, guarded }: LeadDeps,
): LeadParts & { close(): Promise<void> } {
  const model = createBriefModel({ config, clock })
  // Separate from the extractor of uploads, which would wait behind hundreds of sites.
  const extractor = createExtractor({ timeMs: PAGE_TIMEOUT_MS, usage })
  // Sites of strangers: addresses that the operator allows for tools are not allowed here.
  const fetch = createSafeFetch({ ...guarded, allow: [] })
  return {
    readers: [...(model ? [createModelReader({ model })] : []), plainReader],
    sources: createLeadSources({ config, clock, publicUrl, guarded, directories: createDirectoryRows(sql) }),
    enricher: createEnricher({ fetch, clock, extractor }),
    close: () => extractor.close(),
  }
}
